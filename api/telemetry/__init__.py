"""Signals of a running server for operators: metrics and logs."""
