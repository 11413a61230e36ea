"""Logs in PostgreSQL over connections of which a test sets the patience."""

from collections.abc import Iterator
from contextlib import closing, contextmanager

from domain.event_store.opening import open_event_log
from domain.event_store.postgres.address import read_address
from domain.event_store.postgres.connections import POOL_SIZE, Connections
from domain.event_store.postgres.log import PostgresEventStore


@contextmanager
def opened_log(url: str, size: int = POOL_SIZE) -> Iterator[tuple[PostgresEventStore, Connections]]:
    """The log at a URL, which is made if it is missing, and its connections."""
    open_event_log(url).close()
    address = read_address(url, writable=True)
    connections = Connections(address, size=size)
    connections.open()
    with closing(PostgresEventStore(url, address, connections)) as store:
        yield store, connections
