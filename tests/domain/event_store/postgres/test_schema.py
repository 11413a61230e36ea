"""The tables of the log: made once, upgraded by whoever is told to, refused when not known."""

import threading
from contextlib import closing
from pathlib import Path

import pytest

from benchmarks.postgres_server import PostgresServer, new_schema
from domain.errors import Conflict, StoreUnavailable
from domain.event_store.opening import migrate_log, open_event_log
from domain.event_store.postgres import schema as tables
from domain.measurements.bounds import Bounds
from domain.measurements.opening import measurements_at
from domain.measurements.reports import RESULT, Point
from tests.contracts.recorded import created


@pytest.fixture
def schema() -> str:
    return new_schema()


@pytest.fixture
def url(postgres: PostgresServer, schema: str) -> str:
    return postgres.url(schema)


def test_tables_are_made_by_a_writer_and_by_the_command(url: str) -> None:
    assert migrate_log(url) == (0, tables.VERSION)
    assert migrate_log(url) == (tables.VERSION, tables.VERSION)
    with closing(open_event_log(url)) as store:
        assert store.append([created("a")]) == 1


def test_reader_makes_no_tables(url: str, schema: str) -> None:
    for _ in range(2):
        with pytest.raises(StoreUnavailable, match=f"schema {schema} of the database holds no log"):
            open_event_log(url, writable=False)


def test_hosts_that_start_together_make_the_tables_once(url: str) -> None:
    barrier = threading.Barrier(4)
    identities: list[str] = []

    def start() -> None:
        barrier.wait()
        with closing(open_event_log(url)) as store:
            identities.append(store.identity())

    threads = [threading.Thread(target=start) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(identities) == 4
    assert len({*identities}) == 1


def test_tables_of_a_later_release_are_refused(
    postgres: PostgresServer, url: str, schema: str
) -> None:
    migrate_log(url)
    postgres.run(f"INSERT INTO {schema}.schema_version (version) VALUES ({tables.VERSION + 1})")
    for refused in (open_event_log, migrate_log):
        with pytest.raises(
            StoreUnavailable, match=f"is of version {tables.VERSION + 1}, made by a"
        ):
            refused(url)


def test_tables_of_an_older_release_are_upgraded_by_the_command_alone(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as older:
        older.setattr(tables, "VERSION", 1)
        with closing(open_event_log(url)) as store:
            store.append([created("a")])
    with pytest.raises(StoreUnavailable, match="of version 1, and this release needs 2"):
        open_event_log(url)
    assert migrate_log(url) == (1, 2)
    with closing(open_event_log(url)) as store:
        assert (store.append([created("b")]), store.head()) == (2, 2)
    with closing(measurements_at(Path(), url, Bounds(days=9, most_bytes=1_000_000))) as measured:
        measured.write("a", [Point(RESULT, "", 1, b"{}")], now=2)
        assert measured.latest("a", RESULT) == b"{}"


def test_step_that_fails_leaves_the_tables_as_they_were(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    migrate_log(url)
    with monkeypatch.context() as changed:
        changed.setattr(tables, "VERSION", tables.VERSION + 1)
        changed.setattr(tables, "read_step", lambda number: b"DROP TABLE answers; SELECT 1/0")
        with pytest.raises(StoreUnavailable, match="division by zero"):
            migrate_log(url)
    with closing(open_event_log(url)) as store:
        assert store.answer("ann", "key") is None


def test_database_of_another_encoding_is_refused(postgres: PostgresServer) -> None:
    name = new_schema()
    postgres.run(f"CREATE DATABASE {name} ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    url = postgres.url("catalog").replace("///postgres?", f"///{name}?")
    with pytest.raises(Conflict, match="must have the encoding UTF8, and has LATIN1"):
        open_event_log(url)


@pytest.fixture
def role(postgres: PostgresServer) -> str:
    """A role that may make no schema."""
    name = new_schema()
    postgres.run(f"CREATE ROLE {name} LOGIN")
    return name


def test_role_needs_no_right_to_make_schemas_where_its_schema_is_made(
    postgres: PostgresServer, schema: str, role: str
) -> None:
    url = postgres.url(schema, user=role)
    with pytest.raises(StoreUnavailable, match="permission denied for database"):
        open_event_log(url)
    postgres.run(f"CREATE SCHEMA {schema} AUTHORIZATION {role}")
    with closing(open_event_log(url)) as store:
        assert store.append([created("a")]) == 1
    with closing(open_event_log(url, writable=False)) as reader:
        assert [event.entity_id for event in reader.read(0, 9)] == ["a"]
