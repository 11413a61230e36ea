"""A catalog with both read models, verified as the command verifies it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from domain.reading.horizon import Horizon
from projections.entities.verification_source import stored_entities
from projections.feeding.projector import Projector
from projections.search.index.engine import WhooshEngine
from projections.search.projection import SearchProjection
from projections.search.verification_source import sorted_entries
from projections.verification.report import Verification
from projections.verification.run import Request, verify
from tests.projections.conftest import Fixture

NOW = 4_000_000_000_000


class Verified(Fixture):
    """Some entities of which one is soft-deleted and one purged; `verify` compares everything."""

    horizon = Horizon()
    """The one to which a test has moved the read models."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.engine = WhooshEngine.open(directory / "search")
        self.indexer = Projector(SearchProjection(self.engine), self.log, batch_size=100)

    def fill(self) -> None:
        self.schema()
        self.orders = self.table("orders", description="all orders")
        self.contract("first", self.orders, status="Active")
        database = {"type": "database", "fullyQualifiedName": "service.database"}
        self.create("dataContract", "second", entity=database)
        self.delete(self.table("dropped"))
        self.delete(self.table("gone"), hard=True)
        self.index()

    def index(self) -> None:
        self.project()
        while self.indexer.step():
            pass

    def verify(self, **request: Any) -> Verification:
        subjects = {
            "entities": lambda: stored_entities(self.entities, self.log),
            "search": lambda: sorted_entries(self.engine, self.log),
        }
        return verify(self.log, subjects, Request(now=NOW, **request))

    def edit(self, statement: str, *parameters: Any) -> None:
        """Change the sorted read model behind the back of its projection."""
        with self.entities.database.transaction() as connection:
            assert connection.execute(statement, parameters).rowcount == 1

    def close(self) -> None:
        self.engine.close()
        super().close()


@pytest.fixture
def filled(tmp_path: Path) -> Iterator[Verified]:
    fixture = Verified(tmp_path)
    fixture.fill()
    yield fixture
    fixture.close()
