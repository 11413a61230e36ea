"""Activity of the log: changes on each day, and contracts of each status at its end.

Both are counted from the log, in its order, and kept in memory: counts of past events never change,
so each count continues where the one before ended. In another epoch of the log everything is
counted again.
"""

import threading
import time
from collections import Counter

import msgspec

from domain.event_store.port import EventStore
from domain.events import (
    EntityCreated,
    EntityPurged,
    EntityRestored,
    EntitySoftDeleted,
    EntityStatusChanged,
    Event,
)

DAY = 86_400_000
"""Milliseconds of a day."""
MOST_CONTRACTS = 200_000
"""Most contracts whose status is followed in memory; a log with more has no statuses."""
CONTRACT = "dataContract"
BATCH = 1_000
_status = msgspec.json.Decoder(str)


class ActivityCounts(msgspec.Struct, frozen=True):
    """The counts of a log: changes by day and kind, contracts by day and status."""

    position: int
    """Everything up to here is counted."""
    head: int
    """Newest position of the log."""
    changes: dict[int, dict[str, int]]
    """Day since the epoch -> kind -> events."""
    statuses: dict[int, dict[str, int]] | None
    """Day since the epoch -> status -> live contracts at its end, for days on which any of this
    changed; None with too many contracts to follow."""


class Activity:
    """The counts of one log; any thread may use it."""

    def __init__(self, log: EventStore) -> None:
        self._log = log
        self._lock = threading.Lock()
        self._forget()

    def _forget(self) -> None:
        """Begin to count anew."""
        self._epoch = self._log.epoch()
        self._contracts: dict[str, tuple[str, bool]] = {}
        """Id of a contract -> its status, and whether it is live."""
        self._by_status: Counter[str] = Counter()
        self._position = 0
        self._changes: dict[int, Counter[str]] = {}
        self._statuses: dict[int, dict[str, int]] | None = {}

    def count(self, seconds: float) -> ActivityCounts:
        """Continue counting for some seconds, or to the end of the log; returns the counts so far.

        Waits while another thread counts. Raises StoreUnavailable.
        """
        with self._lock:
            deadline = time.monotonic() + seconds
            head = self._log.head()
            while self._position < head or self._log.epoch() != self._epoch:
                if self._log.epoch() != self._epoch:
                    self._forget()
                    head = self._log.head()
                batch = self._log.read(self._position, BATCH, head)
                for recorded in batch:
                    self._add(recorded.entity_id, recorded.event)
                self._position = batch[-1].position if batch else head
                if time.monotonic() >= deadline:
                    break
            return ActivityCounts(
                self._position,
                head,
                {day: dict(kinds) for day, kinds in self._changes.items()},
                None if self._statuses is None else dict(self._statuses),
            )

    def _add(self, entity_id: str, event: Event) -> None:
        day = event.at // DAY
        self._changes.setdefault(day, Counter())[event.kind] += 1
        if event.kind != CONTRACT or self._statuses is None:
            return
        status, live = self._contracts.get(entity_id, ("", False))
        if live:
            self._by_status[status] -= 1
        match event:
            case EntityCreated():
                status, live = _status.decode(event.body["entityStatus"]), True
            case EntityStatusChanged():
                status = event.status
            case EntitySoftDeleted() | EntityPurged():
                live = False
            case EntityRestored():
                live = True
        if live:
            self._by_status[status] += 1
        if isinstance(event, EntityPurged):
            self._contracts.pop(entity_id, None)
        else:
            self._contracts[entity_id] = status, live
        self._statuses[day] = {name: n for name, n in self._by_status.items() if n}
        if len(self._contracts) > MOST_CONTRACTS:
            self._statuses = None
            self._contracts.clear()
