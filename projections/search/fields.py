"""Fields that a query text names, or is given, and the bounds of ranges in them."""

import re
from collections.abc import Mapping

import msgspec

from domain.errors import InvalidInput
from projections.search import tree
from projections.search.tree import Node


class Fields(msgspec.Struct, frozen=True):
    """Where unfielded words are looked for, instead of the kinds' own default fields."""

    boosts: tuple[tuple[str, float], ...] = ()

    def spread(self, node: Node) -> Node:
        """The node over all of these fields, the best one counting."""
        field = getattr(node, "field", "")
        if field is not None or not self.boosts:
            return node
        over = [
            tree.boosted(msgspec.structs.replace(node, field=path), boost)
            for path, boost in self.boosts
        ]
        return over[0] if len(over) == 1 else tree.DisMax(tuple(over))


DEFAULT_FIELDS = Fields()


def check_bound(text: str) -> str:
    """A range's bound, unless it is date arithmetic, which is not supported."""
    if re.match(r"now(?:[+\-/]|$)|.*\|\|", text):
        raise InvalidInput(f"date arithmetic such as {text[:40]!r} is not supported")
    return text


def range_between(field: str, bounds: Mapping[str, str]) -> Node:
    """The range of bounds as typed, quoted or not; `*` leaves a side open."""
    given: dict[str, str] = {}
    for side, text in bounds.items():
        if text != "*":
            bare = text[1:-1] if text[0] == '"' else text
            given[side] = check_bound(re.sub(r"\\(.)", r"\1", bare))
    return tree.Range(field, **given) if given else tree.Exists(field)
