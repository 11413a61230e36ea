"""The use of an entity by day, with the sums over the week and the month that end with the day."""

from collections.abc import Mapping
from datetime import date, timedelta

from domain.bodies.components import UsageStats, UsageSummary

_WEEK, _MONTH = 7, 30


def summaries(counts: Mapping[date, int], last: date, days: int) -> list[UsageSummary]:
    """The summaries of the days that have a count, among so many that end with `last`.

    The newest comes first. `counts` are those of each day.
    """
    period = [last - timedelta(days=back) for back in range(min(days, (last - date.min).days + 1))]
    return [
        UsageSummary(
            date=day,
            daily_stats=UsageStats(count=counts[day]),
            weekly_stats=UsageStats(count=_sum(counts, day, _WEEK)),
            monthly_stats=UsageStats(count=_sum(counts, day, _MONTH)),
        )
        for day in period
        if day in counts
    ]


def _sum(counts: Mapping[date, int], last: date, days: int) -> int:
    return sum(count for day, count in counts.items() if 0 <= (last - day).days < days)
