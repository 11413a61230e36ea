"""The best few of many documents, without sorting them all."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from projections.search.index.evaluate.results import Dense, Matches, Scores, Sparse, filled
from projections.search.index.evaluate.segments import DocIds, Mask
from projections.search.index.evaluate.term_results import Postings

_BLOCKS = 128
"""The best of so many equal strides give a bound below which no document is among the best."""
_FEW = 1_000
_FEW_BYTES = 4_000
_FIRST_LOOK = 4


def kept(matches: Matches, allowed: Mask | None, size: int) -> Matches:
    """The allowed ones of the documents."""
    if allowed is None:
        return matches
    if isinstance(matches, Postings):
        return matches.among(allowed)
    if not matches.is_dense:
        ids = matches.ids()
        ids = ids.compress(allowed.take(ids))
        return Sparse(
            size, ids, matches.scores_at(ids) if matches.constant is None else matches.constant
        )
    mask = matches.mask() & allowed
    if matches.constant is not None:
        return Dense(mask, matches.constant)
    return Dense(mask, matches.dense() * allowed)


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
        return ids, filled(matches.constant, len(ids))
    if isinstance(matches, Postings) and not ascending:
        places = _highest(matches.rank_values(), wanted)
        return matches.ids().take(places), matches.scores_of(places)
    if not ascending and matches.is_dense:
        scores = matches.dense()
        places = _highest(scores, wanted)
        if len(places) and scores[places[-1]] > 0:
            return places.astype(np.int32), scores.take(places)
    ids = matches.ids()
    scores = matches.scores_at(ids)
    places = _highest(-scores if ascending else scores, wanted)
    return ids.take(places), scores.take(places)


def _highest(scores: NDArray[Any], wanted: int) -> NDArray[np.intp]:
    """Return the places of the highest scores, the highest first, ties in order."""
    if wanted <= 0:
        return np.empty(0, np.intp)
    places: NDArray[np.intp] | None = None
    # Bytes are sorted by counting.
    if wanted < len(scores) and (len(scores) > _FEW_BYTES or scores.dtype != np.uint8):
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
        return _descending(scores)[:wanted]
    return places.take(_descending(scores.take(places))[:wanted])


def _descending(scores: NDArray[Any]) -> NDArray[np.intp]:
    return (~scores if scores.dtype == np.uint8 else -scores).argsort(kind="stable")


def _bound(scores: NDArray[Any], wanted: int) -> float:
    """A score that at least `wanted` documents reach, and few others."""
    strides = len(scores) // _BLOCKS
    if strides < wanted * 2:
        return float(np.partition(scores, len(scores) - wanted)[len(scores) - wanted])
    highest = scores[: strides * _BLOCKS].reshape(_BLOCKS, strides).max(axis=0)
    return float(np.partition(highest, strides - wanted)[strides - wanted])
