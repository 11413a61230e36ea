"""The counts of days that a read model keeps, held against a replay of the log."""

from collections import Counter
from collections.abc import Iterator

from domain.aggregate.entity import Entity
from domain.reading.moments import DAY, LogDays
from projections.entities.daily_counts import DayCounts
from projections.entities.port import EntitySnapshot
from projections.entities.replaced_states import coverage_steps
from projections.entities.stored_entity import covered_by
from projections.verification.report import Difference, FieldPair


class DayReplay:
    """Counts what `follow` is called with, which may come in any order of entities."""

    def __init__(self, snapshot: EntitySnapshot) -> None:
        self._snapshot = snapshot
        # The moments that are stored are held against the log themselves. Where the first ones are
        # missing, each position must have a day all the same.
        self._counts = DayCounts(LogDays([(0, 0), *snapshot.moments()]))
        self._events: Counter[tuple[int, str]] = Counter()

    def follow(self, position: int, at: int, before: Entity | None, after: Entity) -> None:
        """Count an event, unless it comes after the checkpoint; see `Follow`."""
        if position <= self._snapshot.position:
            self._events[at // DAY, after.kind] += 1
            covered, now = 0 if before is None else covered_by(before), covered_by(after)
            if covered != now:
                self._counts.add_coverage(coverage_steps(after.kind, covered, now, position))

    def differences(self) -> Iterator[Difference]:
        """Yield the counts that differ, once all events were followed."""
        self._counts.add_events(self._events)
        due, held = (
            {row[:3]: row[3] for row in rows} for rows in (self._counts.rows, self._snapshot.days())
        )
        for day, kind, what in sorted(due.keys() | held.keys()):
            n, held_n = (each.get((day, kind, what), 0) for each in (due, held))
            if n != held_n:
                yield Difference(
                    "past", kind, "", f"{what} of day {day}", [FieldPair("n", n, held_n)]
                )
