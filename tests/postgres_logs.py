"""Logs in PostgreSQL, with connections whose patience a test sets, and of other releases."""

from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from domain.event_store.opening import open_event_log
from domain.event_store.postgres import schema as tables
from domain.event_store.postgres.address import read_address
from domain.event_store.postgres.connections import POOL_SIZE, Connections
from domain.event_store.postgres.log import PostgresEventStore


@contextmanager
def opened_log(url: str, size: int = POOL_SIZE) -> Iterator[tuple[PostgresEventStore, Connections]]:
    """The log at a URL, which is made if it is missing, and its connections."""
    open_event_log(url).close()
    address = read_address(url, writable=True)
    connections = Connections(address, size=size)
    with closing(PostgresEventStore(url, address, connections)) as store:
        yield store, connections


@contextmanager
def release_with(version: int, step: bytes | None = None) -> Iterator[None]:
    """A block in which this release makes tables of a version, `step` being what makes the next."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(tables, "VERSION", version)
        if step is not None:
            patched.setattr(tables, "read_step", lambda number: step)
        yield
