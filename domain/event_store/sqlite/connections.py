"""Connections to the SQLite file of the log: the library's pool, and transactions of our own."""

import sqlite3
from collections import deque
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from eventsourcing.persistence import IntegrityError, PersistenceError
from eventsourcing.sqlite import (
    SQLITE3_DEFAULT_LOCK_TIMEOUT,
    SQLiteConnection,
    SQLiteConnectionPool,
    SQLiteDatastore,
)

from domain.errors import CatalogError, ConcurrentChange, OutcomeUnknown, StoreUnavailable
from domain.event_store.sqlite.claims import stand_in
from domain.event_store.sqlite.features import declare
from domain.machine.write_turns import WriteTurns, writing

_FAILURES = (PersistenceError, sqlite3.Error)
"""The errors of the library and of SQLite."""


class _Pool(SQLiteConnectionPool):
    writable = True

    def _create_connection(self) -> SQLiteConnection:
        if self.writable and not self.is_sqlite_memory_mode and not self.is_journal_mode_wal:
            # A new file gets pages that hold several payloads; an existing one stays as it is.
            first = sqlite3.connect(self.db_name, uri=True)
            first.execute("PRAGMA page_size=16384")
            first.execute("PRAGMA journal_mode=WAL")
            first.close()
            self.is_journal_mode_wal = True
        # Connections of the library keep one compiled statement, and compile others each time.
        connection = sqlite3.connect(
            self.db_name,
            timeout=self.lock_timeout or SQLITE3_DEFAULT_LOCK_TIMEOUT,
            isolation_level=None,
            check_same_thread=False,
            uri=True,
        )
        connection.row_factory = sqlite3.Row
        declare(connection)
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA cache_size=-16384")
        connection.execute("PRAGMA mmap_size=268435456")
        # What a savepoint may have to take back stays in memory, not in a file for each append.
        connection.execute("PRAGMA temp_store=MEMORY")
        if not self.writable:
            stand_in(connection)
        connection.execute(f"PRAGMA query_only={'OFF' if self.writable else 'ON'}")
        return SQLiteConnection(connection, self.max_age)


class Datastore(SQLiteDatastore):
    """The library's datastore, on connections whose commits survive power loss."""

    _turns: WriteTurns | None = None

    def __init__(self, db_name: str, *, writable: bool = True, **options: Any) -> None:
        super().__init__(db_name, originator_id_type="text", **options)
        self.pool: _Pool = _Pool(db_name=db_name, lock_timeout=options.get("lock_timeout"))
        self.pool.writable = writable
        self._kept: deque[SQLiteConnection] = deque()
        """Connections to a file that were taken out of the pool and are not in use now."""
        if writable and not self.pool.is_sqlite_memory_mode:
            self._turns = WriteTurns(Path(db_name))

    @contextmanager
    def reading(self, *, several: bool = False) -> Iterator[sqlite3.Cursor]:
        """The driver's own cursor for a statement that reads; it gives rows as tuples.

        With `several`, all statements of the block see the database as it is when the first of them
        runs. Without, the block has one, which sees one state by itself. Raises what
        `translated_errors` raises.
        """
        # A `with` for the errors would cost as much as a short read.
        try:
            connection = self._take(is_writer=False)
            try:
                cursor = _plain_cursor(connection)
                if several:
                    cursor.execute("BEGIN")
                try:
                    yield cursor
                finally:
                    # Rows that nobody has taken would keep the state.
                    cursor.close()
                    if several:
                        cursor.connection.execute("ROLLBACK")
            finally:
                self._give_back(connection)
        except _FAILURES as failure:
            raise _translated(failure) from failure

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Cursor]:
        """The driver's cursor, in a transaction that excludes other writers and is committed at the
        end.

        Raises OutcomeUnknown where the commit fails in a way that may leave it on disk, and what
        `translated_errors` raises.
        """
        is_over = False
        try:
            with self.turn():
                connection = self._take(is_writer=True)
                try:
                    cursor = _plain_cursor(connection)
                    with writing(cursor.connection):
                        yield cursor
                        is_over = True
                finally:
                    self._give_back(connection)
        except _FAILURES as failure:
            if is_over and _may_be_on_disk(failure):
                raise OutcomeUnknown(
                    f"the event log cannot be used now: {failure}. This write may have been"
                    " stored: repeat it with the same Idempotency-Key, or read it"
                ) from failure
            raise _translated(failure) from failure

    def turn(self) -> AbstractContextManager[None]:
        """The turn of a writer, for a block; a log in memory needs none.

        Raises StoreUnavailable when it does not come in time.
        """
        return nullcontext() if self._turns is None else self._turns.held()

    def _take(self, *, is_writer: bool) -> SQLiteConnection:
        """A connection of the pool, for the calling thread alone.

        Those to a file are kept at hand, as the locks of the pool take as long as a short read. A
        log in memory needs these locks: its writers and readers shut each other out.
        """
        if self.pool.is_sqlite_memory_mode:
            return self.pool.get_connection(is_writer=is_writer)
        try:
            return self._kept.pop()
        except IndexError:
            return self.pool.get_connection()

    def _give_back(self, connection: SQLiteConnection) -> None:
        if self.pool.is_sqlite_memory_mode or len(self._kept) >= self.pool.pool_size:
            self.pool.put_connection(connection)
        else:
            self._kept.append(connection)

    def close(self) -> None:
        """Close all connections."""
        super().close()
        if self._turns is not None:
            self._turns.close()


def _plain_cursor(connection: SQLiteConnection) -> sqlite3.Cursor:
    """The driver's own cursor, which gives rows as tuples."""
    cursor: sqlite3.Cursor = connection.cursor().sqlite_cursor
    cursor.row_factory = None
    return cursor


@contextmanager
def translated_errors() -> Iterator[None]:
    """Raise the errors of SQLite and of the library as ConcurrentChange and StoreUnavailable."""
    try:
        yield
    except _FAILURES as failure:
        raise _translated(failure) from failure


def _translated(failure: Exception) -> CatalogError:
    """The one place where an error of SQLite or of the library becomes one of the catalog's."""
    if isinstance(failure, (IntegrityError, sqlite3.IntegrityError)):
        return ConcurrentChange("another writer was first; try again")
    return StoreUnavailable(f"the event log cannot be used now: {failure}")


def _may_be_on_disk(failure: Exception) -> bool:
    """True if a transaction that was not committed may be found committed after a crash.

    Where an input or output failed, its pages may have been written before.
    """
    code = getattr(failure, "sqlite_errorcode", sqlite3.SQLITE_OK)
    return bool(code & 0xFF == sqlite3.SQLITE_IOERR)
