"""A catalog over a real file, with a clock and request ids that count."""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.direct_catalog import DirectCatalog, Outcome
from domain.aggregate.entity import Entity
from domain.contracts.changes.rules import Perspective
from domain.event_store.opening import open_event_log
from domain.event_store.port import EventStore
from domain.events import EVENT_TYPES
from domain.importing.readers import LineReaders, line_readers
from domain.kinds.registry import KINDS
from domain.write_context import WriteContext

_TYPE_NAMES = {event_type: name for name, event_type in EVENT_TYPES.items()}


class World:
    """A catalog with short forms of what tests do to it; each write is a request of its own."""

    def __init__(self, path: Path, gate: Perspective | None = None) -> None:
        self.path = path
        self.log: EventStore = open_event_log(path)
        self._clock = itertools.count(1_000)
        self._requests = itertools.count(1)
        self.on_clock: Callable[[], object] = int
        """Called whenever the catalog reads the clock, which is after it read the log."""
        self.catalog = DirectCatalog(self.log, now=self.now, gate=gate)

    def now(self) -> int:
        self.on_clock()
        return next(self._clock)

    def context(self, **values: Any) -> WriteContext:
        return WriteContext(**{"actor": "ann", "request_id": f"r{next(self._requests)}"} | values)

    def create(self, kind: str, name: str, **values: Any) -> Entity:
        given = {"name": name, **values}
        return self.catalog.create(KINDS[kind], given, self.context()).entity

    def put(
        self, kind: str, name: str, context: WriteContext | None = None, **values: Any
    ) -> Outcome:
        return self.catalog.put(KINDS[kind], {"name": name, **values}, context or self.context())

    def patch(
        self, entity: Entity, *patch: dict[str, Any], context: WriteContext | None = None
    ) -> Outcome:
        kind = KINDS[entity.kind]
        return self.catalog.patch(kind, entity.id, patch, context or self.context())

    def delete(
        self,
        entity: Entity,
        *,
        hard: bool = False,
        recursive: bool = False,
        context: WriteContext | None = None,
    ) -> Outcome:
        return self.catalog.delete(
            KINDS[entity.kind],
            entity.id,
            context or self.context(),
            hard=hard,
            recursive=recursive,
        )

    def restore(self, entity: Entity, context: WriteContext | None = None) -> Outcome:
        return self.catalog.restore(KINDS[entity.kind], entity.id, context or self.context())

    def schema(self) -> Entity:
        """A database service, database and schema; the schema is `service.database.schema`."""
        self.create("databaseService", "service", serviceType="Mysql")
        self.create("database", "database", service="service")
        return self.create("databaseSchema", "schema", database="service.database")

    def table(self, name: str, **values: Any) -> Entity:
        columns = [{"name": "id", "dataType": "INT"}]
        values = {"databaseSchema": "service.database.schema", "columns": columns} | values
        return self.create("table", name, **values)

    def contract(self, name: str, entity: Entity, **values: Any) -> Entity:
        reference = {"id": entity.id, "type": entity.kind}
        return self.create("dataContract", name, entity=reference, **values)

    def events(self, after: int = 0) -> list[tuple[str, str]]:
        """(type name, name of the entity) of each event in the log."""
        names: dict[str, str] = {}
        found = []
        for recorded in self.log.read(0, 10_000):
            event = recorded.event
            names.setdefault(recorded.entity_id, getattr(event, "name", ""))
            if recorded.position > after:
                found.append((_TYPE_NAMES[type(event)], names[recorded.entity_id]))
        return found

    def lives(self) -> dict[str, bool]:
        """Qualified name -> whether it is live, for every name that is claimed."""
        ids = {recorded.entity_id for recorded in self.log.read(0, 10_000)}
        claims = [claim for entity_id in ids if (claim := self.log.claim_by_id(entity_id))]
        return {claim.fqn: not claim.deleted for claim in claims}


@pytest.fixture(scope="module")
def readers() -> Iterator[LineReaders]:
    """Processes that read the lines of imports."""
    with line_readers() as readers:
        yield readers


@pytest.fixture
def open_world(tmp_path: Path) -> Iterator[Callable[[], World]]:
    """Opens the same catalog anew at each call, as another process would."""
    opened: list[World] = []

    def open_one() -> World:
        opened.append(World(tmp_path / "events.db"))
        return opened[-1]

    yield open_one
    for world in opened:
        world.log.close()


@pytest.fixture
def world(open_world: Callable[[], World]) -> World:
    return open_world()
