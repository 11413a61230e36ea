"""Writes when PostgreSQL, or the way to it, fails: none lost, none doubled."""

import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress

import pytest

from benchmarks.postgres_server import PostgresServer, new_schema
from domain.errors import AlreadyExists, ConcurrentChange, OutcomeUnknown, StoreUnavailable
from domain.event_store.appends import prepared
from domain.event_store.entity_reads import RecordedEvent
from domain.event_store.opening import open_event_log
from domain.event_store.port import EventStore
from domain.event_store.postgres.connections import Connections
from domain.event_store.writes import Expectations, RememberedAnswer
from tests.contracts.recorded import changed, created, unplaced
from tests.domain.event_store.postgres.holding import holding_the_order
from tests.domain.event_store.postgres.proxy import Cut, Proxy, proxying
from tests.postgres_logs import opened_log
from tests.postgres_servers import losing_what_is_not_on_disk, stop_and_start_under_load
from tests.waiting import until

NOTHING = Expectations()
WRITERS = 4


def answer(key: str) -> RememberedAnswer:
    return RememberedAnswer(
        actor="ann",
        key=key,
        digest=b"digest",
        entity_id="a",
        stream_version=1,
        outcome="entityCreated",
        at=1,
    )


@pytest.fixture
def schema() -> str:
    return new_schema()


@pytest.fixture
def direct(postgres: PostgresServer, schema: str) -> Iterator[EventStore]:
    """The log, without a proxy."""
    with closing(open_event_log(postgres.url(schema))) as store:
        yield store


@pytest.fixture
def proxy(postgres: PostgresServer) -> Iterator[Proxy]:
    with proxying(postgres.socket) as proxy:
        yield proxy


@pytest.fixture
def opened(
    postgres: PostgresServer, schema: str, direct: EventStore, proxy: Proxy
) -> Iterator[tuple[EventStore, Connections]]:
    """The same log through the proxy."""
    with opened_log(postgres.url(schema, **proxy.parameters)) as opened:
        yield opened


@pytest.fixture
def store(opened: tuple[EventStore, Connections]) -> EventStore:
    return opened[0]


@pytest.fixture
def connections(opened: tuple[EventStore, Connections]) -> Connections:
    """Those of the store."""
    return opened[1]


def recorded(store: EventStore) -> list[RecordedEvent]:
    return unplaced(store.read(0, 10_000))


@pytest.mark.parametrize("cut", Cut)
def test_append_whose_connection_is_cut_is_stored_once(
    store: EventStore, direct: EventStore, proxy: Proxy, cut: Cut
) -> None:
    store.append([created("first")])
    proxy.cut_next(cut)

    position = store.append([created("a"), changed("a", 2)], answer("key"))

    assert proxy.cuts == 1
    assert recorded(direct) == [created("first"), created("a"), changed("a", 2)]
    assert position == direct.head()
    assert direct.answer("ann", "key") == answer("key")
    assert direct.damage() == []


@pytest.mark.parametrize("cut", Cut)
def test_group_whose_connection_is_cut_is_stored_once(
    store: EventStore, direct: EventStore, proxy: Proxy, cut: Cut
) -> None:
    store.append([created("a")])
    proxy.cut_next(cut)

    first, second, third = store.append_group(
        [
            prepared([created("b")], answer("key")),
            prepared([created("c", "a")]),
            prepared([changed("a", 2)]),
        ]
    )

    assert (first, third) == (2, 3) == (2, direct.head())
    assert isinstance(second, AlreadyExists)
    assert (proxy.cuts, recorded(direct)) == (1, [created("a"), created("b"), changed("a", 2)])


@pytest.mark.parametrize("cut", Cut)
def test_answer_alone_whose_connection_is_cut_is_remembered(
    store: EventStore, direct: EventStore, proxy: Proxy, cut: Cut
) -> None:
    head = store.append([created("a")])
    proxy.cut_next(cut)

    assert store.append([], answer("key")) == head
    assert (proxy.cuts, direct.answer("ann", "key")) == (1, answer("key"))


@pytest.mark.parametrize("cut", Cut)
def test_refusal_stays_one_when_the_connection_is_cut(
    store: EventStore, direct: EventStore, proxy: Proxy, cut: Cut
) -> None:
    store.append([created("a"), changed("a", 2)])
    proxy.cut_next(cut)

    with pytest.raises(ConcurrentChange) as caught:
        store.append([changed("a", 2, size=2)])

    assert [*caught.value.entity_ids] == ["a"]
    assert (proxy.cuts, len(recorded(direct))) == (1, 2)


def waiting_for_the_order(postgres: PostgresServer) -> list[int]:
    """The sessions that wait for the lock under which appends are ordered."""
    statement = "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    with postgres.connect() as connection:
        return [pid for (pid,) in connection.execute(statement)]


def test_append_that_the_server_has_not_begun_yet_is_not_doubled(
    postgres: PostgresServer, store: EventStore, direct: EventStore, proxy: Proxy
) -> None:
    """The server does not notice that a client is gone while it waits for a lock."""
    positions: list[int] = []
    writer = threading.Thread(target=lambda: positions.append(store.append([created("a")])))
    with holding_the_order(direct.address):
        writer.start()
        until(lambda: waiting_for_the_order(postgres))
        begun = waiting_for_the_order(postgres)
        proxy.cut_all()
        until(lambda: waiting_for_the_order(postgres) not in ([], begun))
    writer.join()

    assert positions == [direct.head()]
    assert recorded(direct) == [created("a")]


def test_unknown_outcome_is_told_from_nothing_stored(
    postgres: PostgresServer,
    store: EventStore,
    connections: Connections,
    direct: EventStore,
    proxy: Proxy,
) -> None:
    connections.settle_seconds = connections.wait_seconds = 0.1
    # Features are named and known, so that the append which waits need not be sent again for them.
    before = [created("one"), created("two")]
    for each in before:
        store.append([each])
    errors: list[StoreUnavailable] = []

    def append() -> None:
        with pytest.raises(StoreUnavailable) as caught:
            store.append([created("a")])
        errors.append(caught.value)

    writer = threading.Thread(target=append)
    with holding_the_order(direct.address):
        writer.start()
        until(lambda: waiting_for_the_order(postgres))
        proxy.close()
        writer.join()
        append()
    until(lambda: not waiting_for_the_order(postgres))

    assert [type(error) for error in errors] == [OutcomeUnknown, StoreUnavailable]
    assert errors[0].message.startswith("the database of the event log went away during this")
    # The server went on with what it had got.
    until(lambda: recorded(direct) == [*before, created("a")])


def test_server_that_stops_and_starts_under_load_loses_and_doubles_nothing(
    postgres: PostgresServer, direct: EventStore
) -> None:
    stored: list[str] = []
    refused: list[str] = []
    seen: list[tuple[int, str]] = []
    enough = threading.Event()
    counts = [itertools.count() for _ in range(WRITERS)]

    def write(writer: int) -> None:
        while not enough.is_set():
            name = f"{writer}-{next(counts[writer])}"
            try:
                direct.append([created(name)])
                stored.append(name)
            except OutcomeUnknown:
                pass
            except StoreUnavailable:
                refused.append(name)

    def follow() -> None:
        while not enough.is_set():
            try:
                log = direct.read(seen[-1][0] if seen else 0, 100)
            except StoreUnavailable:
                continue
            seen.extend((event.position, event.entity_id) for event in log)

    jobs: list[Callable[[], None]] = [lambda each=each: write(each) for each in range(WRITERS)]
    stop_and_start_under_load(postgres, [*jobs, follow], enough, stored, between=20)

    log = [(event.position, event.entity_id) for event in direct.read(0, 100_000)]
    names = [name for _, name in log]
    assert len(names) == len(set(names))
    assert set(stored) <= set(names)
    assert set(refused).isdisjoint(names)
    assert [position for position, _ in log] == [*range(1, len(log) + 1)]
    # What a reader was given is still there, although it may have come before its writer knew.
    assert seen == log[: len(seen)]
    assert direct.damage() == []


def positions_after_recovery(store: EventStore) -> list[int]:
    positions: list[int] = []

    def answers() -> bool:
        with suppress(StoreUnavailable):
            positions[:] = [event.position for event in store.read(0, 9)]
        return bool(positions)

    until(answers)
    return positions


def test_acknowledged_append_survives_a_crash_of_the_server(
    postgres: PostgresServer, direct: EventStore
) -> None:
    direct.append([created("a")])
    with losing_what_is_not_on_disk(postgres):
        direct.append([created("b")])
        direct.append_group([prepared([created("c")]), prepared([created("d")])])

    assert positions_after_recovery(direct) == [1, 2, 3, 4]


def test_event_that_was_read_survives_a_crash_of_the_server(
    postgres: PostgresServer, schema: str, direct: EventStore
) -> None:
    """Its writer may still be waiting for the disk, as a writer of another host is here."""
    direct.append([created("a")])
    with losing_what_is_not_on_disk(postgres), postgres.connect() as connection:
        connection.execute("SET synchronous_commit = off")
        connection.execute(
            f"INSERT INTO {schema}.events SELECT 2, 'b', 1, type, payload"
            f" FROM {schema}.events".encode()
        )
        seen = [event.position for event in direct.read(0, 9)]

    assert seen == [1, 2] == positions_after_recovery(direct)


@contextmanager
def append_waiting(postgres: PostgresServer, store: EventStore, schema: str) -> Iterator[None]:
    """Have an append take a connection of a log until the block ends."""
    writer = threading.Thread(target=lambda: store.append([created("a")]))
    with holding_the_order(postgres.url(schema)):
        writer.start()
        until(lambda: waiting_for_the_order(postgres))
        yield
    writer.join()


def test_pool_that_is_exhausted_says_so_and_recovers(postgres: PostgresServer, schema: str) -> None:
    with opened_log(postgres.url(schema), size=1) as (store, connections):
        with append_waiting(postgres, store, schema):
            connections.wait_seconds = 0.1
            with pytest.raises(StoreUnavailable, match="all 1 connections are in use"):
                store.head()
        assert store.head() == 1


def test_server_without_a_place_for_another_connection_is_away(
    postgres: PostgresServer, schema: str
) -> None:
    role = new_schema()
    postgres.run(
        f"CREATE ROLE {role} LOGIN CONNECTION LIMIT 1",
        f"GRANT CREATE ON DATABASE postgres TO {role}",
    )
    with opened_log(postgres.url(schema, user=role)) as (store, connections):
        usual = connections.wait_seconds
        # Short only while there is no place: to connect takes time on a busy machine.
        with append_waiting(postgres, store, schema):
            connections.wait_seconds = 0.1
            with pytest.raises(StoreUnavailable, match="its database is away"):
                store.head()
            with (
                pytest.raises(StoreUnavailable, match="too many connections for role"),
                store.snapshot(),
            ):
                pass
        connections.wait_seconds = usual
        assert store.head() == 1


def test_snapshot_whose_server_is_gone_says_so(
    postgres: PostgresServer, direct: EventStore, schema: str
) -> None:
    direct.append([created("a")], expecting=NOTHING)
    with direct.snapshot() as snapshot:
        lost = snapshot.lost()
        postgres.run(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE state = 'idle in transaction' AND pid <> pg_backend_pid()"
        )
        with pytest.raises(StoreUnavailable):
            next(lost)
