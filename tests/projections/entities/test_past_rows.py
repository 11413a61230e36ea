"""What read models keep of the past: the same in every database, and what the log says."""

import random
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.postgres_server import PostgresServer, new_schema
from domain.aggregate.entity import Entity, evolve
from domain.edges import EDGE, edge_ends
from domain.event_store.opening import open_event_log
from domain.event_store.port import EventStore
from projections.entities.past_verification import past_differences
from projections.entities.port import SortedReadModel
from projections.entities.postgres.database import EntityDatabase
from projections.entities.postgres.model import PostgresReadModel
from projections.entities.postgres.opening import load, open_read_model
from projections.entities.projection import EntityProjection
from projections.entities.scopes import scopes_of
from projections.entities.sqlite import bulk_load
from projections.entities.sqlite.model import SqliteReadModel
from projections.entities.sqlite.model import open_read_model as open_file
from projections.feeding.projector import Projector
from tests.depth import examples
from tests.postgres_models import postgres_model
from tests.projections.entities.random_log import RandomLog

TABLES = (
    "entities",
    "scopes",
    "history",
    "history_scopes",
    "kind_totals",
    "forgotten WHERE n <> 0",
    "pasts",
    "days",
)


def project(model: SortedReadModel, log: EventStore, batch_size: int = 1_000) -> None:
    projector = Projector(EntityProjection(model), log, batch_size=batch_size)
    while projector.step():
        pass


def rows_of(model: SqliteReadModel | PostgresReadModel) -> dict[str, list[tuple[Any, ...]]]:
    """The rows of all tables in an order of their own."""
    dumped = {}
    for table in TABLES:
        if isinstance(model, SqliteReadModel):
            rows = model.database.connection.execute(f"SELECT * FROM {table}").fetchall()
        else:
            rows = model.tables.ask((f"SELECT * FROM {{}}.{table}", ()))
        # PostgreSQL has the key of an entity's name in a column more.
        rows = [row[:13] for row in rows]
        dumped[table] = sorted((tuple(row) for row in rows), key=repr)
    return dumped


@contextmanager
def loaded(server: PostgresServer, log: EventStore) -> Iterator[PostgresReadModel]:
    schema = f"{new_schema()}_entities_1"
    with closing(EntityDatabase(server.url("catalog"))) as database:
        load(database, schema, log, lambda done, total: None)
        yield open_read_model(database, schema)
    server.run(f"DROP SCHEMA {schema} CASCADE")


@settings(max_examples=examples(5, quick=2), deadline=None)
@given(seed=st.integers(0, 2**32))
def test_every_database_keeps_the_same_past(postgres: PostgresServer, seed: int) -> None:
    with tempfile.TemporaryDirectory() as folder, opened_log(folder) as log:
        RandomLog(random.Random(seed), log).fill(40)
        with closing(open_file(Path(folder) / "entities.db")) as file:
            project(file, log)
            expected = rows_of(file)
        bulk_load.load(Path(folder) / "loaded.db", log, lambda done, total: None)
        with closing(open_file(Path(folder) / "loaded.db")) as file:
            assert rows_of(file) == expected
        for size in (2, 1_000):
            with postgres_model(postgres) as model:
                project(model, log, size)
                assert rows_of(model) == expected
                with model.snapshot() as snapshot:
                    assert [*past_differences(log, snapshot)] == []
        with loaded(postgres, log) as model:
            assert rows_of(model) == expected


def states(log: EventStore) -> Iterator[tuple[int, dict[str, Entity]]]:
    """Each position of the log, and by id the entities that there were then."""
    now: dict[str, Entity] = {}
    for recorded in log.read(0, 1_000_000):
        after = evolve(now.get(recorded.entity_id), recorded.event, recorded.entity_id)
        now = {key: one for key, one in now.items() if key != after.id}
        if not after.purged:
            now[after.id] = after
        yield recorded.position, now


@settings(max_examples=examples(25, quick=8), deadline=None)
@given(seed=st.integers(0, 2**32))
def test_rows_of_the_past_are_those_of_every_state_there_was(seed: int) -> None:
    with tempfile.TemporaryDirectory() as folder, opened_log(folder) as log:
        RandomLog(random.Random(seed), log).fill(40)
        lives = [*states(log)]
        last = lives[-1][1] if lives else {}
        for size in (1, 3, 1_000):
            with closing(open_file(Path(folder) / f"{size}.db")) as file:
                project(file, log, size)
                rows = file.database.connection.execute
                for position, then in lives:
                    kept = {key: one for key, one in then.items() if is_kept(one, last)}
                    assert states_at(file, position) == {
                        (one.id, one.fqn, one.status, int(one.deleted)) for one in kept.values()
                    }
                    assert totals_at(file, position) == Counter(
                        (one.kind, int(one.deleted)) for one in kept.values() if one.kind != EDGE
                    )
                    assert memberships_at(file, position) == {
                        (scope, one.id) for one in kept.values() for scope in scopes_of(one)
                    }
                for kind, n, *_ in rows("SELECT kind, count(*) FROM history GROUP BY kind"):
                    ended = "SELECT count(*) FROM history_scopes WHERE kind = ?"
                    (number,) = rows(ended, (kind,)).fetchone()
                    (held,) = rows("SELECT n FROM pasts WHERE kind = ?", (kind,)).fetchone()
                    assert held == n + number


def is_kept(one: Entity, last: dict[str, Entity]) -> bool:
    """True if the past of an entity is kept: of an edge, as long as both ends are there."""
    return one.id in last if one.kind != EDGE else last.keys() >= {*edge_ends(one.fqn)}


def states_at(model: SqliteReadModel, position: int) -> set[tuple[Any, ...]]:
    return {
        *model.database.connection.execute(
            "SELECT id, fqn, status, deleted FROM entities WHERE position <= :at UNION ALL"
            " SELECT id, fqn, status, deleted FROM history WHERE since <= :at AND until > :at",
            {"at": position},
        )
    }


def memberships_at(model: SqliteReadModel, position: int) -> set[tuple[Any, ...]]:
    return {
        *model.database.connection.execute(
            "SELECT scope, id FROM scopes WHERE since <= :at UNION ALL"
            " SELECT scope, id FROM history_scopes WHERE since <= :at AND until > :at",
            {"at": position},
        )
    }


def totals_at(model: SqliteReadModel, position: int) -> Counter[tuple[str, int]]:
    found: Counter[tuple[str, int]] = Counter()
    rows = model.database.connection.execute(
        "SELECT DISTINCT kind, deleted FROM kind_totals WHERE status = ''"
    ).fetchall()
    for kind, deleted in rows:
        of = {"kind": kind, "deleted": deleted, "at": position}
        where = "kind = :kind AND deleted = :deleted AND status = '' AND position <= :at"
        ((then, gone),) = model.database.connection.execute(
            f"SELECT coalesce((SELECT n FROM kind_totals WHERE {where}"
            " ORDER BY position DESC LIMIT 1), 0),"
            f" coalesce((SELECT sum(n) FROM forgotten WHERE {where}), 0)",
            of,
        )
        found[kind, deleted] = then - gone
    return +found


@contextmanager
def opened_log(folder: str) -> Iterator[EventStore]:
    with closing(open_event_log(Path(folder) / "events.db")) as log:
        yield log
