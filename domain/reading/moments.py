"""Moments of the log: the position at which the catalog stood at a time.

Clocks of hosts differ, so events need not be in the order of their times. What counts is the
greatest time so far: as of a time, the log ends before the first event that is later. So a moment
is final once there is a later event, whatever is appended afterwards.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import takewhile

import msgspec

from domain.event_store.entity_reads import RecordedEvent
from domain.event_store.port import EventStore

DAY = 86_400_000
"""Milliseconds of a day."""
Moment = tuple[int, int]
"""Time of an event, in milliseconds since the Unix epoch, that is later than those of all events
before it; and the event's position."""


class _Timed(msgspec.Struct):
    at: int


_timed = msgspec.json.Decoder(_Timed)


class LogDays:
    """The days on which the log stood: at each position the day of the greatest time so far."""

    def __init__(self, moments: Iterable[Moment] = ()) -> None:
        self._positions: list[int] = []
        """Position at which each of the days began."""
        self._days: list[int] = []
        for moment in moments:
            self._add(moment)

    def noting(self, moments: Iterable[Moment]) -> Iterator[Moment]:
        """Go through moments in log order, and take note of the days that begin."""
        for moment in moments:
            self._add(moment)
            yield moment

    def of(self, position: int) -> int:
        """The day since the Unix epoch at a position, which must not come before all moments."""
        place = bisect_right(self._positions, position)
        assert place, f"no moment is known up to position {position}"
        return self._days[place - 1]

    def _add(self, moment: Moment) -> None:
        at, position = moment
        if not self._days or at // DAY > self._days[-1]:
            self._positions.append(position)
            self._days.append(at // DAY)


def time_at(log: EventStore, position: int) -> int:
    """The time of the last event up to a position, in ms since the Unix epoch; 0 without one."""
    newest = log.read(0, 1, position, newest_first=True)
    return newest[0].event.at if newest else 0


def moments_of(events: Iterable[RecordedEvent]) -> Iterator[Moment]:
    """The moments of events in log order, as far as these alone tell."""
    return _rising((recorded.event.at, recorded.position) for recorded in events)


def recorded_moments(log: EventStore, upto: int) -> Iterator[Moment]:
    """All moments of a log up to a position; reads as it goes, and raises StoreUnavailable."""
    with log.snapshot() as snapshot:
        rows = takewhile(lambda row: row[-1] <= upto, snapshot.events())
        yield from _rising((_timed.decode(row[3]).at, row[-1]) for row in rows)


def _rising(times: Iterable[Moment]) -> Iterator[Moment]:
    greatest: int | None = None
    for at, position in times:
        if greatest is None or at > greatest:
            greatest = at
            yield at, position
