"""An older copy of the database, or one that was overtaken, takes the place of the server."""

from collections.abc import Iterator

import pytest

from benchmarks.postgres_server import PostgresServer, new_schema
from domain.errors import StoreUnavailable
from domain.event_store.port import EventStore
from domain.event_store.postgres.connections import Connections
from tests.contracts.recorded import created
from tests.postgres_copies import Copies
from tests.postgres_logs import opened_log


@pytest.fixture
def opened(postgres: PostgresServer) -> Iterator[tuple[EventStore, Connections]]:
    with opened_log(postgres.url(new_schema())) as opened:
        yield opened


@pytest.fixture
def store(opened: tuple[EventStore, Connections]) -> EventStore:
    return opened[0]


def test_start_of_the_server_begins_an_epoch(postgres: PostgresServer, store: EventStore) -> None:
    store.append([created("a")])
    epoch = store.epoch()
    assert store.head() == 1
    assert store.epoch() == epoch
    postgres.stop()
    postgres.start()
    assert store.head() == 1
    assert store.epoch() != epoch


def test_server_that_was_overtaken_is_refused(
    postgres: PostgresServer, opened: tuple[EventStore, Connections], copies: Copies
) -> None:
    store, connections = opened
    store.append([created("a")])
    copies.keep("older")
    postgres.promote()
    assert store.append([created("b")]) == 2
    copies.keep("newer")
    copies.put_back("older")
    patience = connections.wait_seconds
    connections.wait_seconds = 0.3
    try:
        for ask in (store.head, lambda: store.append([created("c")])):
            with pytest.raises(StoreUnavailable, match="its database is away"):
                ask()
    finally:
        copies.put_back("newer")
    connections.wait_seconds = patience
    assert store.append([created("c")]) == 3
