"""Words next to each other: positions of many documents compared at once."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from projections.search.whoosh.arrays import ranges, starts
from projections.search.whoosh.segments import Numbers, SegmentView
from projections.search.whoosh.term_results import Postings

_CHUNK = 20_000
"""Documents compared at a time."""
_MANY = 4
_ROOM = 32
"""Bits of a position beside the number of a document."""


def together(
    view: SegmentView,
    field: str,
    numbers: Sequence[int],
    postings: Sequence[Postings],
    slop: int,
    check: Callable[[], None],
) -> Numbers:
    """The documents in which the terms follow each other, moved by `slop` places at most in all.

    `numbers` are the terms in their order, `postings` theirs; a term may come twice.
    """
    rarest = sorted(dict(zip(numbers, postings, strict=True)).values(), key=lambda p: p.count)
    ids = rarest[0].ids()
    for other in rarest[1:]:
        ids = ids.compress(other.present(ids))
    found: list[Numbers] = []
    for begin in range(0, len(ids), _CHUNK):
        check()
        chunk = ids[begin : begin + _CHUNK]
        lists = {
            number: _Positions(view, field, number, chunk) for number in dict.fromkeys(numbers)
        }
        join = _near if slop else _adjacent
        found.append(chunk.compress(join([lists[number] for number in numbers], slop)))
    return np.concatenate(found) if found else ids


class _Positions:
    """The positions of a term in documents that all have it."""

    def __init__(self, view: SegmentView, field: str, number: int, ids: Numbers) -> None:
        inverted = view.fields[field]
        assert inverted.position_starts is not None
        assert inverted.positions is not None
        self._view = view
        self._term = (field, number)
        self._starts = inverted.position_starts
        self._positions = inverted.positions
        self._slice = inverted.postings(number)
        postings = inverted.ids[self._slice]
        self._many = len(ids) * _MANY >= len(postings)
        """Whether the term is looked at in so many of its documents that all are cheaper."""
        if self._many:
            wanted = np.zeros(view.size, np.bool_)
            wanted[ids] = True
            self._places = np.flatnonzero(wanted.take(postings))
        else:
            self._places = postings.searchsorted(ids)

    @property
    def size(self) -> int:
        """Number of documents."""
        return len(self._places)

    def signatures(self, shift: int) -> NDArray[np.uint64]:
        """For each document a bit per position modulo 64, positions moved back by `shift`."""
        if not self._many:
            begins, sizes = self._ranges(self._places)
            found = _bits(self._positions.take(ranges(begins, sizes)), starts(sizes)[:-1])
        else:
            key = ("positions", *self._term)
            found = self._view.memory.array(key, self._all_signatures).take(self._places)
        if not (turned := shift % 64):
            return found
        return (found >> np.uint64(turned)) | (found << np.uint64(64 - turned))

    def _all_signatures(self) -> NDArray[np.uint64]:
        places = self._starts[self._slice.start : self._slice.stop + 1]
        first = places[0]
        return _bits(self._positions[first : places[-1]], places[:-1] - first)

    def keys(self, shift: int, documents: NDArray[np.intp]) -> NDArray[np.int64]:
        """Document and position in one number, of some of the documents, ascending."""
        begins, sizes = self._ranges(self._places.take(documents))
        places = self._positions.take(ranges(begins, sizes)).astype(np.int64)
        # The room between documents is wider than any slop, also below the first position.
        return (np.repeat(documents + 1, sizes) << _ROOM) + (places - shift)

    def _ranges(self, places: NDArray[np.intp]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where the positions of postings begin, and how many there are."""
        postings = places + self._slice.start
        begins = self._starts.take(postings)
        return begins, self._starts.take(postings + 1) - begins


def _bits(positions: NDArray[np.int32], begins: NDArray[np.int64]) -> NDArray[np.uint64]:
    bits = np.left_shift(np.uint64(1), (positions & 63).astype(np.uint64))
    return np.bitwise_or.reduceat(bits, begins)


def _adjacent(parts: list[_Positions], _slop: int) -> NDArray[np.bool_]:
    signatures = parts[0].signatures(0)
    for shift, part in enumerate(parts[1:], 1):
        signatures = signatures & part.signatures(shift)
    likely = np.flatnonzero(signatures)
    keys = parts[0].keys(0, likely)
    for shift, part in enumerate(parts[1:], 1):
        others = part.keys(shift, likely)
        if not len(keys) or not len(others):
            break
        places = np.minimum(others.searchsorted(keys), len(others) - 1)
        keys = keys.compress(others.take(places) == keys)
    found = np.zeros(len(signatures), np.bool_)
    found[(keys >> _ROOM) - 1] = True
    return found


def _near(parts: list[_Positions], slop: int) -> NDArray[np.bool_]:
    """Whether a window of `slop` holds every part: at its end each was seen not long before."""
    size = parts[0].size
    every = np.arange(size)
    lists = [part.keys(shift, every) for shift, part in enumerate(parts)]
    keys = np.concatenate(lists)
    owners = np.repeat(np.arange(len(parts)), [len(keys_of) for keys_of in lists])
    order = np.argsort(keys, kind="stable")
    keys, owners = keys.take(order), owners.take(order)
    oldest = keys
    # The last occurrence before a window's end may also be a later event at the same place.
    group_end = keys.searchsorted(keys, "right") - 1
    for part in range(len(parts)):
        last = np.maximum.accumulate(np.where(owners == part, keys, 0))
        oldest = np.minimum(oldest, last.take(group_end))
    found = np.zeros(size, np.bool_)
    ends = keys.compress(keys - oldest <= slop)
    found[((ends + (len(parts) + slop)) >> _ROOM) - 1] = True
    return found
