"""Words next to each other: positions of many documents compared at once."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projections.search.index.evaluate.segments import DocIds, Mask, SegmentView
from projections.search.index.evaluate.term_results import Postings
from projections.search.index.format.arrays import Inverted, ranges, starts

_MANY = 4
"""Documents are looked up by a mask if they are more than one in this many of the term's."""
_BEYOND = np.int64(1 << 40)
"""A distance beyond all positions, in either direction."""


def together(
    view: SegmentView,
    field: str,
    numbers: Sequence[int],
    postings: Sequence[Postings],
    slop: int,
    check: Callable[[], None],
) -> DocIds:
    """The documents in which the terms follow each other, moved by `slop` places at most in all.

    `numbers` are the terms in their order, `postings` theirs; a term may come twice. `check` is
    called between steps of bounded work and memory, and raises when the time is up.
    """
    terms = dict(zip(numbers, postings, strict=True))
    ids = with_all(list(terms.values()), check)
    wanted = np.zeros(view.size, np.bool_)
    wanted[ids] = True
    matching = [ids[:0]]
    step = max(1, view.steps.documents // len(terms))
    for begin in range(0, len(ids), step):
        chunk = ids[begin : begin + step]
        lists: dict[int, Positions] = {}
        for number in terms:
            check()
            lists[number] = positions_of(view.fields[field], number, chunk, wanted)
        holds = follow([lists[number] for number in numbers], slop, view.steps.places, check)
        matching.append(chunk.compress(holds))
    return np.concatenate(matching)


def with_all(postings: Sequence[Postings], check: Callable[[], None]) -> DocIds:
    """The documents that have every one of the terms."""
    rarest, *others = sorted(postings, key=lambda each: each.count)
    ids = rarest.ids()
    for other in others:
        check()
        ids = ids.compress(other.present(ids))
    return ids


def positions_of(inverted: Inverted, number: int, ids: DocIds, wanted: Mask) -> "Positions":
    """The positions of a term in the documents `ids`, which all have it.

    `wanted` marks these documents, and maybe others before or after all of them.
    """
    assert inverted.position_starts is not None
    assert inverted.positions is not None
    where = inverted.postings(number)
    # Only what the term has between the first and the last of the documents is gone through.
    first, last = (where.start + inverted.ids[where].searchsorted(ids[[0, -1]])).tolist()
    postings = inverted.ids[first : last + 1]
    if len(ids) * _MANY >= len(postings):
        places = np.flatnonzero(wanted.take(postings))
    else:
        places = postings.searchsorted(ids)
    begins = inverted.position_starts[first : last + 2]
    return Positions(inverted.positions, begins.take(places), begins.take(places + 1))


def follow(
    words: Sequence["Positions"], slop: int, step: int, check: Callable[[], None]
) -> NDArray[np.bool_]:
    """Return a mask of the documents in which `slop` moves make a phrase of the words.

    `check` is called for each word and `step` places of the phrase.
    """
    in_order = _in_order(words)
    return _near(in_order, slop, step, check) if slop else _adjacent(in_order, step, check)


class Positions:
    """The positions of a word in documents that all have it."""

    def __init__(
        self, positions: NDArray[np.int32], begins: NDArray[np.int64], ends: NDArray[np.int64]
    ) -> None:
        """Document `d` has `positions[begins[d] : ends[d]]`, ascending."""
        self._positions = positions
        self._begins = begins
        self._ends = ends
        self._sizes = ends - begins
        self.size = len(begins)
        """Number of documents."""
        self.count = int(self._sizes.sum())
        """Number of positions in all documents."""

    def pieces(self, size: int) -> Iterator[tuple[NDArray[np.intp], NDArray[np.int32]]]:
        """All positions in order, `size` at a time, each with the number of its document."""
        if self.count <= size:
            documents = np.repeat(np.arange(self.size), self._sizes)
            yield documents, self._positions.take(ranges(self._begins, self._sizes))
            return
        in_order = starts(self._sizes)
        for low in range(0, self.count, size):
            high = min(low + size, self.count)
            first = int(in_order.searchsorted(low, "right")) - 1
            after = int(in_order.searchsorted(high))
            places = np.clip(in_order[first : after + 1], low, high)
            begins = self._begins[first:after] + places[:-1] - in_order[first:after]
            sizes = np.diff(places)
            yield (
                np.repeat(np.arange(first, after), sizes),
                self._positions.take(ranges(begins, sizes)),
            )

    def last(self, documents: NDArray[np.intp], limits: NDArray[Any]) -> NDArray[np.int64]:
        """Return the place of the last position up to the limit in each document, by halving.

        Where all positions of a document are beyond the limit, that is the place of the first one.
        """
        at = self._begins.take(documents)
        last = self._ends.take(documents) - 1
        step = 1 << int((last - at).max(initial=0)).bit_length() >> 1
        while step:
            wide = np.flatnonzero(last - at >= step)
            further = at.take(wide) + step
            before = self._positions.take(further) <= limits.take(wide)
            at[wide.compress(before)] = further.compress(before)
            step >>= 1
        return at

    def hold(self, documents: NDArray[np.intp], wanted: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return a mask of the documents that have the position wanted in them."""
        return np.equal(self._positions.take(self.last(documents, wanted)), wanted)

    def around(
        self, documents: NDArray[np.intp], limits: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The last position up to the limit and the first one after it, in each document.

        `-_BEYOND` and `_BEYOND` stand for positions that do not exist.
        """
        at = self.last(documents, limits)
        reached = self._positions.take(at)
        within = reached <= limits
        following = at + within
        least = np.minimum(following, self._ends.take(documents) - 1)
        after = np.where(least == following, self._positions.take(least), _BEYOND)
        return np.where(within, reached, -_BEYOND), after


_Words = Sequence[tuple[int, Positions]]
"""The words of a phrase, each with its place in the phrase."""


def _in_order(parts: Sequence[Positions]) -> _Words:
    """The words in the order in which they are looked for: first the one with fewest positions.

    Among words with equally many positions, those far from the first one come first: most documents
    have no room for the phrase, which these words find out.
    """
    words = list(enumerate(parts))
    first = min(words, key=lambda word: word[1].count)
    words.sort(key=lambda word: (word[1].count, -abs(word[0] - first[0])))
    words.remove(first)
    return [first, *words]


def _adjacent(words: _Words, step: int, check: Callable[[], None]) -> NDArray[np.bool_]:
    """Return a mask of the documents in which the words follow each other.

    Each place of the first word is looked up in the others.
    """
    (shift, part), *others = words
    matching = np.zeros(part.size, np.bool_)
    for documents, positions in part.pieces(step):
        begins = positions - np.int32(shift)
        for other_shift, other in others:
            check()
            held = other.hold(documents, begins + np.int32(other_shift))
            documents, begins = documents.compress(held), begins.compress(held)
            if not len(documents):
                break
        matching[documents] = True
    return matching


def _near(words: _Words, slop: int, step: int, check: Callable[[], None]) -> NDArray[np.bool_]:
    """Return a mask of the documents in which the places of the words differ by `slop` at most.

    A phrase that begins at `b` is matched when each word, `shift` places into the phrase, has a
    position from `b + shift` to `b + shift + slop`. Each position of the first word gives an
    interval of such beginnings, `slop + 1` long at most and apart from the others; each further
    word removes the beginnings without a position of that word. The removed ones lie between two
    positions that are more than `slop + 1` apart, and an interval meets at most one such pair: it
    stays whole, becomes shorter, falls in two, or is gone.
    """
    (shift, part), *others = words
    matching = np.zeros(part.size, np.bool_)
    # An interval falls in two at most once for each word, and in no more than every other place.
    for documents, positions in part.pieces(max(1, step // min(len(words), slop // 2 + 1))):
        highs = positions.astype(np.int64) - shift
        lows = highs - slop
        same = documents[1:] == documents[:-1]
        lows[1:] = np.where(same, np.maximum(lows[1:], highs[:-1] + 1), lows[1:])
        for other_shift, other in others:
            check()
            before, after = other.around(documents, lows + (other_shift + slop))
            until = np.minimum(highs, before - other_shift)
            since = np.maximum(lows, after - (other_shift + slop))
            whole = since <= until + 1
            until[whole] = highs[whole]
            begun, ended = until >= lows, ~whole & (since <= highs)
            documents = np.concatenate((documents.compress(begun), documents.compress(ended)))
            lows = np.concatenate((lows.compress(begun), since.compress(ended)))
            highs = np.concatenate((until.compress(begun), highs.compress(ended)))
            if not len(documents):
                break
        matching[documents] = True
    return matching
