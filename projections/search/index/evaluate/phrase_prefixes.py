"""Phrases whose last word is only begun: the positions of many terms are taken as those of one."""

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from projections.search.index.evaluate.phrases import (
    Positions,
    follow,
    positions_of,
    with_all,
)
from projections.search.index.evaluate.results import spread
from projections.search.index.evaluate.segments import DocIds, Mask, SegmentView
from projections.search.index.evaluate.term_results import Postings
from projections.search.index.format.arrays import Inverted, distinct, ranges, starts

_DOCUMENT = 32
"""Lower bits of a key, which hold a position; the upper bits hold the number of the document."""


def begun_together(
    view: SegmentView,
    field: str,
    words: tuple[Sequence[int], Sequence[Postings]],
    begun: tuple[int, int],
    slop: int,
    check: Callable[[], None],
) -> DocIds:
    """The documents in which the words and then one of the begun terms follow each other.

    `words` are the terms but for the last one, in their order, with their postings; `begun` are the
    numbers of the first term that the last word may be and of the one after them. They may be moved
    by `slop` places at most in all. `check` raises when the time is up.
    """
    inverted = view.fields[field]
    terms = dict(zip(*words, strict=True))
    ids = with_all(list(terms.values()), check)
    counts = _counts(inverted, begun, _mask(view, ids), view.steps.postings, check)
    unread = _Unread(inverted, begun)
    ids = ids.compress(counts.take(ids) > 0)
    upto = np.cumsum(counts.take(ids))
    step = max(1, view.steps.documents // (len(terms) + 1))
    matching = [ids[:0]]
    begin = 0
    while begin < len(ids):
        before = int(upto[begin - 1]) if begin else 0
        end = int(upto.searchsorted(before + view.steps.positions, "right"))
        end = min(max(end, begin + 1), begin + step)
        chunk = ids[begin:end]
        wanted = _mask(view, chunk)
        lists: dict[int, Positions] = {}
        for number in terms:
            check()
            lists[number] = positions_of(inverted, number, chunk, wanted)
        pieces = _pieces(*unread.take(int(chunk[-1]), check), view.steps.postings)
        last = _merged(inverted, pieces, chunk, wanted, check)
        parts = [*(lists[number] for number in words[0]), last]
        holds = follow(parts, slop, view.steps.places, check)
        matching.append(chunk.compress(holds))
        begin = end
    return np.concatenate(matching)


def _mask(view: SegmentView, ids: DocIds) -> Mask:
    return spread(view.size, ids, True, np.bool_)


def _counts(
    inverted: Inverted, terms: tuple[int, int], wanted: Mask, step: int, check: Callable[[], None]
) -> NDArray[np.int64]:
    """(documents,): how many positions of the terms each of the wanted documents has.

    `check` is called for each `step` postings.
    """
    counts = np.zeros(len(wanted), np.int64)
    first, after = (int(inverted.starts[number]) for number in terms)
    for low in range(first, after, step):
        check()
        postings = inverted.ids[low : min(low + step, after)]
        places = np.flatnonzero(wanted.take(postings)) + low
        np.add.at(counts, inverted.ids.take(places).astype(np.intp), _sizes(inverted, places))
    return counts


class _Unread:
    """The postings of begun terms that were not taken yet, for documents in ascending order.

    Each group of documents takes its part of every term's postings. Going through all postings for
    every group would take long, as there may be as many groups as postings.
    """

    def __init__(self, inverted: Inverted, terms: tuple[int, int]) -> None:
        first, after = terms
        self._ids = inverted.ids
        self._begins: NDArray[np.int64] = inverted.starts[first:after]
        self._ends: NDArray[np.int64] = inverted.starts[first + 1 : after + 1]

    def take(
        self, document: int, check: Callable[[], None]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(terms,), (terms,): beginning and number of each term's postings up to a document."""
        begins, ends = self._begins, self._ends
        upto = _after(self._ids, begins, ends, document, check)
        left = np.flatnonzero(upto < ends)
        self._begins, self._ends = upto.take(left), ends.take(left)
        return begins, upto - begins


def _after(
    ids: DocIds,
    begins: NDArray[np.int64],
    ends: NDArray[np.int64],
    document: int,
    check: Callable[[], None],
) -> NDArray[np.int64]:
    """(ranges,): the end, in each of these ranges of ascending ids, of the ids up to a document."""
    low, high = begins.copy(), ends.copy()
    searched = np.flatnonzero(low < high)
    while len(searched):
        check()
        middle = (low.take(searched) + high.take(searched)) >> 1
        after = ids.take(middle) > document
        high[searched[after]] = middle[after]
        low[searched[~after]] = middle[~after] + 1
        searched = searched[low.take(searched) < high.take(searched)]
    return low


def _merged(
    inverted: Inverted,
    pieces: Iterable[NDArray[np.int64]],
    ids: DocIds,
    wanted: Mask,
    check: Callable[[], None],
) -> Positions:
    """The positions that any of these postings have in the documents, which `wanted` marks."""
    assert inverted.position_starts is not None
    assert inverted.positions is not None
    merged = [np.empty(0, np.int64)]
    for postings in pieces:
        check()
        places = postings.compress(wanted.take(inverted.ids.take(postings)))
        documents, sizes = ids.searchsorted(inverted.ids.take(places)), _sizes(inverted, places)
        where = ranges(inverted.position_starts.take(places), sizes)
        merged.append((np.repeat(documents, sizes) << _DOCUMENT) + inverted.positions.take(where))
    keys = distinct(np.concatenate(merged))
    borders = keys.searchsorted(np.arange(len(ids) + 1) << _DOCUMENT)
    positions = (keys & ((1 << _DOCUMENT) - 1)).astype(np.int32)
    return Positions(positions, borders[:-1], borders[1:])


def _pieces(
    begins: NDArray[np.int64], sizes: NDArray[np.int64], step: int
) -> Iterator[NDArray[np.int64]]:
    """The numbers in all spans, one span after another, `step` at a time."""
    upto = starts(sizes)
    whole = int(upto[-1])
    for low in range(0, whole, step):
        high = min(low + step, whole)
        first, last = (upto.searchsorted((low, high - 1), "right") - 1).tolist()
        borders = upto[first : last + 2].clip(low, high)
        skipped = borders[:-1] - upto[first : last + 1]
        yield ranges(begins[first : last + 1] + skipped, np.diff(borders))


def _sizes(inverted: Inverted, places: NDArray[np.int64]) -> NDArray[np.int64]:
    """(postings,): the number of positions of the posting at each of `places`."""
    assert inverted.position_starts is not None
    return inverted.position_starts.take(places + 1) - inverted.position_starts.take(places)
