"""An older copy of the database, or one that was overtaken, takes the place of the server."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from benchmarks.postgres_server import PostgresServer, new_schema
from domain.errors import StoreUnavailable
from domain.event_store.opening import open_event_log
from domain.event_store.port import EventStore
from tests.contracts.recorded import created
from tests.postgres_copies import Copies


@pytest.fixture
def store(postgres: PostgresServer) -> Iterator[EventStore]:
    with closing(open_event_log(postgres.url(new_schema()))) as store:
        yield store


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
    postgres: PostgresServer, store: EventStore, copies: Copies
) -> None:
    store.append([created("a")])
    copies.keep("older")
    postgres.promote()
    assert store.append([created("b")]) == 2
    copies.keep("newer")
    copies.put_back("older")
    try:
        for ask in (store.head, lambda: store.append([created("c")])):
            with pytest.raises(StoreUnavailable, match="its database is away"):
                ask()
    finally:
        copies.put_back("newer")
    assert store.append([created("c")]) == 3
