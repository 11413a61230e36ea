"""Holds the order of the appends to a log in PostgreSQL, as another writer does."""

from collections.abc import Iterator
from contextlib import closing, contextmanager

from domain.event_store.postgres.address import read_address
from domain.event_store.postgres.connections import Connections
from domain.event_store.postgres.transactions import Transactions


@contextmanager
def holding_the_order(url: str) -> Iterator[None]:
    """Keep everybody from appending, as the transaction of another host does."""
    address = read_address(url, writable=True)
    connections = Connections(address)
    with closing(connections.connect()) as link, link.transaction():
        Transactions(connections, address.schema).order(link)
        yield
