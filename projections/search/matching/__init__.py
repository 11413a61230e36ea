"""Matching in every search engine: terms, weights, values of queries, bounds, the time."""
