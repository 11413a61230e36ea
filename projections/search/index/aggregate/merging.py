"""Buckets of several segments merged by their keys: those asked for, exactly counted.

Terms of a segment are in the order of their bytes. Where the segments have few terms, it is
remembered which of them are the same, and whole arrays of counts are added up. Else the terms are
gone through together in their order, so many at a time, and only the buckets that can still be
among those asked for are kept.
"""

import heapq
from collections.abc import Callable, Iterator, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from projections.search.index.format.arrays import Inverted
from projections.search.index.format.sorted_texts import united

FEW = 50_000
"""The most terms, of all segments together, for which equal terms are remembered."""
KEY_BYTES = 120
"""Memory that a remembered term takes."""
_PART = 10_000
"""The most terms of each segment that are merged in one step."""
Numbers = NDArray[np.int64]
Counted = tuple[bytes, int]
"""A key, which is a term without the bytes that all terms begin with, and its count."""


class Terms(msgspec.Struct, frozen=True):
    """Terms of one segment that have documents, ascending, with their counts."""

    inverted: Inverted
    skip: int
    """Number of bytes that all terms begin with and keys leave out."""
    numbers: Numbers
    counts: Numbers
    low: int
    high: int
    """The terms are some of those from number `low` up to `high`."""

    def total(self) -> int:
        """The sum of all counts."""
        return int(self.counts.sum())

    def select(self, places: NDArray[np.intp] | slice) -> "Terms":
        """Return the terms at these places."""
        return msgspec.structs.replace(
            self, numbers=self.numbers[places], counts=self.counts[places]
        )

    def keys(self) -> list[bytes]:
        """The keys of the terms from `low` up to `high`."""
        every = np.arange(self.low, self.high)
        whole = msgspec.structs.replace(self, numbers=every, counts=every)
        return [key for key, _ in whole.counted()]

    def counted(self) -> list[Counted]:
        """The terms with their counts."""
        inverted = self.inverted
        begins = (inverted.offsets.take(self.numbers) + self.skip).tolist()
        ends = inverted.offsets.take(self.numbers + 1).tolist()
        memory = inverted.lexicon.data
        keys = [bytes(memory[begin:end]) for begin, end in zip(begins, ends, strict=True)]
        return list(zip(keys, self.counts.tolist(), strict=True))


class SameKeys(msgspec.Struct, frozen=True):
    """The different keys of several segments, and the places of each segment's terms in them."""

    places: Sequence[Numbers]
    """For each segment: the place in `keys` of each term from `low` up to `high`."""
    keys: Sequence[bytes]

    @classmethod
    def of(cls, segments: Sequence[Terms]) -> "SameKeys":
        """The keys of the terms that the segments may count."""
        return cls(*united([terms.keys() for terms in segments]))

    def largest(self, segments: Sequence[Terms], size: int) -> list[Counted]:
        """The `size` largest buckets of these segments, ties by key."""
        totals = np.zeros(len(self.keys), np.int64)
        for places, terms in zip(self.places, segments, strict=True):
            totals[places.take(terms.numbers - terms.low)] += terms.counts
        some = np.flatnonzero(totals)
        chosen = some.take(_largest(totals.take(some), size))
        keys = [self.keys[place] for place in chosen.tolist()]
        return list(zip(keys, totals.take(chosen).tolist(), strict=True))


def largest(segments: Sequence[Terms], size: int, check: Callable[[], None]) -> list[Counted]:
    """The `size` largest buckets of the segments, ties by key; `check` raises when time is up."""
    segments = [terms for terms in segments if len(terms.numbers)]
    if not size:
        return []
    if len(segments) == 1:
        return segments[0].select(_largest(segments[0].counts, size)).counted()
    best: list[Counted] = []
    for merged in _merged(segments, check):
        candidates = [*best, *merged.items()]
        best = heapq.nsmallest(size, candidates, key=lambda item: (-item[1], item[0]))
    return best


def first(segments: Sequence[Terms], size: int, check: Callable[[], None]) -> list[Counted]:
    """The first `size` buckets of the segments by key; `check` raises when time is up."""
    segments = [terms for terms in segments if len(terms.numbers)]
    if len(segments) == 1:
        return segments[0].select(slice(size)).counted()
    taken: list[Counted] = []
    for merged in _merged(segments, check):
        if len(taken) >= size:
            break
        taken += sorted(merged.items())
    return taken[:size]


def _largest(counts: Numbers, size: int) -> NDArray[np.intp]:
    """Return the places of the largest counts, the largest first, ties in order."""
    places = np.arange(len(counts))
    if size < len(counts):
        limit = np.partition(counts, len(counts) - size)[len(counts) - size]
        above = np.flatnonzero(counts > limit)
        places = np.concatenate((above, np.flatnonzero(counts == limit)[: size - len(above)]))
        places.sort()
    return places.take(np.argsort(-counts.take(places), kind="stable"))


def _merged(segments: Sequence[Terms], check: Callable[[], None]) -> Iterator[dict[bytes, int]]:
    """The buckets of all segments, in parts that follow each other in the order of the keys."""
    pivots = sorted(
        {
            terms.inverted.term(int(terms.numbers[at]))
            for terms in segments
            for at in range(_PART, len(terms.numbers), _PART)
        }
    )
    ends = [
        [int(terms.numbers.searchsorted(terms.inverted.first(pivot))) for pivot in pivots]
        + [len(terms.numbers)]
        for terms in segments
    ]
    begins = [0] * len(segments)
    for part in range(len(pivots) + 1):
        merged: dict[bytes, int] = {}
        for at, terms in enumerate(segments):
            check()
            for key, count in terms.select(slice(begins[at], ends[at][part])).counted():
                merged[key] = merged.get(key, 0) + count
            begins[at] = ends[at][part]
        yield merged
