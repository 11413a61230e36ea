"""Data directories with generated catalogs, made once in a run and thrown away after it."""

import itertools
import time
from collections.abc import Iterable
from pathlib import Path

from benchmarks.generate import contracts, plain_contracts
from domain.event_store.opening import open_event_log
from domain.event_store.port import EventStore
from domain.importing.bulk_import import BulkImport
from domain.importing.lines import Chunk, batches
from domain.write_context import WriteContext
from projections.generations.building import build
from projections.generations.folder import FolderLeadership
from projections.generations.switching import switch
from projections.wiring.local_read_models import entities_definition
from projections.wiring.stores import Stores

EVENTS_PER_COMMIT = 5_000
ENTITIES = "entities-1.db"
"""The sorted read model of a data directory made here."""


class Workspace:
    """A directory to work in, and the data directories made there so far."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._numbers = itertools.count(1)
        self._contracts: dict[tuple[int, bool], Path] = {}

    def fresh(self) -> Path:
        """A new, empty directory."""
        path = self._directory / str(next(self._numbers))
        path.mkdir()
        return path

    def generated(self, generated: Iterable[bytes]) -> Path:
        """A file of generated lines."""
        path = self.fresh() / "generated.jsonl"
        with path.open("wb") as file:
            file.writelines(generated)
        return path

    def contracts(self, count: int, *, plain: bool = False) -> Path:
        """A data directory with this many contracts in the log and in the sorted read model."""
        if (count, plain) not in self._contracts:
            directory = self.fresh()
            log = open_event_log(directory / "events.db")
            load(log, plain_contracts(count) if plain else contracts(count))
            definition = entities_definition(directory)
            generation = build(definition, log, lambda done, total: None).generation
            switch(definition, log, generation, directory, FolderLeadership(directory))
            log.close()
            self._contracts[count, plain] = directory
        return self._contracts[count, plain]


def load(log: EventStore, generated: Iterable[bytes]) -> int:
    """Import generated lines, all of which must be good; returns the number of events."""
    loader = BulkImport(
        log,
        WriteContext(actor="benchmark", request_id="benchmark"),
        now=lambda: time.time_ns() // 1_000_000,
    )
    events = 0
    for group in batches(generated):
        batch = loader.load(Chunk(group))
        assert not batch.bad, batch.bad[0]
        events += batch.events
    return events


def catch_up(stores: Stores) -> None:
    """Bring every read model to the head of the log, as a running server does."""
    for supervisor in stores.supervisors:
        while supervisor.step():
            pass
