"""The SQLite file of the sorted read model, its tables and its connections.

`entities` is keyed by the order of lists, so a page is a range scan; deletion state comes
before the name because lists leave the soft-deleted out by default. `scopes` holds the same
order once more for each entity that a list can be narrowed to (a service, a schema, the entity
of a contract). `counters` holds every total, kept in the transaction that changes the rows.
"""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from domain.errors import StoreUnavailable

_TABLES = """
CREATE TABLE IF NOT EXISTS entities (
    kind TEXT NOT NULL, deleted INTEGER NOT NULL, name TEXT NOT NULL, id TEXT NOT NULL,
    fqn TEXT NOT NULL, status TEXT, scopes TEXT NOT NULL, position INTEGER NOT NULL,
    core BLOB NOT NULL, optional BLOB NOT NULL,
    PRIMARY KEY (kind, deleted, name, id)) WITHOUT ROWID;
CREATE UNIQUE INDEX IF NOT EXISTS entities_by_id ON entities (id);
CREATE UNIQUE INDEX IF NOT EXISTS entities_by_fqn ON entities (kind, fqn);
CREATE INDEX IF NOT EXISTS entities_by_status ON entities (kind, deleted, status, name, id)
    WHERE status IS NOT NULL;
CREATE TABLE IF NOT EXISTS scopes (
    scope TEXT NOT NULL, kind TEXT NOT NULL, deleted INTEGER NOT NULL, name TEXT NOT NULL,
    id TEXT NOT NULL, status TEXT,
    PRIMARY KEY (scope, kind, deleted, name, id)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS counters (
    kind TEXT NOT NULL, scope TEXT NOT NULL, deleted INTEGER NOT NULL, status TEXT NOT NULL,
    n INTEGER NOT NULL,
    PRIMARY KEY (kind, scope, deleted, status)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS checkpoint (one INTEGER PRIMARY KEY CHECK (one = 1), position INTEGER);
"""
TABLES = ("entities", "scopes", "counters", "checkpoint")


class EntityStore:
    """One connection per thread onto the file; made by `open_entity_store`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._local = threading.local()
        self._opened: list[sqlite3.Connection] = []
        self._lock = threading.Lock()

    @property
    def connection(self) -> sqlite3.Connection:
        """This thread's connection, in autocommit mode."""
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = self.connect()
            with self._lock:
                self._opened.append(connection)
        return connection

    def connect(self) -> sqlite3.Connection:
        """A connection of the caller's own, who closes it."""
        connection = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
        # The read model can be rebuilt, so it need not be synced at each commit.
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute("PRAGMA busy_timeout=5000")
        # Rows of some kilobytes without a rowid: on small pages nearly each would overflow.
        connection.execute("PRAGMA page_size=16384")
        connection.execute("PRAGMA wal_autocheckpoint=4000")
        connection.execute("PRAGMA cache_size=-16384")
        connection.execute("PRAGMA mmap_size=1073741824")
        return connection

    def checkpoint(self) -> int:
        """The position of the log up to which the rows are current."""
        with errors_told():
            row = self.connection.execute("SELECT position FROM checkpoint").fetchone()
        return 0 if row is None else int(row[0])

    def count(self) -> int:
        """The number of entities, soft-deleted ones included."""
        with errors_told():
            row = self.connection.execute("SELECT sum(n) FROM counters WHERE scope = ''").fetchone()
        return row[0] or 0

    def close(self) -> None:
        """Close every thread's connection; nothing may use the store afterwards."""
        with self._lock:
            for connection in self._opened:
                connection.close()
            self._opened.clear()


def open_entity_store(path: Path) -> EntityStore:
    """The store in the file at `path`, made when it is missing; raises StoreUnavailable."""
    store = EntityStore(path)
    with errors_told():
        store.connection.execute("PRAGMA journal_mode=WAL")
        store.connection.executescript(_TABLES)
    return store


@contextmanager
def errors_told() -> Iterator[None]:
    """The one place where the driver's errors become the catalog's."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise StoreUnavailable(f"the sorted read model cannot be used now: {error}") from error
