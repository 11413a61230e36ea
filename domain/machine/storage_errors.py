"""Faults of the file system as the error of a store that cannot be used, and damage of a file."""

from collections.abc import Iterator
from contextlib import contextmanager

from domain.errors import StoreUnavailable


@contextmanager
def storage_errors(what: str) -> Iterator[None]:
    """Raise an OSError in the block, such as that of a full disk, as StoreUnavailable.

    `what` says what failed.
    """
    try:
        yield
    except OSError as error:
        raise StoreUnavailable(f"{what}: {error}") from error


def is_of_damage(error: Exception) -> bool:
    """True of an error by which SQLite says that its file is damaged, or no database at all."""
    return getattr(error, "sqlite_errorname", "").startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB"))
