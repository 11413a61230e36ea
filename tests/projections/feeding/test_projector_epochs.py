"""A projector goes on from what the log has, when an older copy of it has taken its place."""

from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from benchmarks.direct_catalog import DirectCatalog
from domain.errors import StoreUnavailable
from domain.kinds.registry import KINDS
from domain.write_context import WriteContext
from projections.entities.projection import EntityProjection
from projections.entities.sqlite.model import SqliteReadModel, open_read_model
from projections.feeding.port import Folded
from projections.feeding.projector import Projector
from tests.domain.replaced_store import ReplacedStore

SERVICE = KINDS["databaseService"]


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Any]:
    log = ReplacedStore(tmp_path / "events.db")
    yield log
    log.close()


@pytest.fixture
def model(tmp_path: Path) -> Iterator[SqliteReadModel]:
    with closing(open_read_model(tmp_path / "entities.db")) as model:
        yield model


def put(log: Any, **values: Any) -> str:
    given = {"name": "s", "serviceType": "Mysql", **values}
    context = WriteContext(actor="ann", request_id="r")
    return DirectCatalog(log, now=lambda: 1).put(SERVICE, given, context).entity.id


class FailingOnce(EntityProjection):
    """A projection whose next commit fails before it has changed anything."""

    fails = False

    def apply(self, entities: Mapping[str, Folded], *commit: Any, **options: Any) -> None:
        if self.fails:
            self.fails = False
            raise StoreUnavailable("nothing was committed")
        super().apply(entities, *commit, **options)


def described(model: SqliteReadModel, entity_id: str) -> tuple[bool, bool]:
    """True if the read model shows the lost description, and the display name."""
    document = model.documents([entity_id])[entity_id]
    return b"lost" in document, b"Shown" in document


def test_state_that_was_lost_is_not_folded_on(log: Any, model: SqliteReadModel) -> None:
    entity_id = put(log)
    projection = FailingOnce(model)
    ours, theirs = Projector(projection, log, batch_size=1), EntityProjection(model)
    assert ours.step() == 1
    older = log.copy("older.db")
    put(log, description="lost")
    projection.fails = True
    with pytest.raises(StoreUnavailable, match="nothing was committed"):
        ours.step()
    log.put_back(older)
    put(log, displayName="Shown")
    assert Projector(theirs, log, batch_size=1).step() == 1
    put(log, tags=[])
    put(log, description="new")

    while ours.step():
        pass

    assert model.checkpoint() == log.head() == 3
    assert described(model, entity_id) == (False, True)


def test_log_that_is_replaced_while_it_is_folded_is_read_again(
    log: Any, model: SqliteReadModel
) -> None:
    older = log.copy("older.db")
    put(log)
    entity_id = put(log, description="lost")
    Projector(EntityProjection(model), log, batch_size=1).step()
    ours = Projector(EntityProjection(model), log, batch_size=1)
    log.before["streams"] = [lambda: log.put_back(older)]

    with pytest.raises(StoreUnavailable, match="started anew"):
        ours.step()

    assert b"lost" not in model.documents([entity_id])[entity_id]
    assert model.checkpoint() == 1


def test_rename_while_events_are_folded_does_not_stop_them(
    log: Any, model: SqliteReadModel
) -> None:
    store, context = log.store, WriteContext(actor="ann", request_id="r")
    catalog, kind = DirectCatalog(store, now=lambda: 2), KINDS["domain"]
    values = {"name": "d", "domainType": "Aggregate", "description": "A domain."}
    domain_id = catalog.put(kind, values, context).entity.id
    put(store)
    put(store, displayName="Shown")
    earlier = Projector(EntityProjection(model), store, batch_size=1)
    assert earlier.step() + earlier.step() == 2
    # Epochs are those of the store itself, which renames change.
    log.epoch = store.epoch
    ours = Projector(EntityProjection(model), log, batch_size=1)
    rename = [{"op": "replace", "path": "/name", "value": "renamed"}]
    epoch = store.epoch()
    log.before["streams"] = [lambda: catalog.patch(kind, domain_id, rename, context)]

    assert ours.step() == 1
    assert store.epoch() != epoch
    assert ours.step() == 1

    assert model.checkpoint() == store.head() == 4
    assert b'"renamed"' in model.documents([domain_id])[domain_id]
