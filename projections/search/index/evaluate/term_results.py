"""The documents of one term: its postings, left where they are until some of them are needed."""

from collections.abc import Sequence
from copy import copy
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projections.search.index.evaluate.results import (
    DENSE,
    Combine,
    Matches,
    Scores,
    Sparse,
    among,
    filled,
    rounded,
    spread,
    times,
)
from projections.search.index.evaluate.segments import DocIds, Mask, SegmentView
from projections.search.matching.weights import HIGHEST

_IMPACTS = np.arange(HIGHEST + 1, dtype=np.uint8)


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
        self._levels: Scores | None = None
        """(256,): the score of each impact, 0 for that of 0, where several clauses make it up."""
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
        """Of each document; only where there is no constant."""
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
            return filled(self._scores(), len(ids))
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
        return spread(self._view.size, self._ids, self._scores(), np.float32)

    def among(self, allowed: Mask) -> Matches:
        """The allowed ones of the documents."""
        inside = allowed.take(self._ids)
        ids = self._ids.compress(inside)
        if self.constant is not None:
            return Sparse(self._view.size, ids, self.constant)
        return Sparse(self._view.size, ids, self.scored(self.impacts().compress(inside)))

    def _scores(self) -> Scores | float:
        return self.constant if self.constant is not None else self.scored(self.impacts())

    def scored(self, impacts: NDArray[np.uint8]) -> Scores:
        """The scores that impacts of some of the documents come to."""
        if self.constant is not None:
            present: Scores = np.not_equal(impacts, 0).astype(np.float32)
            return present * np.float32(self.constant)
        if self._levels is not None:
            return self._levels.take(impacts)
        scores: Scores = np.multiply(impacts, np.float32(self._weight), dtype=np.float32)
        for factor in self._factors:
            scores *= np.float32(factor)
        return scores

    def scaled(self, factor: float) -> Matches:
        """These documents with their scores multiplied by a factor."""
        if self.constant is not None:
            return self.fixed(times(self.constant, factor))
        if self._levels is not None:
            return self.leveled(self._levels * np.float32(factor))
        return Postings(self._view, *self.term, self._weight, factors=(*self._factors, factor))

    def fixed(self, score: float) -> Matches:
        """These documents, all with one score."""
        return Postings(self._view, *self.term, 0.0, score)

    def rank_values(self) -> NDArray[Any]:
        """Values that order the documents as their scores do; only where there is no constant."""
        impacts = self.impacts()
        # Far above what a word counts, scores of neighbouring impacts may be the same.
        rises = self._levels is None or (self._levels[2:] > self._levels[1:-1]).all()
        return impacts if rises else self.scored(impacts)

    def levels(self) -> Scores:
        """The scores of all impacts: float32, (256,)."""
        return self.scored(_IMPACTS)

    def leveled(self, levels: Scores) -> Matches:
        """These documents, with other scores of all impacts."""
        if (levels[1:] == levels[1]).all():
            return self.fixed(float(levels[1]))
        other = copy(self)
        other.constant, other._levels = None, levels
        return other


def joined(clauses: Sequence[Postings], combine: Combine) -> Matches:
    """The documents of one term, of which each clause has all; their scores combined in order.

    A document's score depends on its impact alone, so that only those of all impacts are combined.
    """
    each = [clause.levels() for clause in clauses]
    levels = reduce(combine, each)
    for clause, own in zip(clauses, each, strict=True):
        if (own == levels).all():
            return clause
    return clauses[0].leveled(levels)
