"""Query texts as the trees that they mean."""

from typing import Any

from projections.search.language.text import parsed
from projections.search.tree import Node


def parse(text: str, **options: Any) -> Node:
    """Parse a query text into what is searched for it."""
    return parsed(text, **options).node
