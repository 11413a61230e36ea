"""Connections are lent, given back in whatever state they are, and closed when nobody uses them."""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress

import psycopg
import pytest
from psycopg.pq import TransactionStatus

from benchmarks.postgres_server import PostgresServer
from domain.errors import StoreUnavailable
from domain.event_store.postgres.address import read_address
from domain.event_store.postgres.connections import Connections
from domain.event_store.postgres.link import Link

Take = Callable[[], Link]


@pytest.fixture
def connections(postgres: PostgresServer) -> Iterator[Connections]:
    address = read_address(postgres.url("catalog"), writable=True)
    with closing(Connections(address, size=2)) as connections:
        yield connections


@pytest.fixture
def take(connections: Connections) -> Iterator[Take]:
    """Takes a connection, which is closed after the test."""
    with ExitStack() as stack:
        yield lambda: stack.enter_context(closing(connections.take()))


def test_connection_that_was_given_back_last_is_taken_first(
    connections: Connections, take: Take
) -> None:
    first, second = take(), take()
    connections.give_back(first)
    connections.give_back(second)
    assert take() is second
    assert take() is first


def test_connection_that_nobody_uses_is_closed_when_another_is_given_back(
    connections: Connections, take: Take
) -> None:
    idle, used = take(), take()
    connections.give_back(idle)
    connections.give_back(used)
    assert not idle.closed

    connections.idle_seconds = 0
    connections.give_back(take())
    assert (idle.closed, used.closed) == (True, False)


@pytest.mark.parametrize("statement", ["SELECT 1", "SELECT 1/0"])
def test_transaction_that_was_left_open_is_rolled_back(
    connections: Connections, take: Take, statement: str
) -> None:
    link = take()
    link.execute("BEGIN")
    with suppress(psycopg.errors.DivisionByZero):
        link.execute(statement.encode())
    connections.give_back(link)
    assert take() is link
    assert link.pgconn.transaction_status == TransactionStatus.IDLE


def test_connection_whose_statement_still_runs_is_closed(
    connections: Connections, take: Take
) -> None:
    link = take()
    link.pgconn.send_query(b"SELECT pg_sleep(60)")
    connections.give_back(link)
    assert link.closed
    assert take() is not link


def test_connection_in_use_is_closed_once_it_is_given_back_after_the_end(
    connections: Connections, take: Take
) -> None:
    links = [take() for _ in range(2)]
    connections.give_back(links[0])
    connections.close()
    assert [link.closed for link in links] == [True, False]
    connections.give_back(links[1])
    assert links[1].closed


def test_place_is_free_again_for_whoever_waits(connections: Connections, take: Take) -> None:
    links = [take() for _ in range(2)]
    back = threading.Timer(0.1, connections.give_back, [links[0]])
    back.start()
    assert take() is links[0]
    back.join()


@pytest.mark.parametrize("others_are_answered", [True, False])
def test_database_that_has_answered_others_meanwhile_is_not_told_to_be_away(
    connections: Connections,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    others_are_answered: bool,
) -> None:
    connect = connections.connect

    def ask_in_vain() -> Link:
        if others_are_answered:
            connect().close()
        raise StoreUnavailable("no answer")

    connect().close()
    connections.wait_seconds = 0
    monkeypatch.setattr(connections, "connect", ask_in_vain)
    with pytest.raises(StoreUnavailable, match="its database is away"):
        connections.take()
    said = [record.message for record in caplog.records]
    assert said == ["the database of the log is out of reach"] * (not others_are_answered)
