"""The catalog's errors for those of SQLite."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from domain.errors import StoreUnavailable
from projections.feeding.port import Damaged


def raise_as_ours(error: sqlite3.DatabaseError) -> NoReturn:
    """Raise an error of SQLite as Damaged (build anew) or StoreUnavailable, any other as it is."""
    if getattr(error, "sqlite_errorname", "").startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        raise Damaged(f"the sorted read model is damaged: {error}") from error
    if isinstance(error, sqlite3.OperationalError):
        if str(error).startswith(("no such table", "no such column")):
            raise Damaged(f"the sorted read model has other tables: {error}") from error
        raise StoreUnavailable(f"the sorted read model cannot be used: {error}") from error
    raise error


@contextmanager
def sqlite_errors() -> Iterator[None]:
    """Raise errors of SQLite in the block as `raise_as_ours` does."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise_as_ours(error)
