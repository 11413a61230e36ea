"""Opens a log by its address; the only module that knows the database of an address."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from domain.errors import Conflict, InvalidInput, StoreUnavailable
from domain.event_store.database_url import is_url
from domain.event_store.port import EventStore
from domain.event_store.sqlite.log import open_sqlite_log
from domain.event_store.sqlite.replacing import Replaced, refuse_unfinished, replace_log
from domain.machine import durable_files
from domain.machine.storage_errors import storage_errors
from domain.machine.write_turns import WriteTurns

_FILE = "events.db"


def address_in(directory: Path, database: str | None = None) -> str:
    """The address of the log of a data directory: the URL of a database, or a file in it.

    Raises InvalidInput for a malformed URL, and Conflict when the log of the directory is
    elsewhere: a file where a database is named, or a database where none is. Raises
    StoreUnavailable while the log is only half replaced by a copy.
    """
    refuse_unfinished(directory)
    file, note = directory / _FILE, database_note(directory)
    if database:
        if not is_url(database):
            raise InvalidInput("the database of the log must be a URL like postgresql://host/name")
        if file.exists():
            raise Conflict(
                f"{directory} has a log of its own, {_FILE}, while a database is named: import an"
                " export of it into the database, with a new data directory"
            )
        return database
    if note.exists():
        raise Conflict(
            f"the log of {directory} is in a database: name it with CATALOG_DATABASE_URL"
        )
    return str(file)


def holds_log(directory: Path) -> bool:
    """True if a data directory holds a log, or belongs to hosts whose log is in a database."""
    return (directory / _FILE).exists() or database_note(directory).exists()


def begins_log(directory: Path) -> bool:
    """True if opening the log of a data directory, where no database is named, makes a new one."""
    file = directory / _FILE
    return not holds_log(directory) or (file.exists() and file.stat().st_size == 0)


def database_note(directory: Path) -> Path:
    """The file in a data directory that says that its log is in a database."""
    return directory / "log-in-database"


def note_database(directory: Path) -> None:
    """Record in a data directory that its log is in a database.

    Without that, a server that is started there without the database's URL would begin a new log.
    Raises StoreUnavailable.
    """
    with storage_errors(f"{directory} cannot be written"):
        database_note(directory).touch()


def move_log(source: Path, target: Path) -> None:
    """Move a closed log from one directory into another that holds none, on one file system.

    When this returns, the move survives power loss. Raises Conflict when the other directory holds
    a log by now, StoreUnavailable when the log cannot be moved or was not written to its end.
    """
    # The lock of those who wrote to it stays where it is, as all locks do.
    lock = WriteTurns(source / _FILE).path.name
    if {path.name for path in source.iterdir()} - {lock} != {_FILE}:
        raise StoreUnavailable(f"the log in {source} could not be written to its end")
    try:
        # Not a rename, which would replace a log that another process has begun.
        os.link(source / _FILE, target / _FILE)
        (source / _FILE).unlink()
        durable_files.sync(target)
    except FileExistsError:
        raise Conflict(f"another process has begun a log in {target}") from None
    except OSError as error:
        raise StoreUnavailable(f"the log cannot be moved to {target}: {error}") from error


def restore_copy(copy: Path, directory: Path) -> Replaced:
    """Put a copy of a log, a file that SQLite's backup has made, in the place of a directory's log.

    The log that is replaced is kept beside it. A crash leaves the one or the other, or a directory
    that `address_in` refuses until this is done again. When this returns, the copy survives power
    loss. Raises InvalidInput for a file that is no whole log, Conflict when the directory's log is
    of another catalog or in a database, and StoreUnavailable when another process has the log open
    or the files cannot be written.
    """
    if database_note(directory).exists():
        raise Conflict(
            f"the log of {directory} is in a database, which has backups of its own:"
            " docs/postgresql.md"
        )
    return replace_log(copy, directory / _FILE)


def open_event_log(
    address: Path | str, *, writable: bool = True, is_there: bool = False
) -> EventStore:
    """The log at an address: a SQLite file, a SQLite URI beginning with `file:`, or a database URL.

    A log opened writable is made when it is missing, but not in a database where the caller expects
    that it `is_there`; whether there is a file, the caller knows. Raises StoreUnavailable when it
    cannot be opened, and InvalidInput for a URL that is none.
    """
    if not is_url(str(address)):
        return open_sqlite_log(str(address), writable=writable)
    with needing_the_extra():
        from domain.event_store.postgres.log import open_postgres_log  # noqa: PLC0415 - an extra
    return open_postgres_log(str(address), writable=writable, make=writable and not is_there)


def migrate_log(url: str) -> tuple[int, int]:
    """Make or upgrade the tables of a log in a database; returns the versions before and after.

    Raises InvalidInput for a URL that is none, StoreUnavailable, and Conflict for a database that
    cannot hold a log.
    """
    with needing_the_extra():
        from domain.event_store.postgres.log import migrate_postgres_log  # noqa: PLC0415 - as above
    return migrate_postgres_log(url)


@contextmanager
def needing_the_extra(
    what: str = "a catalog in PostgreSQL", extra: str = "postgres"
) -> Iterator[None]:
    """Raise StoreUnavailable, which names the extra to install, where the block lacks a library."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise StoreUnavailable(
            f"{what} needs the extra metadata-catalog[{extra}]: {error}"
        ) from error
