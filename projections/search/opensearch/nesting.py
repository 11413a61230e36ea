"""Queries over the objects of an array: the cluster gives candidates, whose objects are read here.

One entity is read at a time, and the clock is looked at before each object. When time is short, the
candidates that were not looked at are undecided: the search leaves them out of its hits whatever
its other conditions say of them.
"""

from collections.abc import Callable, Iterator

from domain.errors import InvalidInput
from projections.search import tree
from projections.search.index.evaluate.deadline import Deadline
from projections.search.index.evaluate.evaluator import evaluate
from projections.search.index.evaluate.nested import MAX_CANDIDATES, Nesting, ObjectSearch
from projections.search.index.evaluate.results import Matches
from projections.search.index.evaluate.segments import SegmentView, Snapshot
from projections.search.index.format.schema import StoredDocument
from projections.search.nested_conditions import is_flat, relaxed, within
from projections.search.objects import ReadObjects
from projections.search.opensearch.leaves import Dsl
from projections.search.opensearch.queries import Compiler
from projections.visibility.field_paths import indexed_path

ReadCandidates = Callable[[Dsl], Iterator[StoredDocument]]
"""The documents of a clause that the search may be about, one more than are allowed at most."""


class NestedSearch:
    """Decides the nested nodes of one query."""

    def __init__(
        self, read: ReadCandidates, read_objects: ReadObjects | None, deadline: Deadline
    ) -> None:
        self._read = read
        self._read_objects = read_objects
        self._deadline = deadline
        self._left = MAX_CANDIDATES
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
        if self._read_objects is None:
            raise InvalidInput(f"nested {node.path!r} can only have one condition here")
        rows = list(self._read(candidates))
        self._left -= len(rows)
        if self._left < 0:
            raise InvalidInput(
                f"nested {node.path!r} would have to look into more than {MAX_CANDIDATES} "
                "documents: make its conditions narrower"
            )
        ids = self._verified(asked, path, rows, self._read_objects)
        return {"bool": {"must": [candidates], "filter": [{"terms": {"id": ids}}]}}

    def _verified(
        self, node: tree.Node, path: str, rows: list[StoredDocument], read: ReadObjects
    ) -> list[str]:
        """The ids of those of the documents that have such an object; notes the undecided."""

        def matches(objects: SegmentView) -> Matches:
            inside = Nesting(None, self._deadline, evaluate)
            return evaluate(Snapshot((objects,), 0), objects, inside, node)

        search = ObjectSearch(len(rows), matches)
        ended = len(rows)
        for at, row in enumerate(rows):
            if not self._add_objects(search, at, row, path, read):
                ended = at
                break
        search.flush()
        self.undecided += [
            row.id for at, row in enumerate(rows) if at >= ended and not search.matching[at]
        ]
        return [row.id for at, row in enumerate(rows) if search.matching[at]]

    def _add_objects(
        self, search: ObjectSearch, at: int, row: StoredDocument, path: str, read: ReadObjects
    ) -> bool:
        """Add the objects of a document; False when time is short before all of them are."""
        if self._deadline.is_near():
            return False
        for fields in read(row.id, path):
            if self._deadline.is_near():
                return False
            search.add(at, row.kind, {**fields, "id": (row.id,)})
        return True
