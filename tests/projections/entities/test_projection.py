"""The sorted read model equals a replay of the log, whatever the batches were."""

import json
import random
import sqlite3
import tempfile
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from domain.event_store.port import EventStore
from domain.kinds.registry import KINDS
from projections.entities.list_pages import list_page
from projections.entities.list_port import Include, ListRequest
from projections.entities.projection import EntityProjection
from projections.entities.sqlite.bulk_load import load
from projections.entities.sqlite.file_check import check
from projections.entities.sqlite.model import SqliteReadModel, open_read_model
from projections.feeding.projector import Projector
from tests.depth import examples
from tests.domain.conftest import World
from tests.domain.folding import newest
from tests.domain.renamed_trees import Tree
from tests.projections.conftest import Fixture
from tests.projections.read_models import ME

operations = st.lists(
    st.tuples(
        st.sampled_from(["create", "describe", "delete", "restore", "purge", "status"]),
        st.integers(0, 7),
    ),
    max_size=40,
)


def perform(fixture: Fixture, changes: list[tuple[str, int]]) -> None:
    """Random life of eight contracts; what is impossible at the time is left out."""
    tables = [fixture.table(f"t{number}") for number in range(8)]
    kind = KINDS["dataContract"]
    for action, number in changes:
        name = f"c{number}"
        claim = fixture.log.claim(
            kind.name, f"service.database.schema.t{number}.dataContract_{name}"
        )
        if action == "create" and claim is None:
            fixture.contract(name, tables[number])
        elif claim is None:
            continue
        elif action in ("delete", "purge"):
            hard = action == "purge"
            fixture.catalog.delete(kind, claim.id, ME, hard=hard, recursive=False)
        elif action == "restore" and claim.deleted:
            fixture.catalog.restore(kind, claim.id, ME)
        elif action == "describe" and not claim.deleted:
            patch = [{"op": "add", "path": "/description", "value": f"{fixture.log.head()}"}]
            fixture.catalog.patch(kind, claim.id, patch, ME)
        elif action == "status" and not claim.deleted:
            status = {"Draft": "Active", "Active": "Deprecated", "Deprecated": "Active"}
            entity = newest(fixture.log, claim.id)
            now = (entity and entity.status) or ""
            patch = [{"op": "replace", "path": "/entityStatus", "value": status[now]}]
            fixture.catalog.patch(kind, claim.id, patch, ME)


def dump(store: SqliteReadModel) -> dict[str, list[Any]]:
    """Every row of every table, but counts of nothing."""
    tables = ("entities", "scopes", "counters WHERE n", "digests WHERE n", "checkpoint", "moments")
    past = ("history ORDER BY id, until", "history_scopes", "kind_totals", "forgotten WHERE n")
    return {
        table: store.database.connection.execute(f"SELECT * FROM {table}").fetchall()
        for table in (*tables, *past, "pasts")
    }


@settings(max_examples=examples(25, quick=10), deadline=None)
@given(changes=operations)
@example([("create", 0), ("purge", 0)])
def test_projection_is_the_same_for_every_batch_size(changes: list[tuple[str, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        fixture = Fixture(Path(folder))
        fixture.schema()
        perform(fixture, changes)
        assert_all_builds_are_alike(Path(folder), fixture.log)
        fixture.close()


@settings(max_examples=examples(100, quick=10), deadline=None)
@given(seed=st.integers(0, 2**32))
def test_projection_of_renames_is_the_same_for_every_batch_size(seed: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder) / "events.db")
        tree = Tree(random.Random(seed), world)
        for _ in range(30):
            tree.step()
        assert_all_builds_are_alike(Path(folder), world.log)
        with closing(open_read_model(Path(folder) / "1.db")) as store:
            for entity_id, kind in tree.kinds.items():
                own = store.document(kind, entity_id=entity_id)
                assert own is not None
                for fqn in (tree.fqn(entity_id), *tree.aliases[entity_id]):
                    assert store.document(kind, fqn=fqn) == own
        world.log.close()


def assert_all_builds_are_alike(folder: Path, log: EventStore) -> None:
    """Batches of any size, and a build from the whole log, give the same rows."""
    dumps = []
    for size in (1, 3, 1_000):
        store = open_read_model(folder / f"{size}.db")
        projector = Projector(EntityProjection(store), log, batch_size=size)
        while projector.step():
            pass
        dumps.append(dump(store))
        assert_counters_are_true(store)
        check(store, lambda: None)
        store.close()
    load(folder / "loaded.db", log, lambda done, total: None)
    store = open_read_model(folder / "loaded.db")
    dumps.append(dump(store))
    check(store, lambda: None)
    store.close()
    assert dumps[0] == dumps[1] == dumps[2] == dumps[3]


def assert_counters_are_true(store: SqliteReadModel) -> None:
    """Each counter equals a count of the rows."""
    counted: Counter[tuple[str, str, int, str]] = Counter()
    rows = "SELECT kind, '', deleted, coalesce(status, '') FROM entities"
    rows += " UNION ALL SELECT kind, scope, deleted, coalesce(status, '') FROM scopes"
    counted.update(tuple(row) for row in store.database.connection.execute(rows))
    kept = store.database.connection.execute("SELECT kind, scope, deleted, status, n FROM counters")
    assert {tuple(row[:4]): row[4] for row in kept if row[4]} == dict(counted)


def test_projection_rolls_back_a_batch_that_fails(catalog: Fixture) -> None:
    catalog.schema()
    catalog.project()
    before = dump(catalog.entities)
    catalog.table("t")

    connection = catalog.entities.database.writer
    # The last table that a commit writes to.
    connection.execute(
        "CREATE TEMP TRIGGER broken BEFORE INSERT ON digests"
        " BEGIN SELECT RAISE(ABORT, 'broken'); END"
    )
    with pytest.raises(sqlite3.IntegrityError, match="broken"):
        catalog.project()
    connection.execute("DROP TRIGGER broken")
    assert dump(catalog.entities) == before

    catalog.project()
    assert catalog.entities.checkpoint() == catalog.log.head()


def test_walks_see_what_existed_throughout_once_while_others_change(catalog: Fixture) -> None:
    catalog.schema()
    steady = {catalog.table(f"t{n:02}").entity.id for n in range(30)}
    passing = [catalog.table(f"t{n:02}x") for n in range(0, 30, 3)]
    catalog.project()
    seen: list[str] = []
    cursor: str | None = None
    round_number = 0
    while True:
        request = ListRequest(
            kind=KINDS["table"], limit=4, after=cursor, include=Include.NON_DELETED
        )
        answer = b"".join(list_page(catalog.entities, request))
        ids, cursor = read_page(answer)
        seen += ids
        if cursor is None:
            break
        if passing:
            catalog.delete(passing.pop(), hard=round_number % 2 == 0)
        catalog.table(f"t{round_number:02}new")
        round_number += 1
        catalog.project()

    assert {entity_id for entity_id in seen if entity_id in steady} == steady
    assert len(seen) == len(set(seen))
    assert round_number > 5


def read_page(body: bytes) -> tuple[list[str], str | None]:

    answer = json.loads(body)
    return [item["id"] for item in answer["data"]], answer["paging"].get("after")
