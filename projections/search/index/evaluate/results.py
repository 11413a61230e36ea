"""What a node of the query tree comes to in one segment: documents and their scores.

Few documents are kept as their numbers, many as a mask over the segment. Sums are made in the order
of the clauses and in single precision, so that a document scores the same on every way.
"""

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from projections.search.index.evaluate.segments import DocIds, Mask, SegmentView
from projections.search.index.format.arrays import distinct

Scores = NDArray[np.float32]
Combine = Callable[..., Scores]
_NONE = np.empty(0, np.int32)
DENSE = 32
"""A mask is better than numbers from one document in so many on."""


class Sparse:
    """Documents by number; `scores` of each, or one for all."""

    def __init__(self, size: int, ids: DocIds, scores: Scores | float) -> None:
        """`size` is that of the segment; `ids` ascend."""
        self._size = size
        self._ids = ids
        self._scores = scores
        self.count = len(ids)
        """How many documents there are."""
        self.is_dense = self.count * DENSE > size
        """Whether masks are the cheaper form."""
        self.constant = None if isinstance(scores, np.ndarray) else float(np.float32(scores))
        """The score of all documents, where it is the same."""
        self.nbytes = ids.nbytes + (scores.nbytes if isinstance(scores, np.ndarray) else 0)
        """Memory of the documents and their scores, in bytes."""

    def ids(self) -> DocIds:
        """Numbers of the documents, ascending: int32, one for each."""
        return self._ids

    def mask(self) -> Mask:
        """The documents as a mask: bool, one for each document of the segment."""
        mask = np.zeros(self._size, np.bool_)
        mask[self._ids] = True
        return mask

    def present(self, ids: DocIds) -> Mask:
        """Which of the documents `ids` are here: bool, one for each of `ids`."""
        return self.mask().take(ids) if self.is_dense else self._places(ids)[1]

    def scores_at(self, ids: DocIds) -> Scores:
        """Scores of the documents `ids`, 0 for absent ones: float32, one for each of `ids`."""
        if not isinstance(self._scores, np.ndarray):
            return self.present(ids) * np.float32(self._scores)
        if ids is self._ids:
            return self._scores
        if self.is_dense:
            return self.dense().take(ids)
        places, present = self._places(ids)
        return self._scores.take(places) * present if self.count else np.zeros(len(ids), np.float32)

    def _places(self, ids: DocIds) -> tuple[NDArray[np.intp], Mask]:
        """Where each document is among these, and whether it is."""
        if not self.count:
            return np.zeros(len(ids), np.intp), np.zeros(len(ids), np.bool_)
        places = self._ids.searchsorted(ids)
        np.minimum(places, self.count - 1, out=places)
        return places, self._ids.take(places) == ids

    def dense(self) -> Scores:
        """Scores of all documents of the segment, 0 for absent ones: float32."""
        scores = np.zeros(self._size, np.float32)
        scores[self._ids] = self._scores
        return scores

    def scaled(self, factor: float) -> "Sparse":
        """These documents with their scores multiplied by a factor."""
        return self.fixed(np.multiply(self._scores, np.float32(factor), dtype=np.float32))

    def fixed(self, scores: Scores | float) -> "Sparse":
        """These documents with one score for all, or one for each."""
        return Sparse(self._size, self._ids, scores)


class Frequent(Sparse):
    """The documents of a term that many have, looked up in a table that outlives the query."""

    def __init__(
        self,
        size: int,
        ids: DocIds,
        scores: Scores,
        table: Callable[[], NDArray[np.uint8]],
        weight: float,
    ) -> None:
        """`table` has an impact for each document of the segment, `weight` scores one of 1."""
        super().__init__(size, ids, scores)
        self._table = table
        self._weight = np.float32(weight)

    def mask(self) -> Mask:
        """The documents as a mask: bool, one for each document of the segment."""
        return np.not_equal(self._table(), 0)

    def dense(self) -> Scores:
        """Scores of all documents of the segment, 0 for absent ones: float32."""
        return np.multiply(self._table(), self._weight, dtype=np.float32)


class Dense:
    """Documents as a mask; `scores` of all documents (0 outside the mask), or one for all."""

    is_dense = True

    def __init__(self, mask: Mask, scores: Scores | float) -> None:
        self._mask = mask
        self._scores = scores
        self._count = -1
        self.constant = None if isinstance(scores, np.ndarray) else float(np.float32(scores))
        """The score of all documents, where it is the same."""
        self.nbytes = mask.nbytes + (scores.nbytes if isinstance(scores, np.ndarray) else 0)
        """Memory of the mask and the scores, in bytes."""

    @property
    def count(self) -> int:
        """How many documents there are, counted when first asked for."""
        if self._count < 0:
            self._count = int(np.count_nonzero(self._mask))
        return self._count

    def ids(self) -> DocIds:
        """Numbers of the documents, ascending: int32, one for each."""
        return np.flatnonzero(self._mask).astype(np.int32)

    def mask(self) -> Mask:
        """The documents as a mask: bool, one for each document; not to be changed."""
        return self._mask

    def present(self, ids: DocIds) -> Mask:
        """Which of the documents `ids` are here: bool, one for each of `ids`."""
        return self._mask.take(ids)

    def scores_at(self, ids: DocIds) -> Scores:
        """Scores of the documents `ids`, 0 for absent ones: float32, one for each of `ids`."""
        if isinstance(self._scores, np.ndarray):
            return self._scores.take(ids)
        return self._mask.take(ids) * np.float32(self._scores)

    def dense(self) -> Scores:
        """Scores of all documents of the segment, 0 for absent ones: float32."""
        if isinstance(self._scores, np.ndarray):
            return self._scores
        return self._mask * np.float32(self._scores)

    def add(self, clause: "Matches", combine: Combine) -> None:
        """Join the documents of a clause with these, whose arrays must be nobody else's."""
        assert isinstance(self._scores, np.ndarray)
        if clause.is_dense:
            combine(self._scores, clause.dense(), out=self._scores)
            self._mask |= clause.mask()
        else:
            ids = clause.ids()
            self._scores[ids] = combine(self._scores.take(ids), clause.scores_at(ids))
            self._mask[ids] = True
        self._count = -1

    def scaled(self, factor: float) -> "Dense":
        """These documents with their scores multiplied by a factor."""
        return self.fixed(np.multiply(self._scores, np.float32(factor), dtype=np.float32))

    def fixed(self, scores: Scores | float) -> "Dense":
        """These documents with one score for all, or one for each of the segment's."""
        return Dense(self._mask, scores)


Matches = Sparse | Dense


def nothing(view: SegmentView) -> Sparse:
    """No document."""
    return Sparse(view.size, _NONE, 0.0)


def everything(view: SegmentView, score: float) -> Dense:
    """All documents."""
    return Dense(view.everyone, score)


def gathered(
    view: SegmentView,
    lists: Iterable[DocIds],
    count: int,
    score: float,
    check: Callable[[], None],
) -> Matches:
    """The documents of all lists, which may be in any order and come again.

    `count` is how many the lists have together: where they are many, each list is asked for when
    those before it are done with. `check` raises when the time is up.
    """
    if count * DENSE <= view.size:
        return Sparse(view.size, distinct(np.concatenate((*lists, _NONE))), score)
    mask = np.zeros(view.size, np.bool_)
    for ids in lists:
        check()
        mask[ids] = True
    dense = Dense(mask, score)
    return dense if dense.count * DENSE > view.size else Sparse(view.size, dense.ids(), score)


def best_scored(view: SegmentView, scored: Iterable[tuple[DocIds, Scores]], count: int) -> Matches:
    """Documents given in pieces, where they may come again, each with the highest of its scores.

    `count` is how many there are at most in all pieces together.
    """
    if count * DENSE > view.size:
        dense = np.zeros(view.size, np.float32)
        for ids, scores in scored:
            np.maximum.at(dense, ids.astype(np.intp), scores)
        return Dense(dense > 0, dense)
    pieces = [(_NONE, np.empty(0, np.float32)), *scored]
    every = np.concatenate([ids for ids, _ in pieces])
    ids = distinct(every)
    best = np.zeros(len(ids), np.float32)
    np.maximum.at(best, ids.searchsorted(every), np.concatenate([scores for _, scores in pieces]))
    return Sparse(view.size, ids, best)


def union(
    view: SegmentView, clauses: Iterable[Matches], combine: Combine, check: Callable[[], None]
) -> Matches:
    """The documents of any clause; their scores combined in the order of the clauses.

    Each clause is asked for when those before it are joined. `check` raises when the time is up.
    """
    joined: Matches = nothing(view)
    own: Dense | None = None
    for clause in clauses:
        check()
        if not clause.count:
            continue
        if own is not None:
            own.add(clause, combine)
        elif joined.count and (joined.is_dense or clause.is_dense):
            scores = combine(joined.dense(), clause.dense())
            own = Dense(joined.mask() | clause.mask(), scores)
        elif joined.count:
            ids = distinct(np.concatenate((joined.ids(), clause.ids())))
            scores = combine(joined.scores_at(ids), clause.scores_at(ids))
            joined = Sparse(view.size, ids, scores)
        else:
            joined = clause
    return own or joined


def conjunction(
    view: SegmentView, clauses: Iterable[Matches], check: Callable[[], None]
) -> Matches | None:
    """The documents of every clause, scored by their sum in order; None where there is no clause.

    The rarer of two clauses is looked up in the other. `check` raises when the time is up.
    """
    joined: Matches | None = None
    for clause in clauses:
        check()
        if joined is None:
            joined = clause
            continue
        rarer, other = sorted((joined, clause), key=lambda each: each.count)
        if rarer.is_dense and other.is_dense:
            ids = np.flatnonzero(rarer.mask() & other.mask()).astype(np.int32)
        else:
            ids = rarer.ids()
            ids = ids.compress(other.present(ids))
        joined = Sparse(view.size, ids, _sum(joined, clause, ids))
    return joined


def _sum(first: Matches, second: Matches, ids: DocIds) -> Scores | float:
    """The scores of documents that both have."""
    if first.constant is not None and second.constant is not None:
        return float(np.float32(first.constant) + np.float32(second.constant))
    if first.constant == 0:
        return second.scores_at(ids)
    return first.scores_at(ids) + second.scores_at(ids)


def restricted(matches: Matches, allowed: Mask | None) -> Matches:
    """The allowed ones (None: all) of the documents."""
    if allowed is None:
        return matches
    constant = matches.constant
    if isinstance(matches, Dense):
        scores = matches.dense() * allowed if constant is None else constant
        return Dense(matches.mask() & allowed, scores)
    ids, inside = matches.ids(), allowed.take(matches.ids())
    scores = matches.scores_at(ids).compress(inside) if constant is None else constant
    return Sparse(len(allowed), ids.compress(inside), scores)
