"""A real event store whose place an older copy of it takes, as a server's may be taken."""

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from domain.event_store.entity_reads import RENAME_BITS, RecordedEvent
from domain.event_store.opening import open_event_log
from domain.event_store.port import EventStore
from domain.event_store.writes import Append, Expectations, Refusal


class ReplacedStore:
    """Passes calls on to the store that is there now; each one has an epoch of its own."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.store: EventStore = open_event_log(path)
        self._epoch = 0
        self.before: dict[str, list[Callable[[], object]]] = {}
        """Method -> what is done before each of its next calls."""

    def __getattr__(self, name: str) -> Any:
        for action in self.before.get(name, [])[:1]:
            self.before[name].pop(0)
            action()
        return getattr(self.store, name)

    def epoch(self) -> int:
        return self._epoch

    def copy(self, name: str) -> Path:
        """Make a copy of what is there now."""
        target = self.path.with_name(name)
        with closing(sqlite3.connect(self.path)) as ours, closing(sqlite3.connect(target)) as copy:
            ours.backup(copy)
        return target

    def put_back(self, copy: Path) -> None:
        """Go on from a copy, in a new epoch."""
        self.store.close()
        self.store, self._epoch = open_event_log(copy), self._epoch + (1 << RENAME_BITS)

    def append_group(self, appends: Sequence[Append]) -> list[int | Refusal]:
        return self.store.append_group([replace(each, epoch=self._own(each)) for each in appends])

    def append(self, recorded: Sequence[RecordedEvent], epoch: int, expecting: Expectations) -> int:
        return self.store.append(recorded, expecting=expecting, epoch=self._own_epoch(epoch))

    def _own(self, append: Append) -> int | None:
        return None if append.epoch is None else self._own_epoch(append.epoch)

    def _own_epoch(self, epoch: int) -> int:
        """An epoch in the numbers of the store that is there now."""
        return self.store.epoch() + epoch - self._epoch
