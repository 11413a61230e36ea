"""The use of an entity by day, with the sums over the week and the month that end with the day."""

import time
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from typing import NamedTuple

from domain.errors import StoreUnavailable
from domain.kinds.bodies.components import UsageStats, UsageSummary
from domain.measurements.bounds import Bounds
from domain.measurements.reports import Point, UsageRanks

_WEEK, _MONTH = 7, 30


class UseSums(NamedTuple):
    """The use of an entity on a day, and in the week and the month that end with the day."""

    entity_id: str
    daily: int
    weekly: int
    monthly: int


def summaries(
    counts: Mapping[date, int], last: date, days: int, ranks: Mapping[date, UsageRanks]
) -> list[UsageSummary]:
    """The summaries of the days that have a count, among so many that end with `last`.

    The newest comes first. `counts` and `ranks` are those of each day, as far as there are any.
    """
    period = [last - timedelta(days=back) for back in range(min(days, (last - date.min).days + 1))]
    return [
        UsageSummary(
            date=day,
            daily_stats=_stats(counts, day, 1, rank.daily if rank else None),
            weekly_stats=_stats(counts, day, _WEEK, rank.weekly if rank else None),
            monthly_stats=_stats(counts, day, _MONTH, rank.monthly if rank else None),
        )
        for day in period
        if day in counts
        for rank in (ranks.get(day),)
    ]


def _stats(counts: Mapping[date, int], last: date, days: int, rank: float | None) -> UsageStats:
    used = sum(count for day, count in counts.items() if 0 <= (last - day).days < days)
    return UsageStats(count=used, percentile_rank=rank)


def ranked(used: Sequence[UseSums], day: int, bounds: Bounds) -> Iterator[dict[str, list[Point]]]:
    """Entity id -> the point with its ranks on a day, in parts for a transaction each.

    A rank is the share of these entities that were used less, in percent to two places. Raises
    StoreUnavailable when the caller takes too long to store the parts.
    """
    ended = time.monotonic() + bounds.sum_seconds
    days = sorted(each.daily for each in used)
    weeks = sorted(each.weekly for each in used)
    months = sorted(each.monthly for each in used)
    for start in range(0, len(used), bounds.at_once):
        if time.monotonic() > ended:
            raise StoreUnavailable(f"storing the ranks took more than {bounds.sum_seconds:g} s")
        yield {
            each.entity_id: [
                UsageRanks(
                    daily=_share(days, each.daily),
                    weekly=_share(weeks, each.weekly),
                    monthly=_share(months, each.monthly),
                ).point(day)
            ]
            for each in used[start : start + bounds.at_once]
        }


def _share(ordered: Sequence[int], value: int) -> float:
    """The share of values that are less, rounded as an integer: the same for every database."""
    number = len(ordered)
    return (20_000 * bisect_left(ordered, value) + number) // (2 * number) / 100
