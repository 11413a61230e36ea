"""Decisions on what parts of a tree are searched, where that depends on the documents."""

from collections.abc import Callable

import msgspec

from projections.search import tree
from projections.search.engine import EngineQuery

IsFound = Callable[[tree.Node], bool]
"""True for a node that any of the documents matches; all decisions in it are made."""


class Decisions:
    """Replaces each `tree.IfFound` by the one of its nodes that is searched, the same everywhere.

    Everything else may then be evaluated, and remembered, segment by segment.
    """

    def __init__(self, is_found: IsFound) -> None:
        self._matches_any = is_found
        self._known: dict[tree.Node, bool] = {}
        self._made: dict[int, tuple[tree.Node, tree.Node]] = {}
        """By identity, as trees hold the same node in several places: a node, and what it became.

        Comparing and hashing nodes takes as long as going through them.
        """

    def made(self, node: tree.Node) -> tree.Node:
        """The node with all decisions in it made; the node itself where there are none."""
        made = self._made.get(id(node))
        if made is None:
            if isinstance(node, tree.IfFound):
                changed = self.made(node.then if self._is_found(node.sought) else node.otherwise)
            else:
                changed = tree.map_children(node, self.made)
            made = self._made[id(node)] = node, changed
        return made[1]

    def _is_found(self, sought: tree.Node) -> bool:
        """Return True if anything matches; of several nodes no more are evaluated than it takes."""
        if isinstance(sought, tree.DisMax):
            return any(map(self._is_found, sought.nodes))
        if isinstance(sought, tree.Boosted | tree.Constant):
            return self._is_found(sought.node)
        known = self._known.get(sought)
        if known is None:
            known = self._known[sought] = self._matches_any(self.made(sought))
        return known


def decided(query: EngineQuery, is_found: IsFound) -> EngineQuery:
    """The query with every `tree.IfFound` in it replaced by what it comes to."""
    decisions = Decisions(is_found)

    def made(node: tree.Node | None) -> tree.Node | None:
        return None if node is None else decisions.made(node)

    return msgspec.structs.replace(
        query,
        tree=decisions.made(query.tree),
        filter=made(query.filter),
        post_filter=made(query.post_filter),
        facets=tuple(
            msgspec.structs.replace(facet, filter=made(facet.filter)) for facet in query.facets
        ),
    )
