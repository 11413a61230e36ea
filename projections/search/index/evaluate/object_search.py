"""Objects inside entities as documents of their own, in small segments that are thrown away."""

import numpy as np

from projections.search import tree
from projections.search.documents.documents import SearchDocument
from projections.search.documents.sources import Fields
from projections.search.index.build.inverter import Inverter
from projections.search.index.evaluate.evaluator import Evaluator
from projections.search.index.evaluate.nested import Nesting
from projections.search.index.evaluate.segments import Mask, SegmentView, Snapshot
from projections.search.matching.candidates import Candidates
from projections.search.matching.deadline import Deadline

_OBJECTS, _BYTES = 2_000, 16_000_000
"""Objects in a segment made of them, and bytes of memory that making it may take."""


class ObjectSearch:
    """Searches the objects of candidates for one condition, as many at a time as fit."""

    def __init__(self, count: int, node: tree.Node, deadline: Deadline) -> None:
        """`count` candidates are asked for an object that satisfies the node."""
        self.matching: Mask = np.zeros(count, np.bool_)
        """(count,): the candidates of which an object matches, once `flush` was called."""
        self._node = node
        self._nesting = Nesting(Candidates(None, deadline, ObjectSearch))
        self._inverter = Inverter(max_documents=_OBJECTS, max_bytes=_BYTES)
        self._objects = 0

    def add(self, place: int, kind: str, fields: Fields) -> None:
        """Add an object of the candidate at a place."""
        self._objects += 1
        name = f"{place}.{self._objects}"
        self._inverter.add(SearchDocument(name, kind, False, fields, {}))
        if self._inverter.full:
            self.flush()

    def flush(self) -> None:
        """Search the objects that were added since the last time."""
        if not len(self._inverter):
            return
        objects = SegmentView("objects", self._inverter.finish())
        matches = Evaluator(Snapshot((objects,)), objects, self._nesting).matches(self._node)
        for at in matches.ids().tolist():
            self.matching[int(objects.stored(at).id.partition(".")[0])] = True
