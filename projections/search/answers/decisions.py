"""Decisions on what parts of a tree are searched, where that depends on the documents."""

from collections.abc import Callable

import msgspec

from projections.search import tree
from projections.search.engine import EngineQuery

IsFound = Callable[[tree.Node], bool]
"""Function that tells if any document matches a node, in which all decisions are made already."""


def decided(query: EngineQuery, is_found: IsFound) -> EngineQuery:
    """The query with each `tree.IfFound` replaced by its node that is to be searched.

    The decision is the same for all segments, so that the rest may be evaluated, and remembered,
    segment by segment.
    """
    known: dict[tree.Node, bool] = {}
    # By identity, as trees hold the same node in several places: a node, and what it became.
    # Comparing and hashing nodes takes as long as going through them.
    made: dict[int, tuple[tree.Node, tree.Node]] = {}

    def decide(node: tree.Node) -> tree.Node:
        """The node with all decisions in it made; the node itself where there are none."""
        if id(node) not in made:
            if isinstance(node, tree.IfFound):
                changed = decide(node.then if is_any(node.sought) else node.otherwise)
            else:
                changed = tree.map_children(node, decide)
            made[id(node)] = node, changed
        return made[id(node)][1]

    def is_any(sought: tree.Node) -> bool:
        """Return True if any document matches; evaluates no more of several nodes than it takes."""
        if isinstance(sought, tree.DisMax):
            return any(map(is_any, sought.nodes))
        if isinstance(sought, tree.Boosted | tree.Constant):
            return is_any(sought.node)
        matches = known.get(sought)
        if matches is None:
            matches = known[sought] = is_found(decide(sought))
        return matches

    def narrowed(node: tree.Node | None) -> tree.Node | None:
        return None if node is None else decide(node)

    return msgspec.structs.replace(
        query,
        tree=decide(query.tree),
        filter=narrowed(query.filter),
        post_filter=narrowed(query.post_filter),
        facets=tuple(
            msgspec.structs.replace(facet, filter=narrowed(facet.filter)) for facet in query.facets
        ),
    )
