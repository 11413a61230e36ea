"""The counts of each day: events about a kind, and on how many of its entities a key has content.

There is a row for each day, kind and thing counted on which anything happened, however much. Events
are counted on the days of their own times. A change of coverage is counted on the day on which the
log stood (`LogDays`), so that the sum up to a day says what there was at its end.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from types import MappingProxyType

import msgspec

from domain.event_store.port import MAX_INTEGER
from domain.reading.moments import DAY, LogDays

EVENTS = "events"
"""Names the counts of events; the others are named after the keys of COVERED."""

EventCounts = Mapping[tuple[int, str], int]
"""Day since the Unix epoch and kind -> number of events."""
NO_EVENTS: EventCounts = MappingProxyType({})
CoverageStep = tuple[str, str, int, int]
"""Kind, key of COVERED, a position, and what is added there to the number of entities."""
DayCount = tuple[int, str, str, int]
"""A row of `days`: day since the Unix epoch, kind, EVENTS or a key of COVERED, and what the day
adds to the number."""
LiveTotal = tuple[str, str, int, int]
"""Kind, status (or ANY_STATUS), day, and how many live entities there were at the end of it."""

COUNTS = f"""
SELECT day, kind, what, n FROM {{}}.days WHERE day >= ? AND day <= ?
UNION ALL SELECT ?, kind, what, CAST(sum(n) AS bigint) FROM {{}}.days
WHERE day < ? AND what <> '{EVENTS}' GROUP BY kind, what
"""
"""Gives the rows of `days` from the first to the last day, and the coverage before as of one day.
Values: the first day, the last day, the day before the first, the first day."""
LIVE_TOTALS = f"""
WITH ends AS MATERIALIZED (
    SELECT one.value AS day, coalesce((SELECT position FROM {{}}moments
        WHERE at >= (one.value + 1) * {DAY} ORDER BY at LIMIT 1), {MAX_INTEGER}) AS position
    FROM {{days}})
SELECT s.kind, s.status, ends.day, coalesce((SELECT t.n FROM {{}}kind_totals t
    WHERE t.kind = s.kind AND t.deleted = 0 AND t.status = s.status
    AND t.position < ends.position ORDER BY t.position DESC LIMIT 1), 0)
FROM {{series}} CROSS JOIN ends
"""
"""Gives a LiveTotal for each day of `days`, with the column `value`, and each of `series`, with the
columns `kind` and `status`. Entities that are purged by now are counted on the days before."""


class DailyFigures(msgspec.Struct, frozen=True):
    """The counts of some days, from one state of the read model."""

    counts: list[DayCount]
    """The counts of these days; of coverage also the sum of all earlier days, as the day before."""
    totals: list[LiveTotal]


class DayCounts:
    """The numbers that some events add to the rows of `days`."""

    def __init__(self, log_days: LogDays) -> None:
        self._log_days = log_days
        self._counts: Counter[tuple[int, str, str]] = Counter()

    def add_events(self, events: EventCounts) -> None:
        """Add events."""
        for (day, kind), n in events.items():
            self._counts[day, kind, EVENTS] += n

    def add_coverage(self, steps: Iterable[CoverageStep]) -> None:
        """Add changes of coverage, at positions of which `log_days` has the days."""
        for kind, key, position, n in steps:
            self._counts[self._log_days.of(position), kind, key] += n

    @property
    def rows(self) -> list[DayCount]:
        """The numbers to be added to the rows; 0 where changes of one day cancel out."""
        return [(*key, n) for key, n in sorted(self._counts.items())]
