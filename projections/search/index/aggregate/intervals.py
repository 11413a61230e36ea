"""Numbers of documents of a segment with a moment in each interval of time."""

import msgspec
import numpy as np

from projections.search.index.aggregate.counting import Counts, grouped
from projections.search.index.aggregate.moments import beginnings, moments
from projections.search.index.evaluate.segments import DocIds, Mask, SegmentView
from projections.search.index.format.arrays import distinct
from projections.search.matching.terms import EXACT


class Interval(msgspec.Struct, frozen=True):
    """An interval of time with documents of one segment in it."""

    begin: int
    """In milliseconds since 1970."""
    low: int
    high: int
    """The first of its terms, and the one after the last."""
    count: int
    """Documents of the mask."""


def intervals(
    view: SegmentView, mask: Mask | None, path: str, interval: str | int
) -> list[Interval]:
    """The intervals in which any document of the mask (None: of all) has a moment, in order."""
    low, values = moments(view, path)
    if not len(values):
        return []
    begins = beginnings(values, interval)
    firsts = np.flatnonzero(np.diff(begins, prepend=begins[0] - 1))
    bounds = low + np.append(firsts, len(values))
    counted = _counted(view, mask, bounds)
    rows = zip(
        begins[firsts].tolist(),
        bounds[:-1].tolist(),
        bounds[1:].tolist(),
        counted.tolist(),
        strict=True,
    )
    return [Interval(*row) for row in rows if row[-1]]


def _counted(view: SegmentView, mask: Mask | None, bounds: Counts) -> Counts:
    """Return the number of documents with any term of each range; the ranges are in a row."""
    inverted = view.fields[EXACT]
    places = inverted.starts.take(bounds)
    ids = inverted.ids[places[0] : places[-1]]
    present = np.ones(len(ids), np.bool_) if mask is None else mask.take(ids)
    if _has_each_once(view.size, ids):
        return grouped(present, places[:-1] - places[0])
    count = len(bounds) - 1
    ranges = np.repeat(np.arange(count), np.diff(places)).compress(present)
    pairs = distinct(ranges * view.size + ids.compress(present))
    return np.bincount(pairs // view.size, minlength=count)


def _has_each_once(size: int, ids: DocIds) -> bool:
    """Return True if no document of a segment of this size comes twice."""
    seen = np.zeros(size, np.bool_)
    seen[ids] = True
    return int(np.count_nonzero(seen)) == len(ids)
