"""Values inside one index: numbers and dates in texts, ranges of terms, positions of phrases."""

import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime

from projections.search import tree


def together(lists: list[list[int]], slop: int) -> bool:
    """Whether one place of each list can be chosen with at most `slop` between the outermost."""
    if not slop:
        return bool(set(lists[0]).intersection(*lists[1:]))
    events = sorted((place, at) for at, places in enumerate(lists) for place in places)
    inside: Counter[int] = Counter()
    start = 0
    for place, at in events:
        inside[at] += 1
        while place - events[start][0] > slop:
            left = events[start][1]
            inside[left] -= 1
            if not inside[left]:
                del inside[left]
            start += 1
        if len(inside) == len(lists):
            return True
    return False


def between(terms: list[str], node: tree.Range, encode: Mapping[str, str]) -> list[str]:
    low, high = 0, len(terms)
    if node.gt is not None:
        low = bisect_right(terms, encode[node.gt])
    if node.gte is not None:
        low = max(low, bisect_left(terms, encode[node.gte]))
    if node.lt is not None:
        high = bisect_left(terms, encode[node.lt])
    if node.lte is not None:
        high = min(high, bisect_right(terms, encode[node.lte]))
    return terms[low:high]


def as_number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and "_" not in text else None


def as_moment(text: str) -> float | None:
    """A number as it is, a date or time in milliseconds since 1970 (UTC unless it says)."""
    if (number := as_number(text)) is not None:
        return number
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    try:
        return moment.timestamp() * 1000
    except (OverflowError, ValueError):
        return None
