"""Numbers of documents of a mask with each of successive terms, by whole arrays."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from projections.search.index.evaluate.segments import Mask
from projections.search.index.format.arrays import Inverted

Counts = NDArray[np.int64]
_POSTINGS = 1 << 20
"""Postings that are counted without a look at the clock; the terms of a part have no more, unless
it is one term."""


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
