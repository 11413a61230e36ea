"""Moments that an index keeps, and the intervals of time that follow each other."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from domain.reading.moments import DAY
from projections.search.aggregations import MAX_BUCKETS

FIRST, LAST = -62_135_596_800_000, 253_402_300_799_999
"""The milliseconds with which the year 1 begins and the year 9999 ends."""
UNITS: dict[str, Literal["m", "h", "D", "M", "Y"]] = {
    "minute": "m",
    "hour": "h",
    "day": "D",
    "month": "M",
    "year": "Y",
}


def following(begin: int, interval: str | int) -> int:
    """Return the beginning of the next interval."""
    if isinstance(interval, int):
        return begin + interval
    if interval == "week":
        return begin + 7 * DAY
    unit, steps = (UNITS["month"], 3) if interval == "quarter" else (UNITS[interval], 1)
    after = np.datetime64(begin, "ms").astype(f"datetime64[{unit}]") + np.timedelta64(steps, unit)
    return int(after.astype("datetime64[ms]").astype(np.int64))


def with_gaps(keys: Sequence[int], interval: str | int) -> list[int]:
    """The keys and those of the intervals between them, up to one more than an answer may have."""
    if not keys:
        return []
    every = [keys[0]]
    while every[-1] < keys[-1] and len(every) <= MAX_BUCKETS:
        every.append(following(every[-1], interval))
    return every
