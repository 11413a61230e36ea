"""Nested nodes: the cluster decides queries of one condition, and gives candidates for others."""

from collections.abc import Callable, Iterator
from itertools import compress

from projections.search import tree
from projections.search.matching.candidates import Candidates
from projections.search.matching.stored_document import StoredDocument
from projections.search.nested_conditions import is_flat, relaxed, within
from projections.search.opensearch.leaves import Dsl
from projections.search.opensearch.queries import Compiler
from projections.visibility.field_paths import indexed_path

ReadCandidates = Callable[[Dsl], Iterator[StoredDocument]]
"""The documents of a clause that the search may be about, one more than are allowed at most."""


class NestedSearch:
    """Decides the nested nodes of one query."""

    def __init__(self, read: ReadCandidates, candidates: Candidates) -> None:
        self._read = read
        self._candidates = candidates
        self.undecided: list[str] = []
        """Ids of candidates that were not looked at for lack of time."""

    def clauses(self, *nodes: tree.Node | None) -> dict[tree.Nested, Dsl]:
        """The clause of each nested node in the nodes."""
        found: dict[tree.Nested, Dsl] = {}
        for node in nodes:
            if node is not None:
                self._collect(node, found)
        return found

    def _collect(self, node: tree.Node, found: dict[tree.Nested, Dsl]) -> None:
        if isinstance(node, tree.Nested):
            if node not in found:
                found[node] = self._clause(node)
            return
        for inner in tree.children(node):
            self._collect(inner, found)

    def _clause(self, node: tree.Nested) -> Dsl:
        """The documents with an object that satisfies the node, scored as if by the document."""
        path = indexed_path(node.path)
        asked = within(node.node, path)
        # Of a nested node inside, only what decides it is left.
        candidates = Compiler({}).clause(relaxed(asked, path))
        if is_flat(asked):
            return candidates
        rows = list(self._read(candidates))
        matching, undecided = self._candidates.decide(node, len(rows), rows)
        self.undecided += [row.id for row in compress(rows, undecided)]
        ids = [row.id for row in compress(rows, matching)]
        return {"bool": {"must": [candidates], "filter": [{"terms": {"id": ids}}]}}
