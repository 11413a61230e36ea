"""Bounds of the answer to an import."""

MOST_TOLD = 5_000
"""The most models, contracts, or nodes without a contract that one answer names."""
_LONGEST = 300


def told(name: str) -> str:
    """Cut the name of a node or a table to 300 characters, for an answer."""
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"
