"""Imports of JSON lines: many lines in one transaction, the good lines of a bad file kept."""
