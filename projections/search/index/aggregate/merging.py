"""Buckets of several segments merged by their keys: those asked for, exactly counted.

Terms of a segment are in the order of their bytes. Where several segments have counted many, they
are gone through together in that order, so many at a time, and only the buckets that can still be
among those asked for are kept.
"""

import heapq
from collections.abc import Callable, Iterator, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from projections.search.index.format.arrays import Inverted
from projections.search.index.rank.selection import highest

_PART = 10_000
"""Terms of each segment that are merged with those of the others at once, at most."""
Numbers = NDArray[np.int64]
Counted = tuple[bytes, int]
"""A key, which is a term without what all begin with, and its count."""


class Terms(msgspec.Struct, frozen=True):
    """Terms of one segment that have documents, ascending, with their counts."""

    inverted: Inverted
    skip: int
    """Bytes that all terms begin with."""
    numbers: Numbers
    counts: Numbers

    def total(self) -> int:
        """The sum of all counts."""
        return int(self.counts.sum())

    def select(self, places: NDArray[np.intp] | slice) -> "Terms":
        """Some of the terms."""
        return Terms(self.inverted, self.skip, self.numbers[places], self.counts[places])

    def counted(self) -> list[Counted]:
        """The terms with their counts."""
        inverted = self.inverted
        begins = (inverted.offsets.take(self.numbers) + self.skip).tolist()
        ends = inverted.offsets.take(self.numbers + 1).tolist()
        memory = inverted.lexicon.data
        keys = [bytes(memory[begin:end]) for begin, end in zip(begins, ends, strict=True)]
        return list(zip(keys, self.counts.tolist(), strict=True))


def largest(segments: Sequence[Terms], size: int, check: Callable[[], None]) -> list[Counted]:
    """So many of the largest buckets, ties by key."""
    segments = [terms for terms in segments if len(terms.numbers)]
    if not size:
        return []
    if len(segments) == 1:
        return segments[0].select(highest(segments[0].counts, size)).counted()
    best: list[Counted] = []
    for merged in _merged(segments, check):
        candidates = [*best, *merged.items()]
        best = heapq.nsmallest(size, candidates, key=lambda item: (-item[1], item[0]))
    return best


def first(segments: Sequence[Terms], size: int, check: Callable[[], None]) -> list[Counted]:
    """So many buckets by key."""
    segments = [terms for terms in segments if len(terms.numbers)]
    if len(segments) == 1:
        return segments[0].select(slice(size)).counted()
    taken: list[Counted] = []
    for merged in _merged(segments, check):
        if len(taken) >= size:
            break
        taken += sorted(merged.items())
    return taken[:size]


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
