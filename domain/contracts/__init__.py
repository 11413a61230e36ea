"""Contracts: their documents in the Open Data Contract Standard, compared and validated."""
