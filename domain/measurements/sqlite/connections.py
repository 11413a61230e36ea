"""Connections to the file of measurements, which make its tables, and its transactions."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from domain.errors import StoreUnavailable
from domain.machine.sqlite_transactions import writing
from domain.machine.write_turns import WriteTurns
from domain.measurements.bounds import OVERHEAD
from domain.measurements.reports import COST, USAGE

_BUSY_MS = 5_000


def size_of(row: str) -> str:
    """The SQL of the bytes that a row of the points is counted for."""
    return f"(length({row}.body) + length({row}.part) + {OVERHEAD})"


_TABLES = f"""
CREATE TABLE IF NOT EXISTS points (
    entity TEXT NOT NULL, series TEXT NOT NULL, part TEXT NOT NULL, at INTEGER NOT NULL,
    body BLOB NOT NULL, PRIMARY KEY (entity, series, part, at)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS points_by_time ON points (at);
CREATE INDEX IF NOT EXISTS points_summed ON points (series, part, at)
    WHERE series IN ('{USAGE}', '{COST}');
CREATE TABLE IF NOT EXISTS sizes (entity TEXT PRIMARY KEY, bytes INTEGER NOT NULL) WITHOUT ROWID;
INSERT OR IGNORE INTO sizes VALUES ('', 0);
CREATE TRIGGER IF NOT EXISTS point_added AFTER INSERT ON points BEGIN
    INSERT OR IGNORE INTO sizes VALUES (new.entity, 0);
    UPDATE sizes SET bytes = bytes + {size_of("new")} WHERE entity IN ('', new.entity);
END;
CREATE TRIGGER IF NOT EXISTS point_removed AFTER DELETE ON points BEGIN
    UPDATE sizes SET bytes = bytes - {size_of("old")} WHERE entity IN ('', old.entity);
    DELETE FROM sizes WHERE entity = old.entity AND bytes = 0;
END;
"""
"""Triggers keep the sizes; the size of all points together is under no entity."""


class Connections:
    """One connection for each thread; none is made before it is used."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._turns = WriteTurns(path)
        self._local = threading.local()
        self._opened: list[sqlite3.Connection] = []
        self._lock = threading.Lock()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """A transaction of this thread's connection, on disk when the block ends."""
        with self._turns.held(), self.reading() as connection, writing(connection):
            yield connection

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """This thread's connection; errors of SQLite are raised as StoreUnavailable."""
        try:
            yield self._connection()
        except sqlite3.Error as error:
            raise StoreUnavailable(f"measurements cannot be read or written: {error}") from error

    def close(self) -> None:
        """Close all connections; none may be used afterwards."""
        with self._lock:
            for connection in self._opened:
                connection.close()
            self._opened.clear()
        self._turns.close()

    def _connection(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
            with self._lock:
                self._opened.append(connection)
            connection.execute(f"PRAGMA busy_timeout={_BUSY_MS}")
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=FULL")
            connection.execute("PRAGMA journal_size_limit=16000000")
            connection.executescript(_TABLES)
            self._local.connection = connection
        return connection
