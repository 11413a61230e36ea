"""Appends are announced to every host of a log, and to nobody else."""

import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from benchmarks.postgres_server import PostgresServer, new_schema
from domain.event_store.appends import prepared
from domain.event_store.opening import open_event_log
from domain.event_store.port import Announcements, EventStore
from tests.contracts.recorded import changed, created
from tests.domain.event_store.postgres.proxy import proxying
from tests.waiting import until

LISTENERS = "SELECT count(*) FROM pg_stat_activity WHERE query = 'LISTEN \"{}\"'"


class Ear:
    """Counts what it is told."""

    def __init__(self) -> None:
        self.times = 0
        self._told = threading.Condition()

    def tell(self) -> None:
        with self._told:
            self.times += 1
            self._told.notify_all()

    def wait(self, times: int) -> None:
        """Until it was told so many times; fails after ten seconds."""
        with self._told:
            assert self._told.wait_for(lambda: self.times >= times, timeout=60)


@contextmanager
def hearing(log: EventStore) -> Iterator[tuple[Ear, Announcements]]:
    """One who hears what is appended from here on."""
    ear = Ear()
    with closing(log.announcements(ear.tell)) as announcements:
        # It is told when it begins to hear.
        ear.wait(1)
        yield ear, announcements


@pytest.fixture
def schema() -> str:
    return new_schema()


@pytest.fixture
def log(postgres: PostgresServer, schema: str) -> Iterator[EventStore]:
    with closing(open_event_log(postgres.url(schema))) as store:
        yield store


@pytest.fixture
def other(postgres: PostgresServer, schema: str, log: EventStore) -> Iterator[EventStore]:
    """The log as another host has it open."""
    with closing(open_event_log(postgres.url(schema))) as store:
        yield store


def test_appends_of_each_way_are_announced_to_other_hosts(
    log: EventStore, other: EventStore
) -> None:
    with hearing(log) as (ear, announcements):
        assert announcements.are_heard()
        other.append([created("a")])
        ear.wait(2)
        # A group is a transaction, and announced as one.
        other.append_group([prepared([created("b")]), prepared([created("c")])])
        ear.wait(3)
        assert [each.position for each in log.read(0, 9)] == [1, 2, 3]


def test_what_is_refused_is_not_announced(log: EventStore, other: EventStore) -> None:
    other.append([created("a")])
    with hearing(log) as (ear, _):
        other.append_group([prepared([changed("a", 7)]), prepared([created("a2", "a")])])
        other.append([created("b")])
        ear.wait(2)
        assert ear.times == 2


def test_appends_to_another_log_in_the_database_are_not_heard(
    postgres: PostgresServer, log: EventStore
) -> None:
    with (
        closing(open_event_log(postgres.url(new_schema()))) as stranger,
        hearing(stranger) as (foreign, _),
        hearing(log) as (ear, _),
    ):
        stranger.append([created("a")])
        foreign.wait(2)
        log.append([created("a")])
        ear.wait(2)
        assert (foreign.times, ear.times) == (2, 2)


def test_lost_connection_is_told_and_replaced(
    postgres: PostgresServer, schema: str, other: EventStore
) -> None:
    with (
        proxying(postgres.socket) as proxy,
        closing(open_event_log(postgres.url(schema, **proxy.parameters))) as log,
        hearing(log) as (ear, announcements),
    ):
        proxy.cut_all()
        # Told that it is not heard, so that somebody looks, and that it is heard again.
        ear.wait(3)
        until(announcements.are_heard)
        other.append([created("a")])
        ear.wait(4)


def test_server_that_is_started_anew_is_listened_to(
    postgres: PostgresServer, log: EventStore, other: EventStore
) -> None:
    with hearing(log) as (ear, announcements):
        postgres.stop("immediate")
        ear.wait(2)
        assert not announcements.are_heard()
        postgres.start()
        until(announcements.are_heard)
        heard = ear.times
        other.append([created("a")])
        ear.wait(heard + 1)


def test_end_of_announcements_ends_thread_and_session(
    postgres: PostgresServer, schema: str, log: EventStore
) -> None:
    def sessions() -> int:
        with postgres.connect() as connection:
            row = connection.execute(LISTENERS.format(schema).encode()).fetchone()
        assert row is not None
        return int(row[0])

    with hearing(log):
        assert sessions() == 1
    until(lambda: sessions() == 0)
    assert "log-listener" not in [each.name for each in threading.enumerate()]


def test_file_announces_nothing(tmp_path: Path) -> None:
    with closing(open_event_log(tmp_path / "events.db")) as log:
        announcements = log.announcements(lambda: None)
        assert not announcements.are_heard()
        announcements.close()
