"""Events just appended are handed to the projector, which then need not read the log."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.direct_catalog import DirectCatalog
from domain.event_store.port import EventStore
from domain.event_store.writes import Append, Refusal, StoredAppend
from domain.kinds.registry import KINDS
from projections.entities.projection import EntityProjection
from projections.entities.sqlite.model import open_read_model
from projections.feeding.projector import AT_ONCE_BYTES, Projector
from tests.domain.counted_store import CountedStore
from tests.projections.conftest import Fixture
from tests.projections.entities.test_projection import dump, operations, perform
from tests.projections.read_models import ME

TABLE = KINDS["table"]


class Handing:
    """A log that hands each append to a projector, but for those whose numbers are left out."""

    def __init__(
        self, store: EventStore, projector: Projector, left_out: frozenset[int] = frozenset()
    ) -> None:
        self._store = store
        self._projector = projector
        self._left_out = left_out
        self._appended = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def append_group(self, appends: Sequence[Append]) -> list[int | Refusal]:
        results = self._store.append_group(appends)
        self._appended += 1
        if self._appended not in self._left_out:
            stored = [
                StoredAppend(append, result)
                for append, result in zip(appends, results, strict=True)
                if isinstance(result, int)
            ]
            if not self._projector.step_at_once(stored):
                self._projector.step()
        return results


def handing(fixture: Fixture, projector: Projector, *left_out: int) -> DirectCatalog:
    return DirectCatalog(Handing(fixture.log, projector, frozenset(left_out)))  # type: ignore[arg-type]


def replayed(fixture: Fixture) -> dict[str, list[Any]]:
    """Return the contents that the sorted read model has when it reads all of the log."""
    model = open_read_model(fixture.directory / "replayed.db")
    projector = Projector(EntityProjection(model), fixture.log, batch_size=7)
    while projector.step():
        pass
    rows = dump(model)
    model.close()
    return rows


def describe(catalog: DirectCatalog, entity_id: str, text: str) -> None:
    patch = [{"op": "add", "path": "/columns/0/description", "value": text}]
    catalog.patch(TABLE, entity_id, patch, ME)


@settings(max_examples=25, deadline=None)
@given(changes=operations, left_out=st.frozensets(st.integers(1, 40)))
def test_states_that_are_handed_over_are_those_of_a_replay(
    tmp_path_factory: pytest.TempPathFactory,
    changes: list[tuple[str, int]],
    left_out: frozenset[int],
) -> None:
    fixture = Fixture(tmp_path_factory.mktemp("handed"))
    fixture.catalog = handing(fixture, fixture.projector, *left_out)
    fixture.schema()
    perform(fixture, changes)
    table = fixture.table("described").entity
    for text in ("a", 'b\u2028"', ""):
        describe(fixture.catalog, table.id, text)
    fixture.project()
    assert dump(fixture.entities) == replayed(fixture)
    fixture.close()


def test_events_that_are_handed_over_are_not_read(catalog: Fixture) -> None:
    catalog.schema()
    table = catalog.table("t").entity
    catalog.project()
    store = CountedStore(catalog.log)
    projector = Projector(EntityProjection(catalog.entities), store, batch_size=100)
    assert projector.step() == 0
    store.calls.clear()
    describe(handing(catalog, projector), table.id, "new")
    assert "read" not in store.names
    assert catalog.entities.checkpoint() == catalog.log.head()
    assert dump(catalog.entities) == replayed(catalog)


def test_events_of_others_before_those_handed_over_are_read(catalog: Fixture) -> None:
    catalog.schema()
    table = catalog.table("t").entity
    catalog.project()
    ours = handing(catalog, catalog.projector)
    describe(catalog.catalog, table.id, "of another process")
    describe(ours, table.id, "ours")
    assert catalog.entities.checkpoint() == catalog.log.head()
    assert dump(catalog.entities) == replayed(catalog)


def test_events_of_others_after_those_handed_over_are_read(
    catalog: Fixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog.schema()
    table = catalog.table("t").entity
    catalog.project()
    step_at_once = catalog.projector.step_at_once

    def step_later(stored: Sequence[StoredAppend]) -> int:
        describe(catalog.catalog, table.id, "of another process")
        return step_at_once(stored)

    monkeypatch.setattr(catalog.projector, "step_at_once", step_later)
    describe(handing(catalog, catalog.projector), table.id, "ours")
    assert catalog.entities.checkpoint() == catalog.log.head() - 1
    assert catalog.projector.step() == 1
    assert dump(catalog.entities) == replayed(catalog)


def test_events_that_were_applied_before_they_are_handed_over_are_applied_once(
    catalog: Fixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog.schema()
    table = catalog.table("t").entity
    catalog.project()
    step_at_once = catalog.projector.step_at_once

    def step_twice(stored: Sequence[StoredAppend]) -> int:
        assert catalog.projector.step() == 1
        return step_at_once(stored)

    monkeypatch.setattr(catalog.projector, "step_at_once", step_twice)
    describe(handing(catalog, catalog.projector), table.id, "ours")
    assert dump(catalog.entities) == replayed(catalog)


def test_events_of_an_earlier_epoch_are_read(
    catalog: Fixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog.schema()
    table = catalog.table("t").entity
    catalog.project()
    store = CountedStore(catalog.log)
    # The projector has gone on into the next epoch, whose log may have lost what was appended.
    epoch = catalog.log.epoch()
    monkeypatch.setattr(store, "epoch", lambda: epoch + 1, raising=False)
    projector = Projector(EntityProjection(catalog.entities), store, batch_size=100)
    projector.step()
    store.calls.clear()
    describe(handing(catalog, projector), table.id, "new")
    assert "read" in store.names
    assert dump(catalog.entities) == replayed(catalog)


class Kept(Handing):
    """Keeps appends, and hands none over."""

    def __init__(self, catalog: Fixture) -> None:
        super().__init__(catalog.log, catalog.projector)
        self.appends: list[Append] = []
        self._log = catalog.log

    def append_group(self, appends: Sequence[Append]) -> list[int | Refusal]:
        self.appends += appends
        return self._log.append_group(appends)


def test_appends_of_large_states_are_left_to_the_projection_itself(catalog: Fixture) -> None:
    catalog.schema()
    table = catalog.table("t").entity
    catalog.project()
    kept = Kept(catalog)
    describe(DirectCatalog(kept), table.id, "new")  # type: ignore[arg-type]
    ((append,), projector, head) = kept.appends, catalog.projector, catalog.log.head()
    (state,) = append.states
    assert append.state_bytes == sum(map(len, state.body.values()))
    large = msgspec.structs.replace(append, state_bytes=AT_ONCE_BYTES + 1)
    small = msgspec.structs.replace(append, state_bytes=AT_ONCE_BYTES)

    assert projector.step_at_once([StoredAppend(large, head)]) == 0
    assert catalog.entities.checkpoint() == head - 1
    assert projector.step_at_once([StoredAppend(small, head)]) == 1
    assert dump(catalog.entities) == replayed(catalog)


@pytest.mark.parametrize("hard", [False, True])
def test_states_that_nobody_has_read_count_as_large_ones(catalog: Fixture, hard: bool) -> None:
    catalog.schema()
    table = catalog.table("t").entity
    kept = Kept(catalog)
    writer = DirectCatalog(kept)  # type: ignore[arg-type]
    assert table.parent_id is not None
    writer.delete(KINDS["databaseSchema"], table.parent_id, ME, hard=hard, recursive=True)

    (deleted,) = kept.appends
    assert [row[0] for row in deleted.rows] == [table.id, table.parent_id]
    assert (deleted.state_bytes > AT_ONCE_BYTES) is not hard
