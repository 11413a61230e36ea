"""Faults of the file system as the error of a store that cannot be used."""

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
