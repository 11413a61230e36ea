"""Two processes that feed one read model: none takes back what the other one has committed."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from domain.errors import StoreUnavailable
from domain.event_store.entity_reads import RecordedEvent
from domain.kinds.registry import KINDS
from projections.entities.projection import EntityProjection
from projections.entities.sqlite.model import open_read_model
from projections.feeding.port import Folded, Note, Projection
from projections.feeding.projector import Projector
from projections.search.index.engine import WhooshEngine
from projections.search.projection import SearchProjection
from tests.projections.conftest import Fixture
from tests.projections.read_models import EVERYTHING, ME

Stored = Callable[[], Any]
"""Tells all that a read model stores."""


@contextmanager
def open_list(path: Path) -> Iterator[tuple[Projection, Stored]]:
    with closing(open_read_model(path)) as model:

        def stored() -> Any:
            with model.snapshot() as snapshot:
                return snapshot.position, [*snapshot.entities(None)], snapshot.digests()

        yield EntityProjection(model), stored


@contextmanager
def open_index(path: Path) -> Iterator[tuple[Projection, Stored]]:
    with closing(WhooshEngine.open(path)) as engine:

        def stored() -> Any:
            with engine.snapshot() as snapshot:
                hits = sorted(hit.id for hit in engine.search(EVERYTHING).hits)
                return snapshot.checkpoint[0], sorted(snapshot.entries()), hits

        yield SearchProjection(engine), stored


class Paused:
    """A projection before whose first commit something else happens."""

    def __init__(self, projection: Projection, meanwhile: Callable[[], object]) -> None:
        self.name = projection.name
        self._projection = projection
        self._meanwhile: list[Callable[[], object]] = [meanwhile]

    def checkpoint_and_fingerprint(self) -> tuple[int, str]:
        return self._projection.checkpoint_and_fingerprint()

    def begin(self, batch: Sequence[RecordedEvent]) -> Note | None:
        return self._projection.begin(batch)

    def apply(self, entities: Mapping[str, Folded], *commit: Any, **options: Any) -> None:
        while self._meanwhile:
            self._meanwhile.pop()()
        self._projection.apply(entities, *commit, **options)


def catch_up(projection: Projection, catalog: Fixture) -> Projector:
    projector = Projector(projection, catalog.log, batch_size=100)
    while projector.step():
        pass
    return projector


@pytest.mark.parametrize("opened", [open_list, open_index])
def test_projector_that_was_overtaken_takes_nothing_back(
    catalog: Fixture, tmp_path: Path, opened: Any
) -> None:
    kind = KINDS["databaseService"]
    service = catalog.create(kind.name, "first", serviceType="Mysql").entity
    with opened(tmp_path / "shared") as (mine, _), opened(tmp_path / "shared") as (theirs, stored):

        def overtake() -> None:
            patch = [{"op": "add", "path": "/description", "value": "changed"}]
            catalog.catalog.patch(kind, service.id, patch, ME)
            catch_up(theirs, catalog)

        overtaken = Projector(Paused(mine, overtake), catalog.log, batch_size=1)
        with pytest.raises(StoreUnavailable, match="another process feeds the"):
            overtaken.step()
        catalog.create(kind.name, "second", serviceType="Mysql")
        while overtaken.step():
            pass

        with opened(tmp_path / "alone") as (alone, replayed):
            catch_up(alone, catalog)
            assert stored() == replayed()


@pytest.mark.parametrize("opened", [open_list, open_index])
def test_projector_that_dies_after_it_was_overtaken_leaves_what_the_log_gives(
    catalog: Fixture, tmp_path: Path, opened: Any
) -> None:
    kind = KINDS["databaseService"]
    service = catalog.create(kind.name, "first", serviceType="Mysql").entity
    with opened(tmp_path / "shared") as (mine, _), opened(tmp_path / "shared") as (theirs, stored):
        leading: list[Projector] = []

        def overtake() -> None:
            patch = [{"op": "add", "path": "/description", "value": "changed"}]
            catalog.catalog.patch(kind, service.id, patch, ME)
            leading.append(catch_up(theirs, catalog))

        dying = Projector(Paused(mine, overtake), catalog.log, batch_size=1)
        with suppress(StoreUnavailable):
            dying.step()
        catalog.create(kind.name, "second", serviceType="Mysql")
        leading[0].step()

        with opened(tmp_path / "alone") as (alone, replayed):
            catch_up(alone, catalog)
            assert stored() == replayed()
