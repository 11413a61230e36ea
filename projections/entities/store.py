"""The SQLite file of the sorted read model, its tables and its connections.

`entities` is keyed by the order of lists, so a page is a range scan; deletion state comes
before the name because lists leave the soft-deleted out by default. `scopes` holds the same
order once more for each entity that a list can be narrowed to (a service, a schema, the entity
of a contract). `counters` holds every total, kept in the transaction that changes the rows.
"""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from weakref import WeakSet

import structlog

from domain.errors import StoreUnavailable

log = structlog.get_logger("catalog.projections")

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


class _Connection(sqlite3.Connection):
    """Closed when its thread is gone: threads of a pool come and go, files must not pile up."""

    def __del__(self) -> None:
        # One that could not be opened has nothing to close.
        with suppress(sqlite3.ProgrammingError):
            self.close()


class EntityStore:
    """One connection per thread onto the file; made by `open_entity_store`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._local = threading.local()
        self._opened: WeakSet[_Connection] = WeakSet()
        self._lock = threading.Lock()

    @property
    def connection(self) -> sqlite3.Connection:
        """This thread's connection, in autocommit mode."""
        connection: _Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = self.connect()
            with self._lock:
                self._opened.add(connection)
        return connection

    def connect(self) -> _Connection:
        """A connection of the caller's own, who closes it."""
        connection = sqlite3.connect(
            self._path, isolation_level=None, check_same_thread=False, factory=_Connection
        )
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

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All of what happens inside, or nothing; raises StoreUnavailable."""
        with errors_told():
            connection = self.connection
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                # On a full disk SQLite has rolled back by itself.
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def clear(self) -> None:
        """Forget every row; a file that is damaged is replaced by an empty one."""
        try:
            with self.transaction() as connection:
                for table in TABLES:
                    connection.execute(f"DELETE FROM {table}")
        except Damaged:
            self.replace()

    def replace(self) -> None:
        """Put an empty file in the place of a damaged one."""
        self.close()
        self._local = threading.local()
        for suffix in ("", "-wal", "-shm"):
            self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)
        self.prepare()

    def prepare(self) -> None:
        """Make the tables that are missing."""
        with errors_told():
            self.connection.execute("PRAGMA journal_mode=WAL")
            self.connection.executescript(_TABLES)

    def close(self) -> None:
        """Close every thread's connection; nothing may use the store afterwards."""
        with self._lock:
            for connection in self._opened:
                connection.close()
            self._opened.clear()


class Damaged(StoreUnavailable):
    """The file is not as it was written; only building it anew helps."""


def open_entity_store(path: Path, *, writable: bool = True) -> EntityStore:
    """The store in the file at `path`, made when it is missing.

    A damaged file is replaced by an empty one, to be filled from the log, when `writable`.
    Raises StoreUnavailable.
    """
    store = EntityStore(path)
    try:
        store.prepare()
    except Damaged as error:
        if not writable:
            store.close()
            raise
        log.warning("the sorted read model is built anew", reason=error.message)
        store.replace()
    return store


@contextmanager
def errors_told() -> Iterator[None]:
    """The one place where the driver's errors become the catalog's."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorname", "") in ("SQLITE_CORRUPT", "SQLITE_NOTADB"):
            raise Damaged(f"the sorted read model is damaged: {error}") from error
        if isinstance(error, sqlite3.OperationalError):
            raise StoreUnavailable(f"the sorted read model cannot be used: {error}") from error
        raise
