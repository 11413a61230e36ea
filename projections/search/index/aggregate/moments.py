"""Moments of a field in a segment, and the intervals of time that they are in."""

import numpy as np
from numpy.typing import NDArray

from projections.search.index.evaluate.segments import SegmentView
from projections.search.matching.moments import DAY, FIRST, LAST, UNITS
from projections.search.matching.terms import EXACT, NUMBER, SEPARATOR

Milliseconds = NDArray[np.int64]
_DIGITS = 16
"""Hexadecimal digits of a number in a term."""
_SIGN = np.uint64(1 << 63)


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
