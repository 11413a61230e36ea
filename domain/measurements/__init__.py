"""Measurements of data by profilers and test runs: time series beside the log, not metadata."""
