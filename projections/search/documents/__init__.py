"""Entities as documents: what of them is searched, and what a hit shows."""
