"""Queries over the objects of an array: one object has to satisfy all of the query.

The index knows the values of all objects of a document together. That decides queries of one
condition; for others it gives candidates, whose objects are read and searched as documents of
their own, in small segments that are made for it and thrown away.

One entity is read at a time, and the clock is looked at before each object. When time is short, the
candidates that were not looked at are undecided: the search leaves them out of its hits whatever
its other conditions say of them, so that what it gives is true, also below a `must_not`.
"""

from collections.abc import Callable

import numpy as np

from domain.errors import InvalidInput
from projections.search import tree
from projections.search.documents import SearchDocument
from projections.search.index.build.inverter import Inverter
from projections.search.index.evaluate.deadline import Deadline
from projections.search.index.evaluate.results import Matches, Sparse
from projections.search.index.evaluate.segments import DocIds, Mask, SegmentView, Snapshot
from projections.search.nested_conditions import is_flat, relaxed, within
from projections.search.objects import Fields, ReadObjects
from projections.visibility.field_paths import indexed_path

MAX_CANDIDATES = 20_000
"""Documents whose objects are read for one query."""
_OBJECTS, _BYTES = 2_000, 16_000_000
"""Objects in a segment made of them, and bytes of memory that making it may take."""

EvaluateDocuments = Callable[[tree.Node], Matches]
EvaluateObjects = Callable[[Snapshot, SegmentView, "Nesting", tree.Node], Matches]


class Nesting:
    """Evaluates nested nodes, for the length of one query."""

    def __init__(
        self,
        read_objects: ReadObjects | None,
        deadline: Deadline,
        evaluate_objects: EvaluateObjects,
    ) -> None:
        self.deadline = deadline
        self._read = read_objects
        self._evaluate_objects = evaluate_objects
        self._left = MAX_CANDIDATES
        self._undecided: dict[str, Mask] = {}
        """Name of a segment -> its documents that were not looked at for lack of time."""

    @property
    def has_undecided(self) -> bool:
        """Whether there were candidates that were not looked at for lack of time."""
        return bool(self._undecided)

    def without_undecided(self, view: SegmentView, allowed: Mask | None) -> Mask | None:
        """The allowed documents (None: all) but for those that a nested node left undecided."""
        undecided = self._undecided.get(view.name)
        if undecided is None:
            return allowed
        return ~undecided if allowed is None else allowed & ~undecided

    def matches(self, node: tree.Nested, view: SegmentView, evaluate: EvaluateDocuments) -> Matches:
        """The documents with an object that satisfies the node, scored as if by the document."""
        path = indexed_path(node.path)
        asked = within(node.node, path)
        candidates = evaluate(relaxed(asked, path))
        if is_flat(asked):
            return candidates
        if self._read is None:
            raise InvalidInput(f"nested {node.path!r} can only have one condition here")
        ids = candidates.ids()
        if view.live is not None:
            ids = ids.compress(view.live.take(ids))
        self._left -= len(ids)
        if self._left < 0:
            raise InvalidInput(
                f"nested {node.path!r} would have to look into more than {MAX_CANDIDATES} "
                "documents: make its conditions narrower"
            )
        ids = self._verified(asked, path, view, ids)
        return Sparse(view.size, ids, candidates.scores_at(ids))

    def _verified(self, node: tree.Node, path: str, view: SegmentView, ids: DocIds) -> DocIds:
        """Those of the documents that have such an object; notes those that are undecided."""

        def matches(objects: SegmentView) -> Matches:
            inside = Nesting(None, self.deadline, self._evaluate_objects)
            return self._evaluate_objects(Snapshot((objects,), 0), objects, inside, node)

        search = ObjectSearch(view.size, matches)
        undecided = ids[:0]
        for at, doc_id in enumerate(ids.tolist()):
            if not self._add_objects(search, view, doc_id, path):
                undecided = ids[at:]
                break
        search.flush()
        if len(undecided):
            mask = np.zeros(view.size, np.bool_)
            mask[undecided] = True
            mask &= ~search.matching
            self._undecided[view.name] = self._undecided.get(view.name, False) | mask
        return np.flatnonzero(search.matching).astype(np.int32)

    def _add_objects(
        self, search: "ObjectSearch", view: SegmentView, doc_id: int, path: str
    ) -> bool:
        """Add the objects of a document; False when time is short before all of them are."""
        if self._read is None or self.deadline.is_near():
            return False
        stored = view.stored(doc_id)
        for fields in self._read(stored.id, path):
            if self.deadline.is_near():
                return False
            search.add(doc_id, stored.kind, {**fields, "id": (stored.id,)})
        return True


class ObjectSearch:
    """Finds out which documents have a matching object, of as many objects at a time as fit."""

    def __init__(self, size: int, matches: Callable[[SegmentView], Matches]) -> None:
        """`size` documents are in the segment; `matches` finds objects in a segment of objects."""
        self.matching: Mask = np.zeros(size, np.bool_)
        """(size,): the documents of which an object matches, once `flush` was called."""
        self._matches = matches
        self._inverter = Inverter(max_documents=_OBJECTS, max_bytes=_BYTES)
        self._objects = 0

    def add(self, doc_id: int, kind: str, fields: Fields) -> None:
        """Add an object of a document."""
        self._objects += 1
        name = f"{doc_id}.{self._objects}"
        self._inverter.add(SearchDocument(name, kind, False, fields, {}))
        if self._inverter.full:
            self.flush()

    def flush(self) -> None:
        """Search the objects that were added since the last time."""
        if not len(self._inverter):
            return
        objects = SegmentView("objects", self._inverter.finish())
        for at in self._matches(objects).ids().tolist():
            self.matching[int(objects.stored(at).id.partition(".")[0])] = True
