"""Answers of searches: pages of hits, highlights, suggestions, counts, and CSV."""
