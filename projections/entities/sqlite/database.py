"""The SQLite file of the sorted read model: its connections, transactions, snapshots and errors."""

import asyncio
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import NoReturn
from weakref import WeakSet

from domain.errors import StoreUnavailable
from domain.kinds.names import name_key
from domain.machine.storage_errors import is_of_damage
from domain.machine.write_turns import writing
from projections.entities.sqlite.loop_state import LoopState
from projections.entities.sqlite.tables import INDEXES, MOST_WAL_BYTES, PAGE_BYTES, TABLES
from projections.feeding.port import Damaged

_FOREIGN_MS = 1_000
"""Milliseconds that a write waits for a program of others which has locked the file.

Its thread is often that of a request, which waits no longer than 2 s for lists.
"""

_WAL_PAGES = 4_000
"""Pages of the write-ahead log from which on a commit moves them into the file."""
_FEW_WAL_PAGES = 250
"""Pages of the log from which on the commit of a short transaction does so."""


def raise_as_ours(error: sqlite3.DatabaseError) -> NoReturn:
    """Raise Damaged for a file to be built anew, StoreUnavailable, or any other error unchanged."""
    if is_of_damage(error):
        raise Damaged(f"the sorted read model is damaged: {error}") from error
    if isinstance(error, sqlite3.OperationalError):
        if str(error).startswith(("no such table", "no such column")):
            raise Damaged(f"the sorted read model has other tables: {error}") from error
        raise StoreUnavailable(f"the sorted read model cannot be used: {error}") from error
    raise error


@contextmanager
def sqlite_errors() -> Iterator[None]:
    """Raise errors of SQLite in the block as `raise_as_ours` does."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise_as_ours(error)


class _Connection(sqlite3.Connection):
    """A connection that is closed when its thread is gone, as threads of a pool come and go."""

    def __del__(self) -> None:
        # A connection that could not be opened has nothing to close.
        with suppress(sqlite3.ProgrammingError):
            self.close()


class EntityDatabase:
    """The file, with one connection for each thread that reads, and one for all that write.

    A connection forgets the pages that it holds when another one has written.
    """

    def __init__(self, path: Path, *, writable: bool) -> None:
        self.path = path
        self._mode = "rwc" if writable else "rw"
        self._local = threading.local()
        self._opened: WeakSet[_Connection] = WeakSet()
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        """Held by the thread that writes."""

    @cached_property
    def writer(self) -> _Connection:
        """The connection of transactions that write, in autocommit mode otherwise."""
        connection = self._kept(self.connect())
        connection.execute(f"PRAGMA busy_timeout={_FOREIGN_MS}")
        return connection

    @property
    def connection(self) -> sqlite3.Connection:
        """The connection of the calling thread, in autocommit mode."""
        connection: _Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = self._kept(self.connect())
        return connection

    @property
    def loop_state(self) -> LoopState | None:
        """The state that pages of this thread's event loop share; None in a thread without one."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return None
        state: LoopState | None = getattr(self._local, "loop_state", None)
        if state is None or state.loop is not loop:
            state = self._local.loop_state = LoopState(self._kept(self.connect()), loop)
        return state

    def _kept(self, connection: _Connection) -> _Connection:
        """A new connection, which `close` closes."""
        with self._lock:
            self._opened.add(connection)
        return connection

    def hand_over(self) -> None:
        """Leave this thread's connection to the caller, who closes it; the next is a new one."""
        self._local.connection = None

    def connect(self) -> _Connection:
        """A new connection in autocommit mode, which the caller closes."""
        # The mode has a reader fail on a file that is gone, instead of making an empty one.
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
        connection.execute(f"PRAGMA wal_autocheckpoint={_WAL_PAGES}")
        connection.execute(f"PRAGMA journal_size_limit={MOST_WAL_BYTES}")
        connection.execute("PRAGMA cache_size=-16384")
        connection.execute("PRAGMA mmap_size=1073741824")
        connection.create_function(
            "name_key", 2, lambda kind, fqn: name_key(kind, fqn).hex(), deterministic=True
        )
        return connection

    @contextmanager
    def short_transaction(self) -> Iterator[sqlite3.Connection]:
        """A `transaction` that changes many pages and is one of many in a row.

        Its commit moves the write-ahead log into the file when the log is still small, because
        others wait meanwhile.
        """
        with self.transaction() as connection:
            connection.execute(f"PRAGMA wal_autocheckpoint={_FEW_WAL_PAGES}")
            yield connection
        # The smaller number was for that commit only.
        self.writer.execute(f"PRAGMA wal_autocheckpoint={_WAL_PAGES}")

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """The connection of writers, in a transaction that is committed when the block ends.

        Other threads wait meanwhile. An exception in the block rolls everything back. Raises
        StoreUnavailable.
        """
        with self._writing, sqlite_errors(), writing(self.writer) as connection:
            yield connection

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """The connection of the thread, which sees one state of the file until the block ends."""
        with sqlite_errors():
            connection = self.connection
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                # Nothing was written; on a damaged file this succeeds where a COMMIT fails.
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    @contextmanager
    def snapshot(self) -> Iterator[sqlite3.Connection]:
        """A connection that sees one consistent state of the file, however long it reads."""
        with sqlite_errors():
            connection = self.connect()
            try:
                # A scan through a memory map would count as this process's memory.
                connection.execute("PRAGMA mmap_size=0")
                # Rows are also read in the order of their ids, which is not that of the file.
                connection.execute("PRAGMA cache_size=-65536")
                connection.execute("BEGIN")
                yield connection
            finally:
                connection.close()

    def prepare(self) -> None:
        """Make the tables and indexes that are missing."""
        with sqlite_errors():
            self.connection.execute("PRAGMA journal_mode=WAL")
            self.connection.executescript(TABLES + INDEXES)

    def settle(self) -> None:
        """Move what the write-ahead log holds into the file itself, as far as readers let it."""
        with sqlite_errors():
            self.connection.execute("PRAGMA busy_timeout=0")
            self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        """Close every thread's connection; nothing may use the database afterwards."""
        with self._lock:
            for connection in self._opened:
                connection.close()
            self._opened.clear()
