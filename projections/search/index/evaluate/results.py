"""Results of a node of the query tree in one segment: documents and their scores.

Few documents are kept as their numbers, many as a mask over the segment; the postings of a term
stay where they are until it is known which of them are needed. All sums are made in the order of
the clauses and in single precision, so that the same document scores the same on every way.
"""

from collections.abc import Callable, Iterable
from typing import Any, Protocol, overload

import numpy as np
from numpy.typing import NDArray

from projections.search.index.evaluate.segments import DocIds, Mask, SegmentView
from projections.search.index.format.arrays import distinct

Scores = NDArray[np.float32]
_NONE = np.empty(0, np.int32)
DENSE = 32
"""A mask is kept instead of numbers if at least one document in this many matches."""


class Matches(Protocol):
    """Documents of a segment, each with a score."""

    @property
    def count(self) -> int:
        """Number of documents."""

    @property
    def constant(self) -> float | None:
        """The score of all documents, where it is the same."""

    @property
    def is_dense(self) -> bool:
        """True if masks are the cheaper form."""

    @property
    def nbytes(self) -> int:
        """Memory that the documents and scores take beside the segment's own, in bytes."""

    def ids(self) -> DocIds:
        """The documents in order."""

    def mask(self) -> Mask:
        """The documents as a mask; not to be changed."""

    def present(self, ids: DocIds) -> Mask:
        """Return a mask of those of the documents `ids` that are here."""

    def scores_at(self, ids: DocIds) -> Scores:
        """Scores of documents, 0 for those that are not here."""

    def dense(self) -> Scores:
        """Scores of all documents of the segment, 0 for those that are not here."""

    def scaled(self, factor: float) -> "Matches":
        """The documents with their scores multiplied."""

    def fixed(self, score: float) -> "Matches":
        """The documents, all with this score."""


class Sparse:
    """Documents by number; `scores` of each, or one for all."""

    is_dense = False

    def __init__(self, size: int, ids: DocIds, scores: Scores | float) -> None:
        self._size = size
        self._ids = ids
        self._scores = scores
        self.count = len(ids)
        self.constant = None if isinstance(scores, np.ndarray) else rounded(scores)
        self.nbytes = ids.nbytes + _bytes(scores)
        """Memory of the documents and their scores, in bytes."""

    def ids(self) -> DocIds:
        """Numbers of the documents, ascending: int32, one for each."""
        return self._ids

    def mask(self) -> Mask:
        """The documents as a mask: bool, one for each document of the segment."""
        return spread(self._size, self._ids, True, np.bool_)

    def present(self, ids: DocIds) -> Mask:
        """Return a mask of those of `ids` that are here: bool, one for each of `ids`."""
        return among(self._ids, ids)[1]

    def scores_at(self, ids: DocIds) -> Scores:
        """Scores of the documents `ids`, 0 for absent ones: float32, one for each of `ids`."""
        if ids is self._ids:
            return filled(self._scores, len(ids))
        places, present = among(self._ids, ids)
        return picked(self._scores, places, present)

    def dense(self) -> Scores:
        """Scores of all documents of the segment, 0 for absent ones: float32."""
        return spread(self._size, self._ids, self._scores, np.float32)

    def scaled(self, factor: float) -> Matches:
        """These documents with their scores multiplied by a factor."""
        return Sparse(self._size, self._ids, times(self._scores, factor))

    def fixed(self, score: float) -> Matches:
        """These documents, all with one score."""
        return Sparse(self._size, self._ids, score)


class Dense:
    """Documents as a mask; `scores` of all documents (0 outside the mask), or one for all."""

    is_dense = True

    def __init__(
        self,
        mask: Mask,
        scores: NDArray[Any] | float,
        count: int = -1,
        factors: tuple[float, ...] = (),
    ) -> None:
        """`count` is the number of documents where it is known.

        Scores in an array are multiplied by the factors only when they are read.
        """
        self._mask = mask
        self._scores = scores
        self._count = count
        self._factors = factors
        self.constant = None if isinstance(scores, np.ndarray) else rounded(scores)
        self.nbytes = mask.nbytes + _bytes(scores)
        """Memory of the mask and the scores, in bytes."""

    @property
    def count(self) -> int:
        """Number of documents, counted when first asked for."""
        if self._count < 0:
            self._count = int(np.count_nonzero(self._mask))
        return self._count

    def ids(self) -> DocIds:
        """Numbers of the documents, ascending: int32, one for each."""
        return np.flatnonzero(self._mask).astype(np.int32)

    def mask(self) -> Mask:
        """The documents as a mask: bool, one for each document of the segment."""
        return self._mask

    def present(self, ids: DocIds) -> Mask:
        """Return a mask of those of `ids` that are here: bool, one for each of `ids`."""
        return self._mask.take(ids)

    def scores_at(self, ids: DocIds) -> Scores:
        """Scores of the documents `ids`, 0 for absent ones: float32, one for each of `ids`."""
        if isinstance(self._scores, np.ndarray):
            return self._multiplied(self._scores.take(ids))
        return self._mask.take(ids) * np.float32(self._scores)

    def dense(self) -> Scores:
        """Scores of all documents of the segment, 0 for absent ones: float32."""
        if isinstance(self._scores, np.ndarray):
            return self._multiplied(self._scores)
        return self._mask * np.float32(self._scores)

    def _multiplied(self, scores: NDArray[Any]) -> Scores:
        for factor in self._factors:
            scores = scores * np.float32(factor)
        return scores.astype(np.float32, copy=False)

    def scaled(self, factor: float) -> Matches:
        """These documents with their scores multiplied by a factor."""
        if isinstance(self._scores, np.ndarray):
            return Dense(self._mask, self._scores, self._count, (*self._factors, factor))
        return Dense(self._mask, times(self._scores, factor), self._count)

    def fixed(self, score: float) -> Matches:
        """These documents, all with one score."""
        return Dense(self._mask, score, self._count)


def _bytes(scores: Scores | float) -> int:
    return scores.nbytes if isinstance(scores, np.ndarray) else 0


def nothing(view: SegmentView) -> Sparse:
    """No document."""
    return Sparse(view.size, _NONE, 0.0)


def everything(view: SegmentView, score: float) -> Matches:
    """All documents."""
    return Dense(view.everyone, score)


def of_mask(mask: Mask, score: float) -> Sparse | Dense:
    """The documents of a mask, by number where they are few."""
    dense = Dense(mask, score)
    if dense.count * DENSE > len(mask):
        return dense
    return Sparse(len(mask), dense.ids(), score)


def gathered(
    view: SegmentView,
    lists: Iterable[DocIds],
    count: int,
    check: Callable[[], None],
) -> Sparse | Dense:
    """The documents of all lists, scored 1; the lists may be in any order and repeat documents.

    `count` is how many the lists have together: where they are many, each list is asked for when
    those before it are done with. `check` raises when the time is up.
    """
    if count * DENSE <= view.size:
        return Sparse(view.size, distinct(np.concatenate((*lists, _NONE))), 1.0)
    mask = np.zeros(view.size, np.bool_)
    for ids in lists:
        check()
        mask[places(ids)] = True
    return of_mask(mask, 1.0)


Combine = Callable[..., Scores]
"""Function that combines two arrays of scores into one, document by document."""


def spread(size: int, ids: DocIds, values: Any, dtype: Any) -> NDArray[Any]:
    """An array for all documents of a segment: `values` at the documents `ids`, 0 elsewhere."""
    every = np.zeros(size, dtype)
    every[places(ids)] = values
    return every


def places(ids: DocIds) -> NDArray[np.intp]:
    """Document numbers in numpy's own type of places, by which it assigns three times as fast."""
    return ids.astype(np.intp)


def among(known: DocIds, ids: DocIds) -> tuple[NDArray[np.intp], Mask]:
    """Return the place of each document among the known ones, and a mask of the known."""
    if not len(known):
        return np.zeros(len(ids), np.intp), np.zeros(len(ids), np.bool_)
    places = known.searchsorted(ids)
    np.minimum(places, len(known) - 1, out=places)
    return places, known.take(places) == ids


def picked(scores: Scores | float, places: NDArray[np.intp], present: Mask) -> Scores:
    """The scores at these places; 0 where `present` is false."""
    if isinstance(scores, np.ndarray):
        return scores.take(places) * present if len(scores) else np.zeros(len(places), np.float32)
    return present * np.float32(scores)


def filled(scores: Scores | float, size: int) -> Scores:
    """Scores as an array of `size`, also where all documents have one score."""
    return scores if isinstance(scores, np.ndarray) else np.full(size, scores, np.float32)


@overload
def times(scores: float, factor: float) -> float: ...
@overload
def times(scores: Scores | float, factor: float) -> Scores | float: ...
def times(scores: Scores | float, factor: float) -> Scores | float:
    """The scores multiplied, in single precision."""
    if isinstance(scores, np.ndarray):
        return scores * np.float32(factor)
    return float(np.float32(scores) * np.float32(factor))


def rounded(score: float) -> float:
    """The score in single precision."""
    return float(np.float32(score))
