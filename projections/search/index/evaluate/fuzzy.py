"""Words up to a few slips away: each counts by its rarity and nearness, the best one in a document.

Which terms are near is remembered with a segment, their scores with the snapshot, because rarity
is that over all segments.
"""

from collections.abc import Callable
from itertools import pairwise

import msgspec
import numpy as np

from projections.search import tree
from projections.search.analysis import fold
from projections.search.index.evaluate.best_scores import BestScores
from projections.search.index.evaluate.lexicons import TermNumbers, spans
from projections.search.index.evaluate.results import Dense, Matches, Sparse, nothing
from projections.search.index.evaluate.segments import SegmentView, Snapshot
from projections.search.index.format.arrays import ranges, starts

_LEAST_NEARNESS = 0.1
_BYTES_PER_TERM = 200
_POSTINGS = 1 << 18
"""Postings that are scored between two looks at the clock; a single term may have more."""


class _Near(msgspec.Struct, frozen=True):
    """Terms of one field of a segment near the word."""

    field: str
    numbers: TermNumbers
    terms: list[bytes]
    slips: list[int]

    def postings(self, view: SegmentView) -> int:
        """Return the number of postings of the terms."""
        begins = view.fields[self.field].starts
        return int((begins.take(self.numbers + 1) - begins.take(self.numbers)).sum())


class FuzzyWord:
    """Evaluates a fuzzy leaf; `check` raises when the time is up."""

    def __init__(self, snapshot: Snapshot, node: tree.Fuzzy, check: Callable[[], None]) -> None:
        self._snapshot = snapshot
        self._node = node
        self._word = fold(node.text)
        self._check = check

    def matches(self, view: SegmentView) -> Matches:
        """The segment's documents with a near word."""
        return self._snapshot.memory.get(
            (view.name, self._node), lambda: self._evaluate(view), lambda matches: matches.nbytes
        )

    def _evaluate(self, view: SegmentView) -> Sparse | Dense:
        nearby = self._near(view)
        if not nearby:
            return nothing(view)
        weights = self._snapshot.memory.get(
            self._node, self._weigh, lambda weights: _BYTES_PER_TERM * len(weights)
        )
        best = BestScores(view, sum(near.postings(view) for near in nearby))
        for near in nearby:
            inverted = view.fields[near.field]
            of_term = np.array([weights[near.field, term] for term in near.terms], np.float32)
            begins = inverted.starts.take(near.numbers)
            sizes = inverted.starts.take(near.numbers + 1) - begins
            group = starts(sizes)[:-1] // _POSTINGS
            changes = np.flatnonzero(group[1:] != group[:-1]) + 1
            for low, high in pairwise((0, *changes.tolist(), len(group))):
                self._check()
                where = ranges(begins[low:high], sizes[low:high])
                scores = np.repeat(of_term[low:high], sizes[low:high])
                if inverted.impacts is not None:
                    scores = inverted.impacts.take(where) * scores
                best.add(inverted.ids.take(where), scores)
        return best.matches()

    def _near(self, view: SegmentView) -> list[_Near]:
        key = ("near", self._node)
        return view.memory.get(
            key,
            lambda: self._expand(view),
            lambda near: _BYTES_PER_TERM * sum(len(part.terms) for part in near),
        )

    def _expand(self, view: SegmentView) -> list[_Near]:
        nearby = []
        start = self._word[: self._node.prefix].encode()
        for field, span in spans(view, self._node.field, start):
            self._check()
            numbers, slips = span.near(self._word, self._node.distance, view.memory, self._check)
            if self._node.others:
                numbers, slips = numbers.compress(slips > 0), slips.compress(slips > 0)
            if len(numbers):
                terms = list(map(view.fields[field].term, numbers.tolist()))
                nearby.append(_Near(field, numbers, terms, slips.tolist()))
        return nearby

    def _weigh(self) -> dict[tuple[str, bytes], float]:
        """Field and term -> the score of a document with the term."""
        frequencies: dict[tuple[str, bytes], int] = {}
        slips: dict[tuple[str, bytes], int] = {}
        for view in self._snapshot.views:
            for near in self._near(view):
                self._check()
                counts = view.frequencies(near.field, near.numbers).tolist()
                for term, slip, count in zip(near.terms, near.slips, counts, strict=True):
                    key = (near.field, term)
                    frequencies[key] = frequencies.get(key, 0) + count
                    slips[key] = slip
        length = max(1, len(self._word))
        return {
            key: max(_LEAST_NEARNESS, 1 - slips[key] / length)
            * self._snapshot.weight(key[0], frequency)
            for key, frequency in frequencies.items()
        }
