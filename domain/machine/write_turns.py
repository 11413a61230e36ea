"""Transactions that write to a SQLite file, and the turns of threads and processes that have them.

SQLite has them take turns too, but not for its checkpoints, which move what was written from the
write-ahead log into the file. Until 3.51.2, 3.50.6 and 3.44.5 a checkpoint that meets a commit of
another connection can, very rarely, leave a part of the write-ahead log out of the file ("WAL-reset
bug" in SQLite's documentation of write-ahead logging); many systems have such a version. A
connection makes its checkpoints at the end of its commits, so whoever commits in a turn makes them
in it.
"""

import fcntl
import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from domain.errors import StoreUnavailable

_FIRST_PAUSE, _LAST_PAUSE = 0.0005, 0.01
"""Seconds between two looks whether another process has ended its turn."""


class WriteTurns:
    """The turns of one file, for any thread; a process that dies ends its turn."""

    wait_seconds = 5.0
    """Seconds that a writer waits for its turn."""

    def __init__(self, database: Path) -> None:
        """Other processes take turns by a lock on `<database>.lock`, which nobody ever deletes."""
        self.path = database.with_name(f"{database.name}.lock")
        self._threads = threading.Lock()
        self._descriptor: int | None = None

    @contextmanager
    def held(self) -> Iterator[None]:
        """A turn for a block; raises StoreUnavailable when it does not come in time."""
        ends = time.monotonic() + self.wait_seconds
        if not self._threads.acquire(timeout=self.wait_seconds):
            raise self._busy()
        try:
            self._lock(ends)
            try:
                yield
            finally:
                if self._descriptor is not None:
                    fcntl.flock(self._descriptor, fcntl.LOCK_UN)
        finally:
            self._threads.release()

    def close(self) -> None:
        """Close the file of the lock, which ends a turn that was left open."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def _lock(self, ends: float) -> None:
        """Take the lock of the processes; raises StoreUnavailable."""
        pause = _FIRST_PAUSE
        while True:
            try:
                if self._descriptor is None:
                    self._descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= ends:
                    raise self._busy() from None
                time.sleep(pause)
                pause = min(2 * pause, _LAST_PAUSE)
            except OSError as error:
                raise StoreUnavailable(f"{self.path} cannot be locked: {error}") from error
            else:
                return

    def _busy(self) -> StoreUnavailable:
        return StoreUnavailable(f"another process has been writing to {self.path.stem} for long")


@contextmanager
def writing(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """A connection in a transaction that is committed when the block ends, or else rolled back.

    The connection must be in autocommit mode. Raises what SQLite raises.
    """
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield connection
        connection.execute("COMMIT")
    except BaseException:
        # On a full disk SQLite has rolled back by itself.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
