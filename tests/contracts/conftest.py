"""The databases that every event store port suite runs over."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from uuid import uuid4

import pytest

from domain.event_store.opening import open_event_log
from domain.event_store.port import EventStore

OpenStore = Callable[[], EventStore]
Remove = Callable[[EventStore, int], None]


@pytest.fixture(params=["sqlite file", "sqlite in shared memory"])
def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OpenStore]:
    """Opens the same database anew at each call, as another process would."""
    address = {
        "sqlite file": str(tmp_path / "events.db"),
        "sqlite in shared memory": f"file:{uuid4()}?mode=memory&cache=shared",
    }[request.param]
    yield from opener(address)


@pytest.fixture(params=["sqlite file"])
def open_shared_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OpenStore]:
    """As `open_store`, over databases that other processes can open by their address."""
    yield from opener(str(tmp_path / "events.db"))


@pytest.fixture
def store(open_store: OpenStore) -> EventStore:
    return open_store()


@pytest.fixture
def other_store() -> Iterator[EventStore]:
    """An empty store beside the one under test."""
    store = open_event_log(f"file:{uuid4()}?mode=memory&cache=shared")
    yield store
    store.close()


@pytest.fixture
def remove() -> Remove:
    """Takes an event out of the database of a store, as an intruder would."""

    def remove(store: EventStore, position: int) -> None:
        with closing(sqlite3.connect(store.address, uri=True)) as connection, connection:
            statement = "DELETE FROM stored_events WHERE rowid = ?"
            assert connection.execute(statement, (position,)).rowcount == 1

    return remove


def opener(address: str) -> Iterator[OpenStore]:
    opened: list[EventStore] = []

    def open_one() -> EventStore:
        opened.append(open_event_log(address))
        return opened[-1]

    yield open_one
    for store in opened:
        store.close()
