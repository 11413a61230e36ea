"""Phrases whose last word is only begun: the positions of many terms are taken as those of one."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from projections.search.index.evaluate.phrases import (
    STEP_DOCUMENTS,
    Positions,
    follow,
    positions_of,
    with_all,
)
from projections.search.index.evaluate.segments import DocIds, Mask, SegmentView
from projections.search.index.evaluate.term_results import Postings
from projections.search.index.format.arrays import Inverted, ranges

MAX_POSITIONS = 1 << 20
"""Positions of begun words that are held at once, or those of one document where it has more."""
PIECE = 1 << 18
"""Postings of begun words that are gone through without a look at the clock."""
_DOCUMENT = 32
"""Bits of a position beside the number of its document."""


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
    counts = _counts(inverted, begun, _mask(view, ids), check)
    ids = ids.compress(counts.take(ids) > 0)
    upto = np.cumsum(counts.take(ids))
    step = max(1, STEP_DOCUMENTS // (len(terms) + 1))
    matching = [ids[:0]]
    begin = 0
    while begin < len(ids):
        before = int(upto[begin - 1]) if begin else 0
        end = int(upto.searchsorted(before + MAX_POSITIONS, "right"))
        end = min(max(end, begin + 1), begin + step)
        chunk = ids[begin:end]
        wanted = _mask(view, chunk)
        lists: dict[int, Positions] = {}
        for number in terms:
            check()
            lists[number] = positions_of(inverted, number, chunk, wanted)
        last = _merged(inverted, begun, chunk, wanted, check)
        holds = follow([*(lists[number] for number in words[0]), last], slop, check)
        matching.append(chunk.compress(holds))
        begin = end
    return np.concatenate(matching)


def _mask(view: SegmentView, ids: DocIds) -> Mask:
    mask = np.zeros(view.size, np.bool_)
    mask[ids] = True
    return mask


def _counts(
    inverted: Inverted, terms: tuple[int, int], wanted: Mask, check: Callable[[], None]
) -> NDArray[np.int64]:
    """(documents,): how many positions of the terms each of the wanted documents has."""
    counts = np.zeros(len(wanted), np.int64)
    for places, sizes in _postings(inverted, terms, wanted, check):
        np.add.at(counts, inverted.ids.take(places).astype(np.intp), sizes)
    return counts


def _merged(
    inverted: Inverted,
    terms: tuple[int, int],
    ids: DocIds,
    wanted: Mask,
    check: Callable[[], None],
) -> Positions:
    """The positions of any of the terms in the documents, which `wanted` marks."""
    assert inverted.position_starts is not None
    assert inverted.positions is not None
    pieces = [np.empty(0, np.int64)]
    for places, sizes in _postings(inverted, terms, wanted, check):
        documents = ids.searchsorted(inverted.ids.take(places))
        where = ranges(inverted.position_starts.take(places), sizes)
        pieces.append((np.repeat(documents, sizes) << _DOCUMENT) + inverted.positions.take(where))
    keys = np.unique(np.concatenate(pieces))
    borders = keys.searchsorted(np.arange(len(ids) + 1) << _DOCUMENT)
    positions = (keys & ((1 << _DOCUMENT) - 1)).astype(np.int32)
    return Positions(positions, borders[:-1], borders[1:])


def _postings(
    inverted: Inverted, terms: tuple[int, int], wanted: Mask, check: Callable[[], None]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Where the terms' postings of wanted documents are, with how many positions each has."""
    assert inverted.position_starts is not None
    first, after = (int(inverted.starts[number]) for number in terms)
    for low in range(first, after, PIECE):
        check()
        postings = inverted.ids[low : min(low + PIECE, after)]
        places = np.flatnonzero(wanted.take(postings)) + low
        begins = inverted.position_starts.take(places)
        yield places, inverted.position_starts.take(places + 1) - begins
