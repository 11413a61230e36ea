"""Opens a log by its address; the one place that knows which database an address means."""

from pathlib import Path

from domain.event_store.port import EventStore
from domain.event_store.sqlite.log import open_sqlite_log

_FILE = "events.db"


def address_in(directory: Path) -> str:
    """The address of the log that a data directory holds, or will hold once it is opened."""
    return str(directory / _FILE)


def holds_log(directory: Path) -> bool:
    """Whether a data directory holds a log."""
    return (directory / _FILE).exists()


def open_event_log(address: Path | str, *, writable: bool = True) -> EventStore:
    """The log at an address: the path of a SQLite file or a SQLite URI beginning with `file:`.

    A log opened writable is made when it is missing. Raises StoreUnavailable when it cannot be
    opened.
    """
    return open_sqlite_log(str(address), writable=writable)
