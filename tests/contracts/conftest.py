"""The databases that the suites of ports run over, and the index of a cluster."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from uuid import uuid4

import pytest

from benchmarks.opensearch_server import OpenSearchServer
from benchmarks.postgres_server import PostgresServer, new_schema
from domain.event_store.database_url import is_url
from domain.event_store.opening import open_event_log
from domain.event_store.port import EventStore
from domain.event_store.postgres.address import read_address
from domain.event_store.postgres.connections import Connections
from tests.contracts.measurement_backends import Backend, file_backend, postgres_backend
from tests.opensearch_indexes import SharedIndex

OpenStore = Callable[[], EventStore]
Remove = Callable[[EventStore, int], None]


@pytest.fixture(params=["sqlite file", "sqlite in shared memory", "postgres"])
def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OpenStore]:
    """Opens the same database anew at each call, as another process would."""
    yield from opener(address_of(request, tmp_path))


@pytest.fixture(params=["sqlite file", "postgres"])
def open_shared_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OpenStore]:
    """As `open_store`, over databases that other processes can open by their address."""
    yield from opener(address_of(request, tmp_path))


def address_of(request: pytest.FixtureRequest, directory: Path) -> str:
    """The address of a new log in the database that a fixture asks for."""
    if request.param == "postgres":
        server: PostgresServer = request.getfixturevalue("postgres")
        return server.url(new_schema())
    return {
        "sqlite file": str(directory / "events.db"),
        "sqlite in shared memory": f"file:{uuid4()}?mode=memory&cache=shared",
    }[request.param]


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
        if is_url(store.address):
            statement = b"DELETE FROM events WHERE position = %s"
            with Connections(read_address(store.address, writable=True)).connect() as link:
                assert link.execute(statement, [position]).rowcount == 1
            return
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


@pytest.fixture(params=["file", "postgres"])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Backend]:
    """An empty backend of measurements, of either kind."""
    if request.param == "file":
        made = file_backend(tmp_path)
    else:
        made = postgres_backend(request.getfixturevalue("postgres"), tmp_path)
    yield made
    made.close()


@pytest.fixture(scope="session")
def shared_index(opensearch: OpenSearchServer) -> SharedIndex:
    """The index of a cluster that the suites of search engines share."""
    return SharedIndex(opensearch, "contracts")


@pytest.fixture(scope="session")
def filled_index(opensearch: OpenSearchServer) -> SharedIndex:
    """One that a module fills once for all of its tests that only read."""
    return SharedIndex(opensearch, "filled")


@pytest.fixture(scope="session")
def lasting_index(opensearch: OpenSearchServer) -> SharedIndex:
    """One for tests of the order of hits: what others have deleted counts until it is merged away,
    as the rarity of words in a cluster does."""
    return SharedIndex(opensearch, "lasting")
