"""Bounds of the answer to an import."""

MOST_TOLD = 5_000
"""Models, contracts, and nodes without a contract, that an answer names of each sort."""
_LONGEST = 300


def told(name: str) -> str:
    """The name of a node or a table as an answer has it: in 300 characters at most."""
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"
