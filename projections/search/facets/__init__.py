"""Facets: counts of the documents that match, asked for as JSON, and answered as JSON."""
