"""The best of several scores of each document of a segment."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from projections.search.index.evaluate.results import DENSE, Dense, Sparse, nothing, places
from projections.search.index.evaluate.segments import DocIds, SegmentView


class BestScores:
    """The highest score of each document."""

    def __init__(
        self,
        view: SegmentView,
        count: int,
        dtype: Any = np.float32,
        known: NDArray[Any] | None = None,
    ) -> None:
        """`count` is how many scores will be added at most, `dtype` their type.

        `known` has scores of all documents of the segment to begin with, and becomes the object's.
        """
        self._view = view
        self._ids: list[NDArray[np.int32]] = [np.empty(0, np.int32)]
        self._scores: list[NDArray[Any]] = [np.empty(0, dtype)]
        self._dense: NDArray[Any] | None = None
        if known is not None:
            self._dense = known
        elif count * DENSE > view.size:
            self._dense = np.zeros(view.size, dtype)

    def add(self, ids: DocIds, scores: NDArray[Any]) -> None:
        """Add a score of each document."""
        if self._dense is not None:
            np.maximum.at(self._dense, places(ids), scores)
        else:
            self._ids.append(ids)
            self._scores.append(scores)

    def matches(self) -> Sparse | Dense:
        """All documents that a score was added of."""
        if self._dense is not None:
            return Dense(self._dense > 0, self._dense)
        ids, scores = np.concatenate(self._ids), np.concatenate(self._scores)
        if not len(ids):
            return nothing(self._view)
        order = np.argsort(ids, kind="stable")
        ids, scores = ids.take(order), scores.take(order)
        first = np.flatnonzero(np.concatenate(([True], ids[1:] != ids[:-1])))
        return Sparse(self._view.size, ids.take(first), np.maximum.reduceat(scores, first))
