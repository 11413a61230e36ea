"""Numbers of documents of a mask: with each of successive terms, or with a moment in an interval.

Everything is counted by whole arrays, in one segment.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from domain.reading.moments import DAY
from projections.search.index.evaluate.segments import DocIds, Mask, SegmentView
from projections.search.index.format.arrays import Inverted, distinct
from projections.search.matching.moments import FIRST, LAST, UNITS
from projections.search.matching.terms import EXACT, NUMBER, SEPARATOR

Counts = NDArray[np.int64]
Milliseconds = NDArray[np.int64]
_POSTINGS = 1 << 20
"""Postings that are counted between two looks at the clock; a single term may have more."""
_DIGITS = 16
"""Hexadecimal digits of a number in a term."""
_SIGN = np.uint64(1 << 63)


def counts(
    inverted: Inverted, low: int, high: int, mask: Mask | None, check: Callable[[], None]
) -> Counts:
    """(high - low,): how many documents of the mask (None: of all) each term has.

    `check` raises when the time is up.
    """
    starts = inverted.starts
    if mask is None or low >= high:
        return np.diff(starts[low : high + 1]) if low < high else np.empty(0, np.int64)
    counted = np.empty(high - low, np.int64)
    at = low
    while at < high:
        check()
        upto = int(starts.searchsorted(starts[at] + _POSTINGS, "right")) - 1
        after = min(high, max(upto, at + 1))
        begin, end = int(starts[at]), int(starts[after])
        present = mask.take(inverted.ids[begin:end])
        counted[at - low : after - low] = grouped(present, starts[at:after] - begin)
        at = after
    return counted


def grouped(present: Mask, begins: NDArray[np.int64]) -> Counts:
    """Return the number of present documents of each of successive groups; no group is empty."""
    if len(begins) == 1:
        return np.array([np.count_nonzero(present)], np.int64)
    return np.add.reduceat(present, begins, dtype=np.int64)


def intervals(
    view: SegmentView, mask: Mask | None, path: str, interval: str | int
) -> list[tuple[int, int, int, int]]:
    """The intervals in which any document of the mask (None: of all) has a moment, in order.

    A row has the beginning of the interval in milliseconds since 1970, the numbers of its first
    term and of the term after its last, and the number of documents of the mask.
    """
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
    return [row for row in rows if row[-1]]


def _counted(view: SegmentView, mask: Mask | None, bounds: Counts) -> Counts:
    """Return the number of documents with any term of each range; ranges follow each other."""
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


def number_prefix(path: str) -> bytes:
    """Return the beginning of the terms of numbers of a path."""
    return f"{path}{SEPARATOR}{NUMBER}".encode()


def moments(view: SegmentView, path: str) -> tuple[int, Milliseconds]:
    """The first term with a moment of the path, and the moments of it and of those that follow.

    Ascending; a part of a millisecond is dropped.
    """
    inverted = view.fields[EXACT]
    prefix = number_prefix(path)
    low, high = inverted.span(prefix)

    def read() -> NDArray[np.float64]:
        begin, end = int(inverted.offsets[low]), int(inverted.offsets[high])
        terms = inverted.lexicon[begin:end].reshape(high - low, len(prefix) + _DIGITS)
        digits = terms[:, -_DIGITS:].tobytes().decode()
        bits = np.frombuffer(bytes.fromhex(digits), ">u8").astype(np.uint64)
        positive = (bits & _SIGN) != 0
        return np.where(positive, bits ^ _SIGN, ~bits).view(np.float64)

    if low >= high:
        return low, np.empty(0, np.int64)
    values = view.memory.array(("moments", path), read)
    after = int(values.searchsorted(LAST + 1))
    before = int(values.searchsorted(FIRST))
    return low + before, np.floor(values[before:after]).astype(np.int64)


def beginnings(values: Milliseconds, interval: str | int) -> Milliseconds:
    """Return the beginning of the interval that each moment is in."""
    if isinstance(interval, int):
        return values // interval * interval
    if interval == "week":
        # The first of January 1970 was a Thursday.
        days = values // DAY
        return ((days + 3) // 7 * 7 - 3) * DAY
    if interval == "quarter":
        months = values.astype("datetime64[ms]").astype("datetime64[M]").astype(np.int64)
        return _since_1970((months // 3 * 3).astype("datetime64[M]"))
    return _since_1970(values.astype("datetime64[ms]").astype(f"datetime64[{UNITS[interval]}]"))


def _since_1970(dates: NDArray[np.datetime64]) -> Milliseconds:
    return dates.astype("datetime64[ms]").astype(np.int64)
