"""Starts of a server are told apart: no write rests on facts of two of them."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from benchmarks.direct_catalog import DirectCatalog
from benchmarks.postgres_server import PostgresServer, new_schema
from domain.errors import ConcurrentChange, OutcomeUnknown, StoreUnavailable
from domain.event_store.appends import prepared
from domain.event_store.entity_reads import RecordedEvent
from domain.event_store.opening import open_event_log
from domain.event_store.port import EventStore
from domain.event_store.postgres.address import read_address
from domain.event_store.postgres.connections import Connections
from domain.event_store.postgres.link import Link
from domain.event_store.writes import Expectations, RememberedAnswer
from domain.kinds.registry import KINDS
from domain.write_context import WriteContext
from domain.writing.entity_cache import EntityCache
from domain.writing.plans import Change
from tests.contracts.recorded import changed, created, purged, unplaced
from tests.domain.event_store.postgres.holding import holding_the_order
from tests.domain.event_store.postgres.proxy import Cut, proxying
from tests.postgres_copies import Copies
from tests.postgres_logs import opened_log
from tests.postgres_servers import losing_what_is_not_on_disk, running_or_skipped
from tests.waiting import until

DOMAIN = KINDS["domain"]


@pytest.fixture
def schema() -> str:
    return new_schema()


@pytest.fixture
def opened(postgres: PostgresServer, schema: str) -> Iterator[tuple[EventStore, Connections]]:
    with opened_log(postgres.url(schema)) as opened:
        yield opened


@pytest.fixture
def store(opened: tuple[EventStore, Connections]) -> EventStore:
    return opened[0]


@pytest.fixture
def connections(opened: tuple[EventStore, Connections]) -> Connections:
    """Those of the store."""
    return opened[1]


@pytest.fixture
def other(postgres: PostgresServer, schema: str, store: EventStore) -> Iterator[EventStore]:
    """The same log, as another host has it, which knows nothing of what this one knows."""
    with closing(open_event_log(postgres.url(schema, application_name="other"))) as store:
        yield store


def context(request_id: str, key: str | None = None) -> WriteContext:
    return WriteContext(
        actor="ann", request_id=request_id, idempotency_key=key, digest=b"of the request"
    )


def described(text: str) -> dict[str, Any]:
    return {
        "name": "sales",
        "displayName": "Sales",
        "description": text,
        "domainType": "Aggregate",
    }


def recorded(store: EventStore) -> list[RecordedEvent]:
    return unplaced(store.read(0, 1_000))


def descriptions(store: EventStore) -> list[Any]:
    """The description that each state of the only entity has."""
    entity = EntityCache(store).holder(DOMAIN, "sales")
    assert entity is not None
    return [entity.value("description"), entity.stream_version]


def commit_without_sync(postgres: PostgresServer, schema: str, event: RecordedEvent) -> None:
    """Append an event as a host does that is about to wait for the disk."""
    ((entity_id, version, type_name, payload),) = prepared([event]).rows
    with postgres.connect() as connection:
        connection.execute("SET synchronous_commit = off")
        connection.execute(
            f"INSERT INTO {schema}.events SELECT max(position) + 1, %s, %s, %s, %s"
            f" FROM {schema}.events".encode(),
            (entity_id, version, type_name, payload),
        )


def answers(store: EventStore) -> bool:
    with suppress(StoreUnavailable):
        store.head()
        return True
    return False


def test_crash_of_a_process_of_the_server_begins_an_epoch(
    postgres: PostgresServer, store: EventStore
) -> None:
    """The server recovers from its log then, and says that it was started when it was."""
    store.append([created("a")])
    before = store.epoch()

    with losing_what_is_not_on_disk(postgres):
        pass
    until(lambda: answers(store))

    assert store.epoch() != before


def test_write_is_planned_anew_on_what_an_older_copy_has(
    store: EventStore, other: EventStore, copies: Copies
) -> None:
    ours, theirs = DirectCatalog(store), DirectCatalog(other)
    entity_id = ours.put(DOMAIN, described("first"), context("1")).entity.id
    copies.keep("older")
    ours.put(DOMAIN, described("lost"), context("2"))
    copies.put_back("older")
    replaced = [{"op": "remove", "path": "/description"}]
    theirs.patch(DOMAIN, entity_id, replaced, context("3"))

    same = ours.put(DOMAIN, described("lost"), context("4"))

    assert same.change is Change.UPDATED
    assert descriptions(other) == ["lost", 3]


def test_plan_from_before_an_older_copy_is_refused(
    store: EventStore, other: EventStore, copies: Copies
) -> None:
    ours, theirs = DirectCatalog(store), DirectCatalog(other)
    entity_id = ours.put(DOMAIN, described("first"), context("1")).entity.id
    copies.keep("older")
    ours.put(DOMAIN, described("lost"), context("2"))
    patch = [{"op": "replace", "path": "/description", "value": "of what is lost"}]

    def plan() -> Any:
        return ours.planner.patch(DOMAIN, entity_id, patch, context("3"))

    proposal = ours.propose(plan, context("3"))
    copies.put_back("older")
    removed = [{"op": "remove", "path": "/description"}]
    theirs.patch(DOMAIN, entity_id, removed, context("4"))
    (refusal,) = store.append_group([proposal.append])

    assert isinstance(refusal, ConcurrentChange)
    assert [*refusal.entity_ids] == [entity_id]
    assert descriptions(other) == [None, 2]
    # What settles an append whose connection broke knows no better.
    with pytest.raises(ConcurrentChange):
        store.append([changed(entity_id, 3)], epoch=proposal.append.epoch)


def test_answer_of_no_change_is_of_one_epoch(
    store: EventStore, other: EventStore, copies: Copies
) -> None:
    """Also where the server is replaced after the plan, and before it is found that it is empty."""
    ours, theirs = DirectCatalog(store), DirectCatalog(other)
    entity_id = ours.put(DOMAIN, described("first"), context("1")).entity.id
    copies.keep("older")
    ours.put(DOMAIN, described("lost"), context("2"))
    plan, planned = ours.planner.put, []

    def replaced_meanwhile() -> Any:
        given = plan(DOMAIN, described("lost"), context("3"))
        if not planned:
            copies.put_back("older")
            theirs.patch(
                DOMAIN, entity_id, [{"op": "remove", "path": "/description"}], context("4")
            )
        planned.append(given.change)
        return given

    proposal = ours.propose(replaced_meanwhile, context("3"))

    assert planned == [Change.NO_CHANGE, Change.UPDATED]
    assert proposal.change is Change.UPDATED
    assert store.append_group([proposal.append]) == [3]


@contextmanager
def crashing_before_the_sync(
    postgres: PostgresServer, connections: Connections, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """Have the server lose what is not on disk once a reader is about to wait for the disk.

    The reader waits for as long as the server takes to come back.
    """
    connections.wait_seconds = 300.0
    one, crashed = Link.one, threading.Event()
    crash = losing_what_is_not_on_disk(postgres)

    def crash_first(link: Link, statement: str, *values: Any) -> Any:
        if "pg_logical_emit_message" in statement and not crashed.is_set():
            crashed.set()
            crash.__exit__(None, None, None)
            with suppress(Exception):
                one(link, statement, *values)
            until(lambda: is_back(postgres))
        return one(link, statement, *values)

    with crash:
        monkeypatch.setattr(Link, "one", crash_first)
        yield
    assert crashed.is_set()


def is_back(postgres: PostgresServer) -> bool:
    with suppress(Exception), postgres.connect() as connection:
        connection.execute("SELECT 1")
        return True
    return False


def test_reader_is_not_shown_what_a_restart_takes_away(
    postgres: PostgresServer,
    schema: str,
    store: EventStore,
    connections: Connections,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store.append([created("a")])
    with crashing_before_the_sync(postgres, connections, monkeypatch):
        commit_without_sync(postgres, schema, created("b"))
        seen = [event.entity_id for event in store.read(0, 9)]

    assert seen == ["a"]


def test_snapshot_does_not_hold_what_a_restart_takes_away(
    postgres: PostgresServer,
    schema: str,
    store: EventStore,
    connections: Connections,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store.append([created("a")])
    with crashing_before_the_sync(postgres, connections, monkeypatch):
        commit_without_sync(postgres, schema, created("b"))
        with store.snapshot() as snapshot:
            head = snapshot.head

    assert head == 1


@pytest.mark.parametrize("read", ["stream", "durable head"])
def test_what_was_read_survives_a_crash(
    postgres: PostgresServer, schema: str, store: EventStore, read: str
) -> None:
    store.append([created("a")])
    with losing_what_is_not_on_disk(postgres):
        commit_without_sync(postgres, schema, changed("a", 2))
        position = [*store.stream("a")][-1].position if read == "stream" else store.durable_head()
    until(lambda: answers(store))

    assert position == store.head() == 2


def test_repeated_answer_survives_a_crash(
    postgres: PostgresServer, schema: str, store: EventStore
) -> None:
    answer = RememberedAnswer(
        actor="ann",
        key="key",
        digest=b"of the request",
        entity_id="a",
        stream_version=1,
        outcome="entityCreated",
        at=1,
    )
    store.append([created("a")])
    with losing_what_is_not_on_disk(postgres), postgres.connect() as connection:
        connection.execute("SET synchronous_commit = off")
        connection.execute(
            f"INSERT INTO {schema}.answers VALUES"
            " ('ann', 'key', 'of the request', 'a', 1, 'entityCreated', 1)".encode()
        )
        assert store.answer("ann", "key") == answer
    until(lambda: answers(store))

    assert store.answer("ann", "key") == answer


def test_append_by_a_connection_to_a_server_that_was_overtaken_is_not_made(
    postgres: PostgresServer, schema: str
) -> None:
    """The old primary is there still, and takes writes from whoever asks it."""
    with (
        running_or_skipped(primary=postgres) as standby,
        proxying(postgres.socket) as proxy,
        closing(open_event_log(postgres.url(schema, **proxy.parameters))) as store,
        closing(open_event_log(postgres.url(schema, application_name="other"))) as overtaken,
    ):
        store.append([created("a")])
        until(lambda: has_replayed(standby, schema, 1))
        standby.take_over()
        proxy.lead_to(standby.socket)
        with store.snapshot():
            # Another connection, by which the host learns of the new primary.
            pass

        assert store.append([created("b")]) == 2
        assert [each.entity_id for each in overtaken.read(0, 9)] == ["a"]


def has_replayed(standby: PostgresServer, schema: str, position: int) -> bool:
    with suppress(Exception), standby.connect() as connection:
        row = connection.execute(f"SELECT max(position) FROM {schema}.events".encode()).fetchone()
        return row == (position,)
    return False


def test_restored_log_survives_a_crash(postgres: PostgresServer, store: EventStore) -> None:
    rows = [(*row, n) for n, row in enumerate(prepared([created("a"), changed("a", 2)]).rows, 1)]
    with losing_what_is_not_on_disk(postgres):
        assert [*store.restore(iter(rows))] == [2]
    until(lambda: answers(store))

    assert recorded(store) == [created("a"), changed("a", 2)]


@pytest.mark.parametrize("group", [1, 2])
def test_error_behind_the_commit_is_not_told_as_nothing_stored(
    postgres: PostgresServer,
    schema: str,
    store: EventStore,
    connections: Connections,
    group: int,
) -> None:
    connections.settle_seconds = 0.2
    store.append([created("a")])
    # What is written to have the commit synced fails then.
    postgres.run(f"ALTER SEQUENCE {schema}.positions MAXVALUE 1")
    appends = [prepared([created(f"b{number}")]) for number in range(group)]

    with pytest.raises(OutcomeUnknown):
        store.append_group(appends)
    postgres.run(f"ALTER SEQUENCE {schema}.positions NO MAXVALUE")

    assert len(recorded(store)) == 1 + group


def test_append_that_wakes_late_does_not_store_what_was_refused(
    postgres: PostgresServer,
    schema: str,
    store: EventStore,
    other: EventStore,
    connections: Connections,
) -> None:
    """The session stands still, and goes on after its caller has had an answer."""
    connections.settle_seconds = connections.append_seconds = 0.5
    store.append([created("top")])
    # Not by the first append, which names features by statements of its own.
    store.append([created("other")])
    session = only_session(postgres)
    other.append([purged("top", 2)])
    below = Expectations(live=frozenset({"top"}))

    os.kill(session, signal.SIGSTOP)
    try:
        with pytest.raises(OutcomeUnknown):
            store.append([created("below", "top.below", "top")], expecting=below)
        # From now on the append would be right, as far as the database can see.
        with postgres.connect() as connection:
            connection.execute(
                f"INSERT INTO {schema}.claims VALUES"
                " ('k', 'domain', 'top', 'top', 'top', NULL, false)".encode()
            )
    finally:
        os.kill(session, signal.SIGCONT)
    until(lambda: not Path(f"/proc/{session}").exists())

    assert "below" not in [each.entity_id for each in store.read(0, 9)]


def only_session(postgres: PostgresServer) -> int:
    """The session of the only connection that a store of this test has made an append by."""
    with postgres.connect() as connection:
        ((session,),) = connection.execute(
            "SELECT pid FROM pg_stat_activity WHERE query LIKE 'CALL append%'"
        ).fetchall()
    return int(session)


def test_level_of_isolation_is_that_of_the_log_whatever_the_database_has(
    postgres: PostgresServer, schema: str
) -> None:
    role = new_schema()
    postgres.run(
        f"CREATE ROLE {role} LOGIN SUPERUSER",
        f"ALTER ROLE {role} SET default_transaction_isolation = 'repeatable read'",
    )
    refusals: list[ConcurrentChange] = []
    below = Expectations(live=frozenset({"top"}))
    with closing(open_event_log(postgres.url(schema, user=role))) as store:
        # Features are named and known, so that no append need be sent again for them.
        store.append([created("top"), created("kid", "top.kid", "top"), purged("kid", 2)])
        store.append([created("other")])

        def add() -> None:
            with pytest.raises(ConcurrentChange) as caught:
                store.append([created("below", "top.below", "top")], expecting=below)
            refusals.append(caught.value)

        def purge() -> None:
            alone = Expectations(without_children=frozenset({"top"}))
            store.append([purged("top", 2)], expecting=alone)

        writers = [threading.Thread(target=write) for write in (purge, add)]
        with holding_the_order(store.address):
            for number, writer in enumerate(writers, start=1):
                writer.start()
                until(lambda number=number: len(waits(postgres, "advisory")) == number)
        for writer in writers:
            writer.join()

    assert [[*refusal.entity_ids] for refusal in refusals] == [["top"]]


def waits(postgres: PostgresServer, event: str) -> list[int]:
    """The sessions that wait for something."""
    with postgres.connect() as connection:
        found = connection.execute(
            "SELECT pid FROM pg_stat_activity WHERE wait_event = %s", (event,)
        )
        return [pid for (pid,) in found]


def test_append_is_not_acknowledged_while_the_standby_has_not_got_it(
    postgres: PostgresServer, store: EventStore
) -> None:
    """An operator who cancels the wait for a standby makes a success of it, with a warning."""
    store.append([created("a")])
    positions: list[int] = []
    appending = threading.Thread(target=lambda: positions.append(store.append([created("b")])))
    postgres.run("ALTER SYSTEM SET synchronous_standby_names = 'nobody'", "SELECT pg_reload_conf()")
    try:
        until(lambda: setting(postgres, "synchronous_standby_names") == "nobody")
        appending.start()
        until(lambda: waits(postgres, "SyncRep"))
        first = waits(postgres, "SyncRep")
        postgres.run(f"SELECT pg_cancel_backend({first[0]})")
        until(lambda: waits(postgres, "SyncRep") not in ([], first))
        assert positions == []
    finally:
        postgres.run("ALTER SYSTEM RESET synchronous_standby_names", "SELECT pg_reload_conf()")
        appending.join()

    assert positions == [2] == [store.head()]


def setting(postgres: PostgresServer, name: str) -> str:
    with postgres.connect() as connection:
        row = connection.execute(f"SHOW {name}".encode()).fetchone()
    assert row is not None
    return str(row[0])


@pytest.mark.parametrize("cut", [Cut.BEFORE, Cut.AFTER])
def test_append_is_settled_in_its_own_epoch(
    postgres: PostgresServer,
    schema: str,
    store: EventStore,
    monkeypatch: pytest.MonkeyPatch,
    cut: Cut,
) -> None:
    """Its connection is cut, and the server crashes before it is asked what became of it."""
    one = Link.one

    def crash_first(link: Link, statement: str, *values: Any) -> Any:
        if "pg_terminate_backend" in statement:
            monkeypatch.undo()
            with losing_what_is_not_on_disk(postgres):
                pass
            until(lambda: is_back(postgres))
        return one(link, statement, *values)

    with (
        proxying(postgres.socket) as proxy,
        closing(open_event_log(postgres.url(schema, **proxy.parameters))) as cut_off,
    ):
        cut_off.append([created("a")])
        planned = prepared([changed("a", 2), changed("a", 3)], epoch=cut_off.epoch())
        monkeypatch.setattr(Link, "one", crash_first)
        proxy.cut_next(cut)
        (result,) = cut_off.append_group([planned])
        assert proxy.cuts == 1

    stored = recorded(store)[1:]
    if cut is Cut.AFTER:
        assert (result, stored) == (3, [changed("a", 2), changed("a", 3)])
    else:
        assert isinstance(result, ConcurrentChange)
        assert stored == []


def test_pools_of_a_process_know_one_server(
    postgres: PostgresServer,
    schema: str,
    store: EventStore,
    connections: Connections,
    other: EventStore,
) -> None:
    """Or the one would go on with a primary that the other one knows to be overtaken."""
    address = read_address(postgres.url(schema), writable=True)
    with closing(Connections(address, what="lists")) as lists:
        with lists.use() as link:
            assert lists.is_usable(link)
        before, elsewhere = store.epoch(), other.epoch()
        postgres.stop()
        postgres.start()
        assert store.head() == 0

        assert lists.epoch == connections.epoch
        assert store.epoch() != before
        assert not lists.is_usable(link)
        with lists.use() as link:
            assert lists.is_usable(link)
        assert other.epoch() == elsewhere


def test_connection_that_is_refused_is_closed(
    postgres: PostgresServer, schema: str, store: EventStore
) -> None:
    """By a standby, which has so many places: somebody may want one to promote it."""
    with running_or_skipped(primary=postgres) as standby, proxying(postgres.socket) as proxy:
        url = postgres.url(schema, **proxy.parameters)
        with opened_log(url) as (led_away, connections):
            led_away.head()
            connections.wait_seconds = 0.5
            proxy.lead_to(standby.socket)
            proxy.cut_all()
            for _ in range(3):
                with pytest.raises(StoreUnavailable):
                    led_away.head()
            until(lambda: clients_of(standby) == 0)


def clients_of(server: PostgresServer) -> int:
    with server.connect() as connection:
        ((count,),) = connection.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'catalog'"
        ).fetchall()
    return int(count)
