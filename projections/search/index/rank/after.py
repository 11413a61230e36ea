"""Pages that begin after a hit, told by its sort values."""

from bisect import bisect_left
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projections.search.documents.documents import SORTABLE, SortValue
from projections.search.engine import SCORE, Sort
from projections.search.index.evaluate.results import Matches, Sparse
from projections.search.index.evaluate.segments import DocIds, Mask, SegmentView
from projections.search.matching.sort_values import sort_values

Key = tuple[Any, ...]


class _Reversed(str):
    """A text that sorts the other way round."""

    __slots__ = ()

    def __lt__(self, other: str) -> bool:
        return str.__gt__(self, other)

    def __gt__(self, other: str) -> bool:
        return str.__lt__(self, other)


def comparable(value: SortValue, sort: Sort) -> Key:
    """Return the key that compares hits: missing values are last in both directions."""
    if value is None:
        return (True, 0)
    if not sort.descending:
        return (False, value)
    return (False, _Reversed(value) if isinstance(value, str) else -value)


class After:
    """The hit after which a page begins; InvalidInput when no hit can have such sort values."""

    def __init__(self, values: tuple[SortValue, ...], sort: Sort) -> None:
        self._value, self._name, self._id = sort_values(values, sort)
        self._sort = sort

    def following(self, view: SegmentView, matches: Matches) -> Matches:
        """Those of the documents that come after the hit."""
        ids = matches.ids()
        place = view.place(self._name, self._id)
        if self._sort.field == SCORE:
            scores: NDArray[Any] = matches.scores_at(ids)
            keep = self._beyond(scores.astype(np.float64), ids, place, self._value)
        elif SORTABLE[self._sort.field] is float:
            keep = self._beyond(
                view.arrays[f"sort.{self._sort.field}.value"].take(ids), ids, place, self._value
            )
        else:
            keep = self._beyond_text(view, ids, place)
        ids = ids.compress(keep)
        scored = matches.scores_at(ids) if matches.constant is None else matches.constant
        return Sparse(view.size, ids, scored)

    def _beyond(self, values: NDArray[Any], ids: DocIds, place: int, value: SortValue) -> Mask:
        """Return a mask of the values that come after, NaN being missing."""
        later: Mask = np.greater_equal(ids, place)
        missing: Mask = np.isnan(values)
        if value is None:
            return missing & later
        limit = np.float64(float(value))
        further = np.less(values, limit) if self._sort.descending else np.greater(values, limit)
        same: Mask = np.equal(values, limit) & later
        beyond: Mask = further | missing | same
        return beyond

    def _beyond_text(self, view: SegmentView, ids: DocIds, place: int) -> Mask:
        column = f"sort.{self._sort.field}"
        ranks = view.arrays[f"{column}.rank"].take(ids).astype(np.float64)
        ranks[ranks < 0] = np.nan
        if self._value is None:
            return self._beyond(ranks, ids, place, None)
        offsets = view.arrays[f"{column}.offsets"]
        lexicon = view.arrays[f"{column}.lexicon"].data
        wanted = str(self._value).encode()

        def text(rank: int) -> bytes:
            return bytes(lexicon[offsets[rank] : offsets[rank + 1]])

        size = len(offsets) - 1
        rank = bisect_left(range(size), wanted, key=text)
        known = rank < size and text(rank) == wanted
        # A value that no document has is between two ranks.
        return self._beyond(ranks, ids, place, rank if known else rank - 0.5)
