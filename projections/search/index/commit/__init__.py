"""Commits of the index: written whole, opened, and followed as they come."""
