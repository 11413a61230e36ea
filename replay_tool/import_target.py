"""The target of an imported log: beside its final place until it is whole."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from domain.errors import Conflict
from domain.event_store.opening import database_note, holds_log, move_log
from domain.event_store.port import EventStore
from projections.feeding.daemon import ProjectorLock
from projections.wiring.stores import make_directory, open_log

_UNFINISHED = "import.new"
"""The directory, inside the data directory, of a log that is not whole yet."""
_DERIVED = ("entities*", "search*")
"""Patterns of the names that read models have in a data directory."""


@contextmanager
def open_import(data: Path, database: str | None) -> Iterator[EventStore]:
    """An empty log to fill, which is the log of a data directory once the block has ended.

    Nothing that this makes stays when the block raises, but for the tables of a database, and the
    directory with its lock; what a killed import left is thrown away. An empty log that is there
    already, or that of a database, is filled in its place. Raises Conflict for a directory with
    read models, and StoreUnavailable when a process projects it.
    """
    # Not the file of the lock: another process may hold it as soon as this one does not, and the
    # next one would make a file, and have a lock, of its own.
    made = (database_note(data), data, *data.parents)
    absent = [path for path in made if not path.exists()]
    make_directory(data)
    try:
        with ProjectorLock(data):
            derived = sorted(path.name for pattern in _DERIVED for path in data.glob(pattern))
            if derived:
                raise Conflict(f"{data} holds read models of another log: {', '.join(derived)}")
            if database or holds_log(data):
                with _opened(data, database) as log:
                    yield log
            else:
                with _unfinished(data / _UNFINISHED) as directory:
                    with _opened(directory) as log:
                        yield log
                    move_log(directory, data)
    except BaseException:
        for path in absent:
            # A directory stays that the lock is in, or what others have put there.
            with suppress(OSError):
                path.rmdir() if path.is_dir() else path.unlink()
        raise


@contextmanager
def _opened(directory: Path, database: str | None = None) -> Iterator[EventStore]:
    log = open_log(directory, database)
    try:
        yield log
    finally:
        log.close()


@contextmanager
def _unfinished(directory: Path) -> Iterator[Path]:
    """An empty directory for the length of a block."""
    shutil.rmtree(directory, ignore_errors=True)
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)
