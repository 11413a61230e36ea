"""The catalog's errors for those of PostgreSQL."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import psycopg

from domain.event_store.postgres.connections import unavailable
from projections.feeding.port import Superseded

WHAT = "the sorted read model"
"""The store that cannot be used, in the messages of errors."""
_GONE = (psycopg.errors.UndefinedTable, psycopg.errors.InvalidSchemaName)


def raise_as_ours(error: psycopg.Error) -> NoReturn:
    """Raise Superseded where the tables are gone, else StoreUnavailable."""
    if isinstance(error, _GONE):
        raise Superseded(
            "the tables of this generation of the sorted read model are gone"
        ) from error
    raise unavailable(error, what=WHAT) from error


@contextmanager
def postgres_errors() -> Iterator[None]:
    """Raise errors of PostgreSQL in the block as `raise_as_ours` does."""
    try:
        yield
    except psycopg.Error as error:
        raise_as_ours(error)
