"""Hosts over one log: what each has open, and what its clients, readers and projector do there."""

import random
from collections.abc import Callable
from typing import Protocol, TypedDict
from uuid import UUID

import msgspec

from benchmarks.direct_catalog import DirectCatalog
from benchmarks.histories.record import Head, Json, Read, Record, Row, Stream, View
from benchmarks.histories.scheduling import Schedule, point, quiet
from benchmarks.histories.stepped_log import stepped
from domain.errors import StoreUnavailable
from domain.event_store.entity_reads import RecordedEvent
from domain.event_store.port import EventStore
from domain.events import TYPE_NAMES
from projections.feeding.daemon import Steps

_READS = 6
"""Reads of a reader in each life of its host."""
_STEPS = 12
"""Steps that a projector takes at least while its host lives."""


class _Asked(TypedDict):
    actor: str
    began: int


class Feeder(Steps, Protocol):
    """Actor that feeds a read model on one host."""

    def close(self) -> None:
        """Leave the read model as a host does that is stopped."""

    def drop(self) -> None:
        """Let go of what a process that is killed lets go of."""


class Rig(Protocol):
    """A database for one history, with its faults."""

    def open_log(self, host: str) -> EventStore:
        """The log, opened by a host."""

    def drop_log(self, log: EventStore) -> None:
        """Let go of a log as a process does that is killed."""

    def feeder(self, host: str, log: EventStore) -> Feeder | None:
        """Return the actor that feeds the read model on a host; None where another host does."""

    def view(self) -> tuple[int, dict[str, Json], dict[tuple[str, bool], int]] | None:
        """Checkpoint, rows and totals of the read model that lists read; None without one."""


class Clock:
    """Milliseconds that pass by one whenever they are asked for: the same for each run."""

    def __init__(self) -> None:
        self._now = 1_700_000_000_000

    def __call__(self) -> int:
        self._now += 1
        return self._now


class Host:
    """A process that serves the catalog, from its start to its end."""

    def __init__(self, name: str, rig: Rig, rng: random.Random, clock: Clock) -> None:
        self.name = name
        self._rig = rig
        self.log = rig.open_log(name)
        self.stepped, self.steps = stepped(self.log)
        self.catalog = DirectCatalog(
            self.stepped,
            now=clock,
            make_id=lambda: str(UUID(int=rng.getrandbits(128), version=4)),
        )
        self.feeder = rig.feeder(name, self.stepped)

    def close(self) -> None:
        """End the process in order."""
        if self.feeder is not None:
            self.feeder.close()
        self.log.close()

    def drop(self) -> None:
        """End the process as by a kill."""
        if self.feeder is not None:
            self.feeder.drop()
        self._rig.drop_log(self.log)


class Readers:
    """Those who only read, on any host; `is_writing` says whether there is still anything new."""

    def __init__(
        self, record: Record, schedule: Schedule, rig: Rig, is_writing: Callable[[], bool]
    ) -> None:
        self._record = record
        self._schedule = schedule
        self._rig = rig
        self._is_writing = is_writing

    def read(self, host: Host, rng: random.Random) -> None:
        """Read the log, its head and streams again and again, at random places."""
        name, known = f"{host.name} reader", [0]
        for _ in range(_READS):
            began = self._schedule.step
            moment: _Asked = {"actor": name, "began": began}
            try:
                what = rng.random()
                if what < 0.6:
                    after = rng.choice(known)
                    events = host.stepped.read(after, rng.choice((1, 3, 100)))
                    rows = [*map(as_row, events)]
                    read = Read(**moment, ended=self._schedule.step, after=after, rows=rows)
                    self._record.reads.append(read)
                    known += [row[0] for row in rows[-1:]]
                elif what < 0.8:
                    self._read_a_stream(host, rng, moment)
                else:
                    head = host.stepped.head()
                    self._record.heads.append(
                        Head(**moment, ended=self._schedule.step, position=head)
                    )
            except StoreUnavailable as error:
                self._schedule.note(f"{name} cannot read: {error.message}")
                point("reads again")

    def _read_a_stream(self, host: Host, rng: random.Random, moment: _Asked) -> None:
        stored = [write.entity["id"] for write in self._record.writes if write.entity]
        if not stored:
            return
        entity_id = rng.choice(stored)
        rows = [*map(as_row, host.stepped.stream(entity_id))]
        self._record.streams.append(
            Stream(**moment, ended=self._schedule.step, entity_id=entity_id, rows=rows)
        )

    def feed(self, host: Host) -> None:
        """Step what feeds the read model, and look at that after each step."""
        feeder, step = host.feeder, 0
        assert feeder is not None
        while step < _STEPS or self._is_writing():
            step += 1
            began = self._schedule.step
            try:
                done = feeder.step()
            except StoreUnavailable as error:
                self._schedule.note(f"{host.name} cannot feed: {error.message}")
            else:
                if done:
                    with quiet():
                        self._look(host.name, began)
            point(f"feeds, step {step}")

    def _look(self, host: str, began: int) -> None:
        if (view := self.last_view(host, began)) is not None:
            self._record.views.append(view)

    def last_view(self, host: str, began: int) -> View | None:
        """The read model as it is now."""
        seen = self._rig.view()
        if seen is None:
            return None
        checkpoint, rows, totals = seen
        return View(
            actor=host,
            began=began,
            ended=self._schedule.step,
            checkpoint=checkpoint,
            rows=rows,
            totals=totals,
        )


def as_row(recorded: RecordedEvent) -> Row:
    """An event that a reader was given, as plain JSON."""
    event = recorded.event
    payload = msgspec.json.decode(msgspec.json.encode(event))
    name = TYPE_NAMES[type(event)]
    return recorded.position, recorded.entity_id, recorded.stream_version, name, payload
