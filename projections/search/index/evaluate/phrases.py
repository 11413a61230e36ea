"""Words next to each other: positions of many documents compared at once."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from projections.search.index.evaluate.segments import DocIds, SegmentView
from projections.search.index.evaluate.term_results import Postings
from projections.search.index.format.arrays import ranges

_CHUNK = 20_000
"""Documents compared at a time."""
_MANY = 4
"""Documents are looked up through a mask if they are more than one in so many of the term's."""
_ROOM = 32
"""Bits of a position beside the number of a document."""


def together(
    view: SegmentView,
    field: str,
    numbers: Sequence[int],
    postings: Sequence[Postings],
    slop: int,
    check: Callable[[], None],
) -> DocIds:
    """The documents in which the terms follow each other, moved by `slop` places at most in all.

    `numbers` are the terms in their order, `postings` theirs; a term may come twice.
    """
    rarest = sorted(dict(zip(numbers, postings, strict=True)).values(), key=lambda p: p.count)
    ids = rarest[0].ids()
    for other in rarest[1:]:
        ids = ids.compress(other.present(ids))
    matching: list[DocIds] = []
    join = _near if slop else _adjacent
    for begin in range(0, len(ids), _CHUNK):
        check()
        chunk = ids[begin : begin + _CHUNK]
        lists = {n: _Positions(view, field, n, chunk) for n in dict.fromkeys(numbers)}
        matching.append(chunk.compress(join([lists[number] for number in numbers], slop)))
    return np.concatenate(matching) if matching else ids


class _Positions:
    """The positions of a term in documents that all have it."""

    def __init__(self, view: SegmentView, field: str, number: int, ids: DocIds) -> None:
        inverted = view.fields[field]
        assert inverted.position_starts is not None
        assert inverted.positions is not None
        self._positions = inverted.positions
        where = inverted.postings(number)
        postings = inverted.ids[where]
        if len(ids) * _MANY >= len(postings):
            wanted = np.zeros(view.size, np.bool_)
            wanted[ids] = True
            places = np.flatnonzero(wanted.take(postings))
        else:
            places = postings.searchsorted(ids)
        starts = inverted.position_starts[where.start : where.stop + 1]
        self._begins = starts.take(places)
        self.sizes = starts.take(places + 1) - self._begins
        """How many positions each document has."""

    def all(self) -> NDArray[np.int32]:
        """The positions of all documents, ascending in each."""
        return self._positions.take(ranges(self._begins, self.sizes))

    def hold(self, documents: NDArray[np.intp], wanted: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Whether each of the documents has the position wanted in it, by halving."""
        at = self._begins.take(documents)
        last = at + (self.sizes.take(documents) - 1)
        step = 1 << int((last - at).max(initial=0)).bit_length() >> 1
        while step:
            wide = np.flatnonzero(last - at >= step)
            further = at.take(wide) + step
            before = self._positions.take(further) <= wanted.take(wide)
            at[wide.compress(before)] = further.compress(before)
            step >>= 1
        return np.equal(self._positions.take(at), wanted)


def _adjacent(parts: Sequence[_Positions], _slop: int) -> NDArray[np.bool_]:
    """Whether the parts follow each other: each place of the fewest is looked up in the others."""
    first, *others = sorted(enumerate(parts), key=lambda part: int(part[1].sizes.sum()))
    shift, part = first
    documents = np.repeat(np.arange(len(part.sizes)), part.sizes)
    begins = part.all() - np.int32(shift)
    for shift, part in others:
        held = part.hold(documents, begins + np.int32(shift))
        documents, begins = documents.compress(held), begins.compress(held)
    matching = np.zeros(len(part.sizes), np.bool_)
    matching[documents] = True
    return matching


def _near(parts: Sequence[_Positions], slop: int) -> NDArray[np.bool_]:
    """Whether a window of `slop` holds every part: at its end each was seen not long before."""
    size = len(parts[0].sizes)
    lists = [_keys(part, shift) for shift, part in enumerate(parts)]
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
    matching = np.zeros(size, np.bool_)
    ends = keys.compress(keys - oldest <= slop)
    matching[((ends + (len(parts) + slop)) >> _ROOM) - 1] = True
    return matching


def _keys(part: _Positions, shift: int) -> NDArray[np.int64]:
    """Document and position, moved back by `shift`, in one number, ascending."""
    documents = np.repeat(np.arange(1, len(part.sizes) + 1), part.sizes)
    # The room between documents is wider than any slop, also below the first position.
    return (documents << _ROOM) + (part.all() - np.int32(shift))
