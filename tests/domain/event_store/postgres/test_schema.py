"""The tables of the log: made once, upgraded by whoever is told to, refused when not known."""

import threading
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from benchmarks.postgres_server import PostgresServer, new_schema
from domain.errors import Conflict, StoreUnavailable
from domain.event_store.features import EARLIEST
from domain.event_store.opening import migrate_log, open_event_log
from domain.event_store.postgres import schema as tables
from domain.measurements.bounds import Bounds
from domain.measurements.opening import measurements_at
from domain.measurements.reports import RESULT, Point
from tests.contracts.recorded import changed, created
from tests.postgres_logs import release_with

VERSION, NEXT = tables.VERSION, tables.VERSION + 1


@pytest.fixture
def schema() -> str:
    return new_schema()


@pytest.fixture
def url(postgres: PostgresServer, schema: str) -> str:
    return postgres.url(schema)


def test_tables_are_made_by_a_writer_and_by_the_command(url: str) -> None:
    assert migrate_log(url) == (0, VERSION)
    assert migrate_log(url) == (VERSION, VERSION)
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
    postgres.run(f"INSERT INTO {schema}.schema_version (version) VALUES ({NEXT})")
    for refused in (open_event_log, migrate_log):
        later = f"is of version {NEXT}, made by a later release"
        with pytest.raises(StoreUnavailable, match=later):
            refused(url)


def test_tables_of_an_older_release_are_upgraded_by_the_command_alone(url: str) -> None:
    with closing(open_event_log(url)) as store:
        store.append([created("a")])
    needs = f"of version {VERSION}, and this release needs {NEXT}"
    with release_with(NEXT, b"ALTER TABLE answers ADD COLUMN more text"):
        with pytest.raises(StoreUnavailable, match=needs):
            open_event_log(url)
        assert migrate_log(url) == (VERSION, NEXT)
        with closing(open_event_log(url)) as store:
            assert store.head() == 1


def test_log_of_the_first_step_is_upgraded_and_its_older_programs_store_nothing_more(
    postgres: PostgresServer, url: str, schema: str
) -> None:
    with release_with(1):
        migrate_log(url)
    event = '\'{"kind":"domain","actor":"ann","at":1,"version":1,"requestId":"r",'
    event += '"name":"a","fqn":"a","body":{}}\''
    one = "CALL {}.append_event_1(1, '{}', 1, 'entity.created', {}::bytea, '{}', 'domain', '{}',"
    one += " '{}', NULL, NULL, NULL)"
    with postgres.connect() as old_program:
        old_program.execute(f"SET search_path TO {schema}".encode())
        old_program.execute(one.format(schema, "a", event, "a", "a", "a").encode())
        old_program.commit()
        with pytest.raises(
            StoreUnavailable, match=f"of version 1, and this release needs {VERSION}"
        ):
            open_event_log(url)
        assert migrate_log(url) == (1, VERSION)
        with pytest.raises(psycopg.errors.UndefinedFunction):
            old_program.execute(one.format(schema, "b", event, "b", "b", "b").encode())
    with closing(open_event_log(url)) as store:
        assert store.features() == EARLIEST
        assert [each.entity_id for each in store.read(0, 9)] == ["a"]
        assert store.append([created("b"), changed("a", 2)]) == 3
        assert store.features() == EARLIEST
    with closing(measurements_at(Path(), url, Bounds(days=9, most_bytes=1_000_000))) as measured:
        measured.write("a", [Point(RESULT, "", 1, b"{}")], now=2)
        assert measured.latest("a", RESULT) == b"{}"


def test_step_that_fails_leaves_the_tables_as_they_were(url: str) -> None:
    migrate_log(url)
    failing = release_with(NEXT, b"DROP TABLE answers; SELECT 1/0")
    with failing, pytest.raises(StoreUnavailable, match="division by zero"):
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
