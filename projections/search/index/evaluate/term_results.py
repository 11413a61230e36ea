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

Impacts = NDArray[np.uint8]


class PostingsList:
    """The postings of one term in a segment, left in its arrays."""

    def __init__(self, view: SegmentView, field: str, number: int) -> None:
        self.view = view
        self.term = (field, number)
        inverted = view.fields[field]
        place = inverted.postings(number)
        self.ids = inverted.ids[place]
        self.impacts = None if inverted.impacts is None else inverted.impacts[place]
        """The impact of each document; None where all say the same."""
        self.count = len(self.ids)
        self.is_dense = self.count * DENSE > view.size

    def table(self) -> Impacts:
        """Impacts of all documents of the segment, 0 without the term; to be kept unchanged."""
        return self.view.memory.array(("impacts", *self.term), self._spread)

    def _spread(self) -> Impacts:
        return spread(
            self.view.size, self.ids, 1 if self.impacts is None else self.impacts, np.uint8
        )


class Postings:
    """The documents of one term, scored by its impacts; nothing is copied before it is needed."""

    nbytes = 0

    def __init__(
        self,
        postings: PostingsList,
        weight: float,
        score: float | None = None,
        factors: tuple[float, ...] = (),
    ) -> None:
        """`weight` is the score of an impact of 1; or all documents have the same `score`."""
        self._list = postings
        self.term = postings.term
        """The field of the index, and the number of the term."""
        self._ids = postings.ids
        self.count = postings.count
        self.is_dense = postings.is_dense
        self._weight = weight
        self._factors = factors
        self.constant = None if score is None else rounded(score)

    def ids(self) -> DocIds:
        """Numbers of the documents, ascending: int32, one for each."""
        return self._ids

    def impacts(self) -> Impacts:
        """The impact of each document; to be asked for only where there is no constant."""
        assert self._list.impacts is not None
        return self._list.impacts

    def mask(self) -> Mask:
        """The documents as a mask: bool, one for each document of the segment."""
        if self.is_dense:
            return np.not_equal(self._list.table(), 0)
        return spread(self._list.view.size, self._ids, True, np.bool_)

    def present(self, ids: DocIds) -> Mask:
        """Return a mask of those of `ids` that are here: bool, one for each of `ids`."""
        if self.is_dense:
            return np.not_equal(self._list.table().take(ids), 0)
        return among(self._ids, ids)[1]

    def scores_at(self, ids: DocIds) -> Scores:
        """Scores of the documents `ids`, 0 for absent ones: float32, one for each of `ids`."""
        if ids is self._ids:
            return filled(self.own_scores(), len(ids))
        if self.is_dense:
            return self.scored(self._list.table().take(ids))
        places, present = among(self._ids, ids)
        if self._list.impacts is None or not self.count:
            return self.scored(present.view(np.uint8))
        return self.scored(self.impacts().take(places) * present)

    def dense(self) -> Scores:
        """Scores of all documents of the segment, 0 for absent ones: float32."""
        if self.is_dense:
            return self.scored(self._list.table())
        return spread(self._list.view.size, self._ids, self.own_scores(), np.float32)

    def among(self, allowed: Mask) -> Matches:
        """The documents of the term that are allowed, with their scores."""
        inside = allowed.take(self._ids)
        ids = self._ids.compress(inside)
        if self.constant is not None:
            return Sparse(self._list.view.size, ids, self.constant)
        return Sparse(self._list.view.size, ids, self.scored(self.impacts().compress(inside)))

    def own_scores(self) -> Scores | float:
        """Scores of the documents in order, or one for all."""
        return self.constant if self.constant is not None else self.scored(self.impacts())

    def scored(self, impacts: Impacts) -> Scores:
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
        return Postings(self._list, self._weight, factors=(*self._factors, factor))

    def fixed(self, score: float) -> Matches:
        """These documents, all with one score."""
        return Postings(self._list, 0.0, score)

    def rescored(self, scores: Scores) -> "Rescored":
        """These documents, in their order, with scores of their own."""
        return Rescored(self._list, scores)

    def rank_values(self) -> NDArray[Any]:
        """Values that order the documents as their scores do; only where there is no constant."""
        return self.impacts()

    def scores_of(self, places: NDArray[np.intp]) -> Scores:
        """Scores of the documents at these places; only where there is no constant."""
        return self.scored(self.impacts().take(places))


class Rescored(Postings):
    """The documents of one term, each with a score of its own."""

    def __init__(self, postings: PostingsList, scores: Scores) -> None:
        """`scores` are those of the term's documents in order."""
        super().__init__(postings, 0.0)
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
        return spread(self._list.view.size, self._ids, self._own, np.float32)

    def among(self, allowed: Mask) -> Matches:
        """The documents of the term that are allowed, with their scores."""
        inside = allowed.take(self._ids)
        return Sparse(self._list.view.size, self._ids.compress(inside), self._own.compress(inside))

    def scaled(self, factor: float) -> Matches:
        """These documents with their scores multiplied by a factor."""
        return Rescored(self._list, self._own * np.float32(factor))

    def rank_values(self) -> NDArray[Any]:
        """Values that order the documents as their scores do."""
        return self._own

    def scores_of(self, places: NDArray[np.intp]) -> Scores:
        """Scores of the documents at these places."""
        return self._own.take(places)
