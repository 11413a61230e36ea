"""Moments of the log: the position at which the catalog stood at a time.

Clocks of hosts differ, so events need not be in the order of their times. What counts is the
greatest time so far: as of a time, the log ends before the first event that is later. So a moment
is final once there is a later event, whatever is appended afterwards.
"""

from collections.abc import Iterable, Iterator
from itertools import takewhile

import msgspec

from domain.event_store.entity_reads import RecordedEvent
from domain.event_store.port import EventStore

Moment = tuple[int, int]
"""Time of an event, in milliseconds since the Unix epoch, that is later than those of all events
before it; and the event's position."""


class _Timed(msgspec.Struct):
    at: int


_timed = msgspec.json.Decoder(_Timed)


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
