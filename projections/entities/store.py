"""The SQLite file of the sorted read model, its tables and its connections.

`entities` is keyed by the order of lists, so a page is a range scan; deletion state comes
before the name because lists leave the soft-deleted out by default. `scopes` holds the same
order once more for each entity that a list can be narrowed to (a service, a schema, the entity
of a contract). `counters` holds every total and `digests` the sum of the digests of each kind's
rows, both kept in the transaction that changes the rows.
"""

import sqlite3
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from weakref import WeakSet

from domain.errors import StoreUnavailable
from projections.feeding.port import Damaged

TABLES = """
CREATE TABLE IF NOT EXISTS entities (
    kind TEXT NOT NULL, deleted INTEGER NOT NULL, name TEXT NOT NULL, id TEXT NOT NULL,
    fqn TEXT NOT NULL, status TEXT, scopes TEXT NOT NULL, position INTEGER NOT NULL,
    core BLOB NOT NULL, optional BLOB NOT NULL, digest BLOB NOT NULL,
    PRIMARY KEY (kind, deleted, name, id)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS scopes (
    scope TEXT NOT NULL, kind TEXT NOT NULL, deleted INTEGER NOT NULL, name TEXT NOT NULL,
    id TEXT NOT NULL, status TEXT,
    PRIMARY KEY (scope, kind, deleted, name, id)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS counters (
    kind TEXT NOT NULL, scope TEXT NOT NULL, deleted INTEGER NOT NULL, status TEXT NOT NULL,
    n INTEGER NOT NULL,
    PRIMARY KEY (kind, scope, deleted, status)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS digests (
    kind TEXT PRIMARY KEY, n INTEGER NOT NULL, sum BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS checkpoint (
    one INTEGER PRIMARY KEY CHECK (one = 1), position INTEGER NOT NULL, mark TEXT NOT NULL);
"""
INDEXES = """
CREATE UNIQUE INDEX IF NOT EXISTS entities_by_id ON entities (id);
CREATE UNIQUE INDEX IF NOT EXISTS entities_by_fqn ON entities (kind, fqn);
CREATE INDEX IF NOT EXISTS entities_by_status ON entities (kind, deleted, status, name, id)
    WHERE status IS NOT NULL;
"""
INSERT_ROW = "INSERT INTO entities VALUES (?,?,?,?,?,?,?,?,?,?,?)"
PAGE_BYTES = 16_384
"""Rows of some kilobytes without a rowid: on small pages nearly each would overflow."""
MOST_WAL_BYTES = 64 * 1024 * 1024
"""To which a write-ahead log is cut that grew while somebody kept a snapshot."""

_DIGEST_MODULUS = 1 << 128


class _Connection(sqlite3.Connection):
    """Closed when its thread is gone: threads of a pool come and go, files must not pile up."""

    def __del__(self) -> None:
        # One that could not be opened has nothing to close.
        with suppress(sqlite3.ProgrammingError):
            self.close()


class EntityStore:
    """One connection per thread onto the file; made by `open_entity_store`."""

    def __init__(self, path: Path, *, writable: bool) -> None:
        self.path = path
        self._mode = "rwc" if writable else "rw"
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

    def hand_over(self) -> None:
        """Leave this thread's connection to the caller, who closes it; the next one is another."""
        self._local.connection = None

    def connect(self) -> _Connection:
        """A connection of the caller's own, who closes it."""
        # A file that is gone must be told, not made anew: hence the mode.
        connection = sqlite3.connect(
            f"{self.path.absolute().as_uri()}?mode={self._mode}",
            uri=True,
            isolation_level=None,
            check_same_thread=False,
            factory=_Connection,
        )
        # The read model can be rebuilt, so it need not be synced at each commit.
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute("PRAGMA busy_timeout=5000")
        connection.execute(f"PRAGMA page_size={PAGE_BYTES}")
        connection.execute("PRAGMA wal_autocheckpoint=4000")
        connection.execute(f"PRAGMA journal_size_limit={MOST_WAL_BYTES}")
        connection.execute("PRAGMA cache_size=-16384")
        connection.execute("PRAGMA mmap_size=1073741824")
        return connection

    def checkpoint(self) -> int:
        """The position of the log up to which the rows are current."""
        return self.anchor()[0]

    def anchor(self) -> tuple[int, str]:
        """The checkpoint and which event of which log stands there; 0 and "" at first."""
        with sqlite_errors():
            row = self.connection.execute("SELECT position, mark FROM checkpoint").fetchone()
        return (0, "") if row is None else row

    def count(self) -> int:
        """The number of entities, soft-deleted ones included."""
        with sqlite_errors():
            row = self.connection.execute("SELECT sum(n) FROM digests").fetchone()
        return row[0] or 0

    def deleted(self) -> dict[str, int]:
        """Kind -> how many of its entities are soft-deleted."""
        with sqlite_errors():
            rows = self.connection.execute(
                "SELECT kind, sum(n) FROM counters WHERE scope = '' AND deleted = 1 GROUP BY kind"
            ).fetchall()
        return dict(rows)

    def digests(self) -> Mapping[str, tuple[int, int]]:
        """Kind -> number of rows and sum of their digests, as kept while events were applied."""
        with sqlite_errors():
            return read_digests(self.connection)

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All of what happens inside, or nothing; raises StoreUnavailable."""
        with sqlite_errors():
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

    @contextmanager
    def snapshot(self) -> Iterator[sqlite3.Connection]:
        """A connection that sees one consistent state of the file, however long it reads."""
        with sqlite_errors():
            connection = self.connect()
            try:
                # A scan through a memory map would count as this process's memory.
                connection.execute("PRAGMA mmap_size=0")
                connection.execute("BEGIN")
                yield connection
            finally:
                connection.close()

    def prepare(self) -> None:
        """Make the tables that are missing."""
        with sqlite_errors():
            self.connection.execute("PRAGMA journal_mode=WAL")
            self.connection.executescript(TABLES + INDEXES)

    def settle(self) -> None:
        """Move everything committed into the file itself, as far as readers let it."""
        with sqlite_errors():
            self.connection.execute("PRAGMA busy_timeout=0")
            self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        """Close every thread's connection; nothing may use the store afterwards."""
        with self._lock:
            for connection in self._opened:
                connection.close()
            self._opened.clear()


def open_entity_store(path: Path, *, writable: bool = True) -> EntityStore:
    """The store in the file at `path`, made when it is missing and `writable`.

    Raises Damaged when only building it anew helps, else StoreUnavailable.
    """
    store = EntityStore(path, writable=writable)
    try:
        if writable:
            store.prepare()
        else:
            store.checkpoint()
    except BaseException:
        store.close()
        raise
    return store


def read_digests(connection: sqlite3.Connection) -> dict[str, tuple[int, int]]:
    """Kind -> number of rows and sum of their digests."""
    rows = connection.execute("SELECT kind, n, sum FROM digests WHERE n > 0 ORDER BY kind")
    return {kind: (n, int.from_bytes(total, "big")) for kind, n, total in rows}


def add_digests(connection: sqlite3.Connection, changes: Mapping[str, tuple[int, int]]) -> None:
    """Add to each kind's number of rows and sum of digests; both may be negative."""
    known = connection.execute("SELECT kind, n, sum FROM digests").fetchall()
    held = {kind: (n, int.from_bytes(total, "big")) for kind, n, total in known}
    rows = []
    for kind, (n, total) in changes.items():
        before, sum_before = held.get(kind, (0, 0))
        whole = (sum_before + total) % _DIGEST_MODULUS
        rows.append((kind, before + n, whole.to_bytes(16, "big")))
    connection.executemany("INSERT OR REPLACE INTO digests VALUES (?,?,?)", rows)


@contextmanager
def sqlite_errors() -> Iterator[None]:
    """The one place where the driver's errors become the catalog's."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorname", "").startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
            raise Damaged(f"the sorted read model is damaged: {error}") from error
        if isinstance(error, sqlite3.OperationalError):
            if str(error).startswith(("no such table", "no such column")):
                raise Damaged(f"the sorted read model has other tables: {error}") from error
            raise StoreUnavailable(f"the sorted read model cannot be used: {error}") from error
        raise
