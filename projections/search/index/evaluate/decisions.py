"""What of a tree is searched at all, where that depends on what there is to find."""

from collections.abc import Callable, Iterator

import numpy as np

from projections.search import tree
from projections.search.index.evaluate.results import Matches
from projections.search.index.evaluate.segments import Mask

InSegments = Callable[[tree.Node], Iterator[tuple[Matches, Mask | None]]]
"""A node -> what it matches in each segment, with the documents that decide there, None for all."""
_FEW = 1_000
"""Documents that are looked at before all are."""


class Decisions:
    """Replaces each `tree.IfFound` by the one of its nodes that is searched, the same everywhere.

    Everything else may then be evaluated, and remembered, segment by segment.
    """

    def __init__(self, in_segments: InSegments) -> None:
        self._in_segments = in_segments
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
        """Whether anything matches; of several nodes no more are evaluated than it takes."""
        if isinstance(sought, tree.DisMax):
            return any(map(self._is_found, sought.nodes))
        if isinstance(sought, tree.Boosted | tree.Constant):
            return self._is_found(sought.node)
        known = self._known.get(sought)
        if known is None:
            node = self.made(sought)
            known = self._known[sought] = any(
                _any(matches, allowed) for matches, allowed in self._in_segments(node)
            )
        return known


def _any(matches: Matches, allowed: Mask | None) -> bool:
    """Whether any of the documents is allowed."""
    if allowed is None or not matches.count:
        return matches.count > 0
    if matches.is_dense:
        return bool(np.any(matches.mask() & allowed))
    ids = matches.ids()
    return bool(allowed.take(ids[:_FEW]).any() or allowed.take(ids[_FEW:]).any())
