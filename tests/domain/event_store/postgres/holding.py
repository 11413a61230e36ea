"""Holds what appends to a log in PostgreSQL need, as another writer does."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from typing import Any


@contextmanager
def holding_the_order(store: Any) -> Iterator[None]:
    """Keep everybody from appending, as the transaction of another host does."""
    with closing(store._connections.connect()) as link, link.transaction():
        store._transactions.order(link)
        yield


def holding_a_connection(store: Any) -> AbstractContextManager[Any]:
    """Use a connection of the log's pool for a block."""
    connection: AbstractContextManager[Any] = store._connections.use()
    return connection
