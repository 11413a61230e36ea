"""Words up to a few slips away: each counts by its rarity and nearness, the best one in a document.

Which terms are near is remembered with a segment, their scores with the snapshot, because rarity
is that over all segments.
"""

from collections.abc import Callable

import msgspec
import numpy as np
from numpy.typing import NDArray

from projections.search import tree
from projections.search.analysis import fold
from projections.search.index.evaluate.lexicons import TermNumbers, spans
from projections.search.index.evaluate.results import DENSE, Dense, Matches, Sparse, nothing
from projections.search.index.evaluate.segments import SegmentView, Snapshot
from projections.search.index.format.arrays import ranges

_LEAST_NEARNESS = 0.1
_BYTES_PER_TERM = 200


class _Near(msgspec.Struct, frozen=True):
    """Terms of one field of a segment near the word."""

    field: str
    numbers: TermNumbers
    terms: list[bytes]
    slips: list[int]


class Fuzzy:
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
        weights = self._snapshot.memory.get(
            self._node, self._weigh, lambda weights: _BYTES_PER_TERM * len(weights)
        )
        ids: list[NDArray[np.int32]] = []
        scores: list[NDArray[np.float32]] = []
        for near in self._near(view):
            self._check()
            inverted = view.fields[near.field]
            begins = inverted.starts.take(near.numbers)
            sizes = inverted.starts.take(near.numbers + 1) - begins
            where = ranges(begins, sizes)
            of_term = [weights[near.field, term] for term in near.terms]
            score = np.repeat(np.array(of_term, np.float32), sizes)
            if inverted.impacts is not None:
                score *= inverted.impacts.take(where)
            ids.append(inverted.ids.take(where))
            scores.append(score)
        return _best(view, ids, scores)

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
            numbers, slips = span.near(self._word, self._node.distance, self._check)
            if len(numbers):
                terms = list(map(view.fields[field].term, numbers.tolist()))
                nearby.append(_Near(field, numbers, terms, slips.tolist()))
        return nearby

    def _weigh(self) -> dict[tuple[str, bytes], float]:
        """Field and term -> what it counts."""
        frequencies: dict[tuple[str, bytes], int] = {}
        slips: dict[tuple[str, bytes], int] = {}
        for view in self._snapshot.views:
            for near in self._near(view):
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


def _best(
    view: SegmentView, ids: list[NDArray[np.int32]], scores: list[NDArray[np.float32]]
) -> Sparse | Dense:
    """The highest score of each document."""
    if not ids:
        return nothing(view)
    every, score = np.concatenate(ids), np.concatenate(scores)
    if len(every) * DENSE > view.size:
        best = np.zeros(view.size, np.float32)
        np.maximum.at(best, every.astype(np.intp), score)
        return Dense(best > 0, best)
    order = np.argsort(every, kind="stable")
    every, score = every.take(order), score.take(order)
    first = np.flatnonzero(np.concatenate(([True], every[1:] != every[:-1])))
    return Sparse(view.size, every.take(first), np.maximum.reduceat(score, first))
