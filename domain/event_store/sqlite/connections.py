"""Connections to the SQLite file of the log: the library's pool, and transactions of our own."""

import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from eventsourcing.sqlite import (
    SQLITE3_DEFAULT_LOCK_TIMEOUT,
    SQLiteConnection,
    SQLiteConnectionPool,
    SQLiteDatastore,
)

from domain.errors import OutcomeUnknown
from domain.event_store.sqlite.features import declare
from domain.machine.write_turns import WriteTurns


class _Pool(SQLiteConnectionPool):
    writable = True

    def _create_connection(self) -> SQLiteConnection:
        if self.writable and not self.is_sqlite_memory_mode and not self.is_journal_mode_wal:
            _set_page_size(self.db_name)
        # The library's first connection switches the file to write-ahead logging; but its
        # connections keep one compiled statement each, and compile all others again and again.
        if not self.is_sqlite_memory_mode and not self.is_journal_mode_wal:
            super()._create_connection().close()
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
        connection.execute(f"PRAGMA query_only={'OFF' if self.writable else 'ON'}")
        return SQLiteConnection(connection, self.max_age)


def _set_page_size(path: str) -> None:
    """Give a new file pages that hold several payloads; on an existing file it does nothing."""
    connection = sqlite3.connect(path, uri=True)
    connection.execute("PRAGMA page_size=16384")
    connection.execute("PRAGMA journal_mode=WAL")
    connection.close()


class Datastore(SQLiteDatastore):
    """The library's datastore, on connections whose commits survive power loss."""

    _turns: WriteTurns | None = None

    def __init__(self, db_name: str, *, writable: bool = True, **options: Any) -> None:
        super().__init__(db_name, originator_id_type="text", **options)
        self.pool: _Pool = _Pool(db_name=db_name, lock_timeout=options.get("lock_timeout"))
        self.pool.writable = writable
        if writable and not self.pool.is_sqlite_memory_mode:
            self._turns = WriteTurns(Path(db_name))

    def reading(self) -> "_Transaction":
        """The driver's own cursor in a read transaction; it gives rows as tuples.

        All statements of the block see the database as it is when the first of them runs.
        """
        return _Transaction(self.pool, "BEGIN", "ROLLBACK", is_writer=False)

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Cursor]:
        """As `reading`, in a transaction that excludes other writers and is committed at the end.

        Raises OutcomeUnknown where the commit fails in a way that may leave it on disk.
        """
        with (
            self.turn(),
            _Transaction(self.pool, "BEGIN IMMEDIATE", "COMMIT", is_writer=True) as cursor,
        ):
            yield cursor

    def turn(self) -> AbstractContextManager[None]:
        """The turn of a writer, for a block; a log in memory needs none.

        Raises StoreUnavailable when it does not come in time.
        """
        return nullcontext() if self._turns is None else self._turns.held()

    def close(self) -> None:
        """Close all connections."""
        super().close()
        if self._turns is not None:
            self._turns.close()


class _Transaction:
    """A transaction of a connection from the pool, for the length of a block.

    The library's own is made of four context managers, which take four times as long as a look-up.
    """

    def __init__(self, pool: _Pool, begin: str, end: str, *, is_writer: bool) -> None:
        """`begin` and `end` are statements; a block that fails is rolled back."""
        self._pool = pool
        self._begin = begin
        self._end = end
        self._is_writer = is_writer

    def __enter__(self) -> sqlite3.Cursor:
        self._connection = self._pool.get_connection(is_writer=self._is_writer)
        try:
            self._driver = self._connection.cursor().sqlite_cursor.connection
            self._driver.execute(self._begin)
        except BaseException:
            self._pool.put_connection(self._connection)
            raise
        cursor = self._driver.cursor()
        cursor.row_factory = None
        return cursor

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        try:
            try:
                self._driver.execute(self._end if error is None else "ROLLBACK")
            except BaseException as failure:
                # On a full disk SQLite may have rolled back by itself.
                if self._driver.in_transaction:
                    self._driver.execute("ROLLBACK")
                if self._is_writer and error is None and _may_be_on_disk(failure):
                    raise OutcomeUnknown(
                        f"the event log cannot be used now: {failure}. This write may have been"
                        " stored: repeat it with the same Idempotency-Key, or read it"
                    ) from failure
                raise
        finally:
            self._pool.put_connection(self._connection)


def _may_be_on_disk(failure: BaseException) -> bool:
    """True if a transaction that was not committed may be found committed after a crash.

    Where an input or output failed, its pages may have been written before.
    """
    code = getattr(failure, "sqlite_errorcode", sqlite3.SQLITE_OK)
    return isinstance(failure, sqlite3.Error) and code & 0xFF == sqlite3.SQLITE_IOERR
