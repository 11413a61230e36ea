"""Hosts whose clocks differ from that of the database are told, and too far off do not write."""

import time
from collections.abc import Iterator
from contextlib import closing

import pytest

from benchmarks.postgres_server import PostgresServer, new_schema
from domain.errors import StoreUnavailable
from domain.event_store.opening import open_event_log
from domain.event_store.port import EventStore
from domain.event_store.postgres import clock
from tests.contracts.recorded import created


@pytest.fixture
def log(postgres: PostgresServer) -> Iterator[EventStore]:
    with closing(open_event_log(postgres.url(new_schema()))) as store:
        yield store


def set_clock(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Have the clock of this host differ from that of the database, which is on this machine."""
    monkeypatch.setattr(clock, "wall_clock", lambda: time.time() + seconds)


def told(caplog: pytest.LogCaptureFixture) -> list[int]:
    """The differences that the log was told of."""
    return [round(vars(each)["seconds"]) for each in caplog.records if each.name == "catalog.log"]


@pytest.mark.parametrize(("seconds", "side"), [(90, "90 s ahead of"), (-86_400, "86400 s behind")])
def test_clock_that_is_set_far_off_stops_writes_and_no_reads(
    log: EventStore, monkeypatch: pytest.MonkeyPatch, seconds: float, side: str
) -> None:
    log.append([created("a")])
    set_clock(monkeypatch, seconds)
    with pytest.raises(StoreUnavailable, match=f"the clock of this host is {side} that of"):
        log.append([created("b")])
    assert log.clock_fault() == f"the clock of this host is {side} that of the database of the log"
    assert [each.entity_id for each in log.read(0, 9)] == ["a"]
    # As soon as it is right again, also within the minute.
    set_clock(monkeypatch, 0)
    assert log.clock_fault() is None
    assert log.append([created("b")]) == 2


def test_clock_that_is_somewhat_off_is_told_once_and_writes(
    log: EventStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    log.append([created("a")])
    assert told(caplog) == []
    for seconds in (30, 40, 0, -30):
        set_clock(monkeypatch, seconds)
        log.append([created(f"at {seconds}")])
    assert told(caplog) == [30, -30]


def test_clocks_are_compared_once_a_minute_and_not_for_each_append(
    log: EventStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    log.append([created("a")])
    looks: list[float] = []

    def wall_clock() -> float:
        looks.append(time.time())
        return looks[-1]

    monkeypatch.setattr(clock, "wall_clock", wall_clock)
    for number in range(5):
        log.append([created(f"b{number}")])
    # One look each, at this host's clock alone; a comparison takes two more.
    assert len(looks) == 5
