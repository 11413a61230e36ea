"""Decisions on what parts of a tree are searched, where that depends on the documents."""

from collections.abc import Callable

import msgspec

from projections.search import tree
from projections.search.engine import EngineQuery

IsFound = Callable[[tree.Node], bool]
"""Function that tells if any document matches a node, in which all decisions are made already."""


class Decisions:
    """Chooses the node that each `tree.IfFound` of a query stands for, the same in all segments."""

    def __init__(self, is_found: IsFound) -> None:
        self._is_found = is_found
        self._found: dict[tree.Node, bool] = {}
        # By identity, as trees hold the same node in several places: a node, and what it became.
        # Comparing and hashing nodes takes as long as going through them.
        self._made: dict[int, tuple[tree.Node, tree.Node]] = {}

    def chosen(self, node: tree.IfFound) -> tree.Node:
        """The node that is to be searched, in which decisions may be left to make."""
        return node.then if self._is_any(node.sought) else node.otherwise

    def made(self, node: tree.Node) -> tree.Node:
        """The node with all decisions in it made; the node itself where there are none."""
        if id(node) not in self._made:
            if isinstance(node, tree.IfFound):
                changed = self.made(self.chosen(node))
            else:
                changed = tree.map_children(node, self.made)
            self._made[id(node)] = node, changed
        return self._made[id(node)][1]

    def of_filters(self, query: EngineQuery) -> EngineQuery:
        """The query with all decisions in its filters made, so that they may be remembered."""
        filters = [query.filter, query.post_filter, *(facet.filter for facet in query.facets)]
        if filters.count(None) == len(filters):
            return query
        own, post, *of_facets = (None if node is None else self.made(node) for node in filters)
        facets = zip(query.facets, of_facets, strict=True)
        return msgspec.structs.replace(
            query,
            filter=own,
            post_filter=post,
            facets=tuple(msgspec.structs.replace(facet, filter=node) for facet, node in facets),
        )

    def of_query(self, query: EngineQuery) -> EngineQuery:
        """The query with all decisions in it made."""
        return msgspec.structs.replace(self.of_filters(query), tree=self.made(query.tree))

    def _is_any(self, sought: tree.Node) -> bool:
        """Return True if any document matches; evaluates no more of several nodes than it takes."""
        if isinstance(sought, tree.DisMax):
            return any(map(self._is_any, sought.nodes))
        if isinstance(sought, (tree.Boosted, tree.Constant)):
            return self._is_any(sought.node)
        matches = self._found.get(sought)
        if matches is None:
            matches = self._found[sought] = self._is_found(self.made(sought))
        return matches
