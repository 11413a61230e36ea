"""The page of hits: by score or by a sorted field, ties by name, then id.

Each segment gives its best documents in order; merged, they are compared by what they hold.
"""

import heapq
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from operator import itemgetter
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from projections.search.documents.documents import SORT_PLACES, SORTABLE, SortValue
from projections.search.engine import (
    SCORE,
    TOTAL_CAP,
    EngineHit,
    EngineHits,
    EngineQuery,
    FacetResult,
    Sort,
)
from projections.search.index.evaluate.results import Dense, Matches, Scores, Sparse
from projections.search.index.evaluate.segments import DocIds, Mask, SegmentView
from projections.search.index.rank.selection import best, first, kept, walk
from projections.search.matching.sort_values import sort_values

Key = tuple[Any, ...]
_NAME = SORT_PLACES["name"]
_SPARSE = 64
"""A segment's order is walked unless fewer than one document in so many matches."""


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
        """The documents, among the matches, that come after the hit."""
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
        """Return a mask of the documents with values that come after the hit's; NaN is missing."""
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


class Matching(msgspec.Struct, frozen=True):
    """The documents that match in a segment, and those that are allowed (None: all)."""

    view: SegmentView
    matches: Matches
    allowed: Mask | None


def page(
    query: EngineQuery,
    matching: Sequence[Matching],
    *,
    facets: tuple[FacetResult, ...] = (),
    timed_out: bool,
) -> EngineHits:
    """The hits that the query asks for, of all that match, with what came of its facets."""
    sort = query.order
    wanted = query.offset + query.size
    after = None if query.search_after is None else After(query.search_after, sort)
    total = 0
    parts: list[_Part] = []
    for of_view in matching:
        view = of_view.view
        if not of_view.matches.count:
            continue
        matches = kept(of_view.matches, of_view.allowed, view.size)
        total += matches.count
        if matches.count:
            parts.append(_Part(view, matches, sort, wanted, after))
    hits = tuple(_hits(parts, query.offset, wanted))
    capped = not query.exact_total and total > TOTAL_CAP
    return EngineHits(
        total=TOTAL_CAP if capped else total,
        relation="gte" if capped or timed_out else "eq",
        hits=hits,
        max_score=max((part.top for part in parts), default=None) if sort.field == SCORE else None,
        timed_out=timed_out,
        facets=facets,
    )


class _Part:
    """A segment's share of the page: documents in the order asked for, as many as wanted."""

    def __init__(
        self, view: SegmentView, matches: Matches, sort: Sort, wanted: int, after: After | None
    ) -> None:
        self._view = view
        self._sort = sort
        self._place = SORT_PLACES.get(sort.field)
        self._whole = matches
        if after is not None:
            matches = after.following(view, matches)
        self.order: Scores | None = None
        """Scores as they order the documents, ascending; None where the order is by a field."""
        self.scores: Sequence[float] = ()
        if sort.field == SCORE:
            self.ids, scores = best(matches, wanted, ascending=not sort.descending)
            self.scores = scores.tolist()
            self.order = -scores if sort.descending else scores
        else:
            self.ids = _by_field(view, matches, sort, wanted)
        self._leads = after is None and sort.descending and len(self.ids) > 0

    @property
    def top(self) -> float:
        """The highest score of all that match."""
        if self._whole.constant is not None:
            return self._whole.constant
        if self._leads:
            return self.scores[0]
        return float(best(self._whole, 1)[1][0])

    def hits(self, begin: int, end: int) -> list[EngineHit]:
        """The hits from one place of the order up to another."""
        stored = map(self._view.stored, self.ids[begin:end].tolist())
        if (place := self._place) is None:
            scored = zip(stored, self.scores[begin:end], strict=True)
            return [
                EngineHit(each.id, each.kind, score, (score, each.sort[_NAME], each.id))
                for each, score in scored
            ]
        return [
            EngineHit(each.id, each.kind, None, (each.sort[place], each.sort[_NAME], each.id))
            for each in stored
        ]

    def key(self, hit: EngineHit) -> Key:
        """Return the key that compares the hit with others."""
        value, name, entity_id = hit.sort
        return (*comparable(value, self._sort), str(name or ""), entity_id)

    def key_at(self, at: int) -> Key:
        """The key of the hit at a place."""
        return self.key(self.hits(at, at + 1)[0])

    def entries(self, begin: int) -> Iterator[tuple[Key, EngineHit]]:
        """The hits from a place on, each with its key."""
        for at in range(begin, len(self.ids)):
            (hit,) = self.hits(at, at + 1)
            yield self.key(hit), hit


def _hits(parts: Sequence[_Part], offset: int, wanted: int) -> Iterable[EngineHit]:
    if len(parts) == 1:
        return parts[0].hits(offset, wanted)
    begins, left = _skipped(parts, offset)
    entries = [part.entries(begin) for part, begin in zip(parts, begins, strict=True)]
    merged = heapq.merge(*entries, key=itemgetter(0))
    return (hit for _, hit in islice(merged, left, left + wanted - offset))


def _skipped(parts: Sequence[_Part], offset: int) -> tuple[list[int], int]:
    """Skip most hits before the offset: where each part begins then, and how many are left to skip.

    Take an equal number of hits from each part, together no more than are left to skip. The part
    whose last hit comes first among these last hits can have none of them behind the offset.
    """
    begins = _beyond(parts, offset)
    left = offset - sum(begins)
    waiting = [place for place, part in enumerate(parts) if len(part.ids) > begins[place]]
    while waiting and (step := left // len(waiting)):
        ends = {place: min(begins[place] + step, len(parts[place].ids)) for place in waiting}
        earliest = min(waiting, key=lambda place: parts[place].key_at(ends[place] - 1))
        left -= ends[earliest] - begins[earliest]
        begins[earliest] = ends[earliest]
        if ends[earliest] == len(parts[earliest].ids):
            waiting.remove(earliest)
    return begins, left


def _beyond(parts: Sequence[_Part], offset: int) -> list[int]:
    """The beginning of each part after hits that lie before the offset by their scores alone."""
    orders = [part.order for part in parts if part.order is not None]
    if not offset or not orders:
        return [0] * len(parts)
    order = np.concatenate(orders)
    if offset >= len(order):
        return [len(part.ids) for part in parts]
    limit = np.partition(order, offset)[offset]
    return [int(each.searchsorted(limit)) for each in orders]


def _by_field(view: SegmentView, matches: Matches, sort: Sort, wanted: int) -> DocIds:
    if sort.field == "name" and not sort.descending:
        return (
            first(matches.mask(), wanted) if isinstance(matches, Dense) else matches.ids()[:wanted]
        )
    if matches.count * _SPARSE > view.size:
        return walk(_order(view, sort), matches.mask(), wanted)
    ids = matches.ids()
    order = np.argsort(_keys(view, sort).take(ids), kind="stable")
    return ids.take(order[:wanted])


def _order(view: SegmentView, sort: Sort) -> DocIds:
    """All documents of a segment in the order of the field, ties in order of their numbers."""

    def make() -> DocIds:
        return np.argsort(_keys(view, sort), kind="stable").astype(np.int32)

    return view.memory.array(("order", sort), make)


def _keys(view: SegmentView, sort: Sort) -> NDArray[Any]:
    """DocIds in the order of the field, missing values last in both directions."""
    if SORTABLE[sort.field] is str:
        ranks = view.arrays[f"sort.{sort.field}.rank"]
        keys = -ranks if sort.descending else ranks
        return np.where(ranks < 0, np.int32(view.size), keys)
    values = view.arrays[f"sort.{sort.field}.value"]
    return -values if sort.descending else values  # NaN sorts last
