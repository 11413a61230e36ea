"""A catalog with its sorted read model, over real files."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.direct_catalog import DirectCatalog, Outcome
from domain.event_store.opening import open_event_log
from domain.event_store.port import EventStore
from domain.kinds.registry import KINDS
from projections.entities.projection import EntityProjection
from projections.entities.sqlite.model import SqliteReadModel, open_read_model
from projections.feeding.projector import Projector
from tests.projections.read_models import ME, create, opened, step


class Fixture:
    """Writes through the catalog; `project` brings the read model up to date."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.log: EventStore = open_event_log(directory / "events.db")
        self.catalog = DirectCatalog(self.log)
        self.entities: SqliteReadModel = open_read_model(directory / "entities.db")
        self.projector = Projector(EntityProjection(self.entities), self.log, batch_size=100)

    def create(self, kind: str, name: str, **values: Any) -> Outcome:
        return self.catalog.create(KINDS[kind], {"name": name, **values}, ME)

    def patch(self, kind: str, entity_id: str, path: str, value: Any) -> Outcome:
        operation = {"op": "add", "path": path, "value": value}
        return self.catalog.patch(KINDS[kind], entity_id, [operation], ME)

    def delete(self, outcome: Outcome, *, hard: bool = False) -> Outcome:
        kind = KINDS[outcome.entity.kind]
        return self.catalog.delete(kind, outcome.entity.id, ME, hard=hard, recursive=True)

    def schema(self) -> str:
        """A database service, database and schema; returns the schema's qualified name."""
        self.create("databaseService", "service", serviceType="Mysql")
        self.create("database", "database", service="service")
        return self.create("databaseSchema", "schema", database="service.database").entity.fqn

    def table(self, name: str, schema: str = "service.database.schema", **values: Any) -> Outcome:
        columns = values.pop("columns", [{"name": "id", "dataType": "INT"}])
        return self.create("table", name, databaseSchema=schema, columns=columns, **values)

    def contract(self, name: str, table: Outcome, status: str = "Draft") -> Outcome:
        entity = {"id": table.entity.id, "type": "table"}
        return self.create("dataContract", name, entity=entity, entityStatus=status)

    def project(self) -> None:
        while self.projector.step():
            pass

    def close(self) -> None:
        self.entities.close()
        self.log.close()


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Fixture]:
    fixture = Fixture(tmp_path)
    yield fixture
    fixture.close()


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A data directory with three services in generation 1 of each read model."""
    with opened(tmp_path / "data") as stores:
        create(stores, "a", "b", "c")
        step(stores)
    return tmp_path / "data"
