"""Opens a log by its address; the one place that knows which database an address means."""

import os
from pathlib import Path

from domain.errors import Conflict, StoreUnavailable
from domain.event_store.port import EventStore
from domain.event_store.sqlite.log import open_sqlite_log

_FILE = "events.db"


def address_in(directory: Path) -> str:
    """The address of the log that a data directory holds, or will hold once it is opened."""
    return str(directory / _FILE)


def holds_log(directory: Path) -> bool:
    """Whether a data directory holds a log."""
    return (directory / _FILE).exists()


def move_log(source: Path, target: Path) -> None:
    """Move a closed log from one directory into another that holds none, on one file system.

    When this returns, the move survives power loss. Raises Conflict when the other directory holds
    a log by now, StoreUnavailable when the log cannot be moved or was not written to its end.
    """
    if sorted(path.name for path in source.iterdir()) != [_FILE]:
        raise StoreUnavailable(f"the log in {source} could not be written to its end")
    try:
        # Not a rename, which would replace a log that another process has begun.
        os.link(source / _FILE, target / _FILE)
        (source / _FILE).unlink()
        descriptor = os.open(target, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except FileExistsError:
        raise Conflict(f"another process has begun a log in {target}") from None
    except OSError as error:
        raise StoreUnavailable(f"the log cannot be moved to {target}: {error}") from error


def open_event_log(address: Path | str, *, writable: bool = True) -> EventStore:
    """The log at an address: the path of a SQLite file or a SQLite URI beginning with `file:`.

    A log opened writable is made when it is missing. Raises StoreUnavailable when it cannot be
    opened.
    """
    return open_sqlite_log(str(address), writable=writable)
