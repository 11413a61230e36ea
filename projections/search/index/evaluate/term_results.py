"""The documents of one term: its postings, left where they are until some of them are needed."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from projections.search.index.evaluate.results import (
    DENSE,
    Matches,
    Scores,
    Sparse,
    among,
    filled,
    picked,
    rounded,
    spread,
    times,
)
from projections.search.index.evaluate.segments import DocIds, Mask, SegmentView


class Postings:
    """The documents of one term, scored by its impacts; nothing is copied before it is needed."""

    nbytes = 0

    def __init__(
        self,
        view: SegmentView,
        field: str,
        number: int,
        weight: float,
        score: float | None = None,
        factors: tuple[float, ...] = (),
    ) -> None:
        """`weight` is the score of an impact of 1; or all documents have the same `score`."""
        self._view = view
        self.term = (field, number)
        self._weight = weight
        self._factors = factors
        self.constant = None if score is None else rounded(score)
        inverted = view.fields[field]
        self._slice = inverted.postings(number)
        self._ids = inverted.ids[self._slice]
        self._impacts = inverted.impacts
        self.count = len(self._ids)
        self.is_dense = self.count * DENSE > view.size

    def ids(self) -> DocIds:
        """Numbers of the documents, ascending: int32, one for each."""
        return self._ids

    def impacts(self) -> NDArray[np.uint8]:
        """The impact of each document; to be asked for only where there is no constant."""
        assert self._impacts is not None
        return self._impacts[self._slice]

    def _table(self) -> NDArray[np.uint8]:
        """Impacts of all documents of the segment, 0 without the term."""

        def make() -> NDArray[np.uint8]:
            impacts = 1 if self._impacts is None else self._impacts[self._slice]
            return spread(self._view.size, self._ids, impacts, np.uint8)

        return self._view.memory.array(("impacts", *self.term), make)

    def mask(self) -> Mask:
        """The documents as a mask: bool, one for each document of the segment."""
        if self.is_dense:
            return np.not_equal(self._table(), 0)
        return spread(self._view.size, self._ids, True, np.bool_)

    def present(self, ids: DocIds) -> Mask:
        """Return a mask of those of `ids` that are here: bool, one for each of `ids`."""
        if self.is_dense:
            return np.not_equal(self._table().take(ids), 0)
        return among(self._ids, ids)[1]

    def scores_at(self, ids: DocIds) -> Scores:
        """Scores of the documents `ids`, 0 for absent ones: float32, one for each of `ids`."""
        if ids is self._ids:
            return filled(self.own_scores(), len(ids))
        if self.is_dense:
            return self.scored(self._table().take(ids))
        places, present = among(self._ids, ids)
        if self._impacts is None or not self.count:
            return self.scored(present.view(np.uint8))
        return self.scored(self.impacts().take(places) * present)

    def dense(self) -> Scores:
        """Scores of all documents of the segment, 0 for absent ones: float32."""
        if self.is_dense:
            return self.scored(self._table())
        return spread(self._view.size, self._ids, self.own_scores(), np.float32)

    def among(self, allowed: Mask) -> Matches:
        """The documents of the term that are allowed, with their scores."""
        inside = allowed.take(self._ids)
        ids = self._ids.compress(inside)
        if self.constant is not None:
            return Sparse(self._view.size, ids, self.constant)
        return Sparse(self._view.size, ids, self.scored(self.impacts().compress(inside)))

    def own_scores(self) -> Scores | float:
        """Scores of the documents in order, or one for all."""
        return self.constant if self.constant is not None else self.scored(self.impacts())

    def scored(self, impacts: NDArray[np.uint8]) -> Scores:
        """Scores for these impacts, float32, one for each; 0 for an impact of 0."""
        if self.constant is not None:
            present: Scores = np.not_equal(impacts, 0).astype(np.float32)
            return present * np.float32(self.constant)
        scores: Scores = np.multiply(impacts, np.float32(self._weight), dtype=np.float32)
        for factor in self._factors:
            scores *= np.float32(factor)
        return scores

    def scaled(self, factor: float) -> Matches:
        """These documents with their scores multiplied by a factor."""
        if self.constant is not None:
            return self.fixed(times(self.constant, factor))
        return Postings(self._view, *self.term, self._weight, factors=(*self._factors, factor))

    def fixed(self, score: float) -> Matches:
        """These documents, all with one score."""
        return Postings(self._view, *self.term, 0.0, score)

    def rank_values(self) -> NDArray[Any]:
        """Values that order the documents as their scores do; only where there is no constant."""
        return self.impacts()

    def scores_of(self, places: NDArray[np.intp]) -> Scores:
        """Scores of the documents at these places; only where there is no constant."""
        return self.scored(self.impacts().take(places))


class Rescored(Postings):
    """The documents of one term, each with a score of its own."""

    def __init__(self, view: SegmentView, term: tuple[str, int], scores: Scores) -> None:
        """`scores` are those of the term's documents in order."""
        super().__init__(view, *term, 0.0)
        self._own = scores
        self.nbytes = scores.nbytes

    def own_scores(self) -> Scores:
        """Scores of the documents in order."""
        return self._own

    def scores_at(self, ids: DocIds) -> Scores:
        """Scores of the documents `ids`, 0 for absent ones: float32, one for each of `ids`."""
        if ids is self._ids:
            return self._own
        if len(ids) * DENSE < self.count:
            return picked(self._own, *among(self._ids, ids))
        return self.dense().take(ids)

    def dense(self) -> Scores:
        """Scores of all documents of the segment, 0 for absent ones: float32."""
        return spread(self._view.size, self._ids, self._own, np.float32)

    def among(self, allowed: Mask) -> Matches:
        """The documents of the term that are allowed, with their scores."""
        inside = allowed.take(self._ids)
        return Sparse(self._view.size, self._ids.compress(inside), self._own.compress(inside))

    def scaled(self, factor: float) -> Matches:
        """These documents with their scores multiplied by a factor."""
        return Rescored(self._view, self.term, self._own * np.float32(factor))

    def rank_values(self) -> NDArray[Any]:
        """Values that order the documents as their scores do."""
        return self._own

    def scores_of(self, places: NDArray[np.intp]) -> Scores:
        """Scores of the documents at these places."""
        return self._own.take(places)
