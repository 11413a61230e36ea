"""Contracts as documents of the Open Data Contract Standard."""
