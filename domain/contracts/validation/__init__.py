"""Contracts held against what is known of their entities: what was measured, and what was not."""
