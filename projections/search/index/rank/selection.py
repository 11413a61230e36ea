"""The best few of many documents, without sorting them all."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from projections.search.index.evaluate.results import Dense, Matches, Scores
from projections.search.index.evaluate.segments import DocIds, Mask

_BLOCKS = 128
"""The best of so many equal strides give a bound below which no document is among the best."""
_FEW = 1_000
_FIRST_LOOK = 4


def first(mask: Mask, wanted: int) -> DocIds:
    """The first documents of a mask."""
    end = max(_FEW, wanted * _FIRST_LOOK)
    while True:
        ids = np.flatnonzero(mask[:end])
        if len(ids) >= wanted or end >= len(mask):
            return ids[:wanted].astype(np.int32)
        end *= _FIRST_LOOK


def walk(order: DocIds, mask: Mask, wanted: int) -> DocIds:
    """The first documents of the order that are in the mask."""
    begin, end = 0, max(_FEW, wanted * _FIRST_LOOK)
    taken: list[DocIds] = []
    while True:
        part = order[begin:end]
        taken.append(part.compress(mask.take(part)))
        wanted -= len(taken[-1])
        if wanted <= 0 or end >= len(order):
            ids = np.concatenate(taken)
            return ids[: len(ids) + wanted] if wanted < 0 else ids
        begin, end = end, end * _FIRST_LOOK


def best(matches: Matches, wanted: int, *, ascending: bool = False) -> tuple[DocIds, Scores]:
    """The documents with the highest (or lowest) scores in order, ties in order of their numbers.

    Documents of a `Dense` with an array of scores may be outside its mask when they score 0.
    """
    if matches.constant is not None:
        ids = (
            first(matches.mask(), wanted) if isinstance(matches, Dense) else matches.ids()[:wanted]
        )
        return ids, np.full(len(ids), matches.constant, np.float32)
    if not ascending and isinstance(matches, Dense):
        scores = matches.dense()
        places = highest(scores, wanted)
        if len(places) and scores[places[-1]] > 0:
            return places.astype(np.int32), scores.take(places)
    ids = matches.ids()
    scores = matches.scores_at(ids)
    places = highest(-scores if ascending else scores, wanted)
    return ids.take(places), scores.take(places)


def highest(scores: NDArray[Any], wanted: int) -> NDArray[np.intp]:
    """Where the highest scores are, the highest first, ties in order."""
    if wanted <= 0:
        return np.empty(0, np.intp)
    places: NDArray[np.intp] | None = None
    if wanted < len(scores):
        places = np.flatnonzero(scores >= _bound(scores, wanted))
        if len(places) > max(_FEW, 4 * wanted):
            some = scores.take(places)
            limit = np.partition(some, len(some) - wanted)[len(some) - wanted]
            # Of ties at the limit only the first are among the best.
            above = places.compress(some > limit)
            equal = places.compress(some == limit)[: wanted - len(above)]
            places = np.concatenate((above, equal))
            places.sort()
    if places is None:
        return (-scores).argsort(kind="stable")[:wanted]
    return places.take((-scores.take(places)).argsort(kind="stable")[:wanted])


def _bound(scores: NDArray[Any], wanted: int) -> float:
    """A score that at least `wanted` documents reach, and few others."""
    strides = len(scores) // _BLOCKS
    if strides < wanted * 2:
        return float(np.partition(scores, len(scores) - wanted)[len(scores) - wanted])
    highest = scores[: strides * _BLOCKS].reshape(_BLOCKS, strides).max(axis=0)
    return float(np.partition(highest, strides - wanted)[strides - wanted])
