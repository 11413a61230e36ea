"""Events that were taken lately, so that the same once more costs next to nothing.

An event that says what another has said is answered as that one was, unless anything has changed
since on which the answer rests. The log tells what has changed.
"""

import threading
from collections import OrderedDict
from collections.abc import Collection

from msgspec import Struct

from domain.edges import EDGE
from domain.event_store.port import EventStore
from domain.openlineage.pipelines import PIPELINE
from domain.openlineage.quality import CASE

_MOST, MOST_BYTES = 20_000, 16_000_000
"""Events that are remembered, and bytes that they take together."""
_ID_BYTES = 100
"""Bytes that each id of an entity takes."""
_MOST_IDS = 200_000
"""Entities whose last change is known by its position."""
_MOST_READ = 200
"""Events of the log that are read at once; after more, nothing is remembered any more."""

_MADE_HERE = (EDGE, PIPELINE.name, CASE.name)
"""Kinds that no dataset is and that no dataset's name depends on, which events make here."""

Key = tuple[object, bytes]
"""Caller, rights and rules, on which the answer depends, and a digest of the event."""


class Taken(Struct, frozen=True):
    """The answer to an event, and the state of the catalog that it rests on."""

    answer: bytes
    position: int
    """Position in the log up to which the answer has taken account of all events."""
    concerned: Collection[str] = ()
    """Ids of the entities on whose present state the answer rests."""
    misses: bool = False
    """True if a dataset of the event is missing: any new entity may be that dataset."""

    @property
    def size(self) -> int:
        """Bytes that the remembered answer takes, approximately."""
        return len(self.answer) + _ID_BYTES * (len(self.concerned) + 2)


class RememberedEvents:
    """The events taken lately by this process; any thread may ask."""

    def __init__(self, log: EventStore, most_bytes: int = MOST_BYTES) -> None:
        self._log = log
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._taken: OrderedDict[Key, Taken] = OrderedDict()
        self._bytes = 0
        self._changed: dict[str, int] = {}
        self._head = -1
        self._epoch: int | None = None
        self._floor = 0
        """Position in the log from which on all changes of entities are known here."""
        self._made = 0
        """Position of the last event that may have created a missing dataset."""

    def is_current(self) -> bool:
        """True if nothing was appended since the last `follow`; a log in a file says so in
        microseconds.

        Raises StoreUnavailable.
        """
        return self._log.epoch() == self._epoch and self._log.head() == self._head

    def follow(self) -> int:
        """Note changes since the last call; returns the log's head. Raises StoreUnavailable."""
        epoch, head = self._log.epoch(), self._log.head()
        with self._lock:
            if epoch != self._epoch or self._head < 0 or head < self._head:
                self._forget(epoch, head)
            elif head > self._head:
                self._read_on(epoch, head)
            return self._head

    def get(self, key: Key) -> bytes | None:
        """The answer to an event, as far as `follow` knows; None for one that is not remembered."""
        with self._lock:
            taken = self._taken.get(key)
            if taken is None:
                return None
            if (taken.misses and self._made > taken.position) or any(
                self._changed.get(id_, 0) > taken.position for id_ in taken.concerned
            ):
                self._drop(key)
                return None
            self._taken.move_to_end(key)
            return taken.answer

    def keep(self, key: Key, taken: Taken) -> None:
        """Remember an answer, unless the changes since its position are not known any more."""
        with self._lock:
            if taken.position < self._floor:
                return
            self._drop(key)
            self._taken[key] = taken
            self._bytes += taken.size
            while len(self._taken) > _MOST or self._bytes > self._most_bytes:
                self._drop(next(iter(self._taken)))

    def _drop(self, key: Key) -> None:
        dropped = self._taken.pop(key, None)
        if dropped is not None:
            self._bytes -= dropped.size

    def _forget(self, epoch: int, head: int) -> None:
        self._taken.clear()
        self._bytes = 0
        self._changed.clear()
        self._epoch, self._head, self._floor = epoch, head, head

    def _read_on(self, epoch: int, head: int) -> None:
        events = self._log.read(self._head, _MOST_READ, head)
        if (events and events[-1].position < head) or len(self._changed) > _MOST_IDS:
            self._forget(epoch, head)
            return
        for each in events:
            self._changed[each.entity_id] = each.position
            if each.event.kind not in _MADE_HERE:
                self._made = each.position
        self._head = head
