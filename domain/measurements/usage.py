"""The use of an entity by day, with the sums over the week and the month that end with the day."""

from collections.abc import Mapping
from datetime import date, timedelta

from domain.kinds.bodies.components import UsageStats, UsageSummary
from domain.measurements.reports import UsageRanks

_WEEK, _MONTH = 7, 30


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
