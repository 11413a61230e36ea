"""Measurements in a database: what becomes of one that is away, busy or hangs, and who waits."""

import threading
from collections.abc import Iterator
from contextlib import closing

import psycopg
import pytest
from msgspec.structs import replace

from benchmarks.postgres_server import PostgresServer, new_schema
from domain.errors import StoreUnavailable
from domain.event_store.opening import open_event_log
from domain.event_store.port import EventStore
from domain.event_store.postgres import clock
from domain.event_store.postgres.address import read_address
from domain.event_store.postgres.connections import Connections
from domain.measurements.bounds import Bounds
from domain.measurements.port import PageRequest
from domain.measurements.postgres.store import PostgresMeasurements
from domain.measurements.reports import RESULT, USAGE, Point
from tests.contracts.recorded import created
from tests.postgres_servers import losing_what_is_not_on_disk
from tests.waiting import until

NOW = 1_700_000_000_000
DAY = NOW - NOW % 86_400_000
ONE = "0191ab00-0000-7000-8000-000000000001"
BOUNDS = Bounds(days=30, most_bytes=1_000_000)
RESULT_NOW = Point(RESULT, "", NOW, b"{}")


@pytest.fixture
def schema() -> str:
    return new_schema()


@pytest.fixture
def url(postgres: PostgresServer, schema: str) -> str:
    return postgres.url(schema)


@pytest.fixture
def log(url: str) -> Iterator[EventStore]:
    with closing(open_event_log(url)) as store:
        yield store


@pytest.fixture
def connections(log: EventStore) -> Connections:
    return Connections(read_address(log.address, writable=True), what="measurements", size=4)


@pytest.fixture
def store(connections: Connections) -> Iterator[PostgresMeasurements]:
    with closing(PostgresMeasurements(connections, BOUNDS)) as store:
        yield store


def locks_awaited(server: psycopg.Connection[tuple[int]]) -> int:
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
    row = server.execute(waiting).fetchone()
    assert row is not None
    return row[0]


def test_a_database_that_is_away_is_told_and_comes_back(
    postgres: PostgresServer, store: PostgresMeasurements, connections: Connections
) -> None:
    connections.wait_seconds = 0.1
    store.write(ONE, [RESULT_NOW], NOW)
    postgres.stop("immediate")
    try:
        for use in (
            lambda: store.write(ONE, [RESULT_NOW], NOW),
            lambda: store.delete(ONE, RESULT),
            lambda: store.latest(ONE, RESULT),
            store.entities,
            store.newest_time,
        ):
            with pytest.raises(StoreUnavailable, match="measurements cannot be used now: its da"):
                use()
    finally:
        postgres.start()
    assert store.latest(ONE, RESULT) == b"{}"


def test_what_was_acknowledged_survives_a_crash(
    postgres: PostgresServer, store: PostgresMeasurements, connections: Connections
) -> None:
    connections.wait_seconds = 5.0
    store.write(ONE, [Point(RESULT, "", NOW - 1, b"{}")], NOW)
    with losing_what_is_not_on_disk(postgres):
        store.write(ONE, [RESULT_NOW], NOW)
        assert store.delete(ONE, RESULT, NOW - 1) == 1
    until(lambda: is_there(store))
    wanted = PageRequest(entity_id=ONE, series=RESULT, part="", until=NOW, limit=9, most_bytes=9)
    assert store.page(wanted).points == [(NOW, b"{}")]


def is_there(store: PostgresMeasurements) -> bool:
    try:
        return bool(store.entities())
    except StoreUnavailable:
        return False


def test_a_busy_store_of_measurements_leaves_the_log_its_connections(
    postgres: PostgresServer,
    schema: str,
    log: EventStore,
    store: PostgresMeasurements,
    connections: Connections,
) -> None:
    store.write(ONE, [RESULT_NOW], NOW)
    with postgres.connect() as holder, postgres.connect() as server:
        holder.execute("BEGIN")
        holder.execute(f"LOCK TABLE {schema}.measurement_sizes")
        threads = [
            threading.Thread(target=store.write, args=(ONE, [RESULT_NOW], NOW)) for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        until(lambda: locks_awaited(server) == 4)
        # Only now: to connect may take the writers longer on a busy machine.
        usual, connections.wait_seconds = connections.wait_seconds, 0.1
        with pytest.raises(StoreUnavailable, match="all 4 connections are in use"):
            store.latest(ONE, RESULT)
        connections.wait_seconds = usual
        assert log.append([created("a")]) == 1
        holder.execute("COMMIT")
        for thread in threads:
            thread.join()
    assert store.latest(ONE, RESULT) == b"{}"


def test_entities_are_locked_in_the_order_of_their_ids(
    postgres: PostgresServer, schema: str, store: PostgresMeasurements
) -> None:
    """The first writer has a, and waits for b: the second one must wait for a, and not have c."""
    ids = ["a", "b", "c"]
    store.write_all({each: [RESULT_NOW] for each in ids}, NOW)
    lock = f"SELECT FROM {schema}.measurement_sizes WHERE entity = %s FOR UPDATE"
    with postgres.connect() as holder, postgres.connect() as server:
        holder.execute("BEGIN")
        holder.execute(lock.encode(), ["b"])
        writers = [
            threading.Thread(
                target=store.write_all, args=({each: [RESULT_NOW] for each in order}, NOW)
            )
            for order in (ids, ids[::-1])
        ]
        for number, writer in enumerate(writers, 1):
            writer.start()
            until(lambda number=number: locks_awaited(server) == number)
        free = f"{lock} NOWAIT"
        with pytest.raises(psycopg.errors.LockNotAvailable):
            server.execute(free.encode(), ["a"])
        server.execute(free.encode(), ["c"])
        holder.execute("COMMIT")
        for writer in writers:
            writer.join()


def test_sums_that_take_too_long_are_given_up(
    postgres: PostgresServer,
    schema: str,
    store: PostgresMeasurements,
    connections: Connections,
) -> None:
    hurried = PostgresMeasurements(connections, replace(BOUNDS, sum_seconds=0.001))
    store.write(ONE, [Point(USAGE, "table", DAY, b'{"count":1}')], NOW)
    with postgres.connect() as holder:
        holder.execute("BEGIN")
        holder.execute(f"LOCK TABLE {schema}.measurements")
        with pytest.raises(StoreUnavailable, match=r"the sums took more than 0\.001 s"):
            hurried.rank_usage("table", DAY, NOW)
        with pytest.raises(StoreUnavailable, match=r"the sums took more than 0\.001 s"):
            hurried.query_costs("service")
    store.rank_usage("table", DAY, NOW)
    assert store.latest(ONE, "rank") == b'{"daily":0.0,"weekly":0.0,"monthly":0.0}'


def test_a_host_whose_clock_is_wrong_changes_nothing(
    store: PostgresMeasurements, log: EventStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.write(ONE, [RESULT_NOW], NOW)
    now = clock.wall_clock()
    monkeypatch.setattr(clock, "wall_clock", lambda: now + 31_536_000)
    for change in (
        lambda: store.write(ONE, [RESULT_NOW], NOW),
        lambda: store.forget_older(NOW + 365 * 86_400_000),
    ):
        with pytest.raises(StoreUnavailable, match="ahead of that of the database"):
            change()
    assert store.latest(ONE, RESULT) == b"{}"
