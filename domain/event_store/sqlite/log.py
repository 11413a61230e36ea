"""The event store port on one SQLite database."""

import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from domain.errors import ConcurrentChange, StoreUnavailable
from domain.event_store.sqlite.claims import FORMER_NAMES, RENAMES, write_claims
from domain.event_store.sqlite.connections import Datastore, translated_errors
from domain.event_store.sqlite.features import FENCE, name_features
from domain.event_store.sqlite.reactions import SqliteReactionMemory
from domain.event_store.sqlite.reading import SqliteReads
from domain.event_store.sqlite.recorder import Recorder
from domain.event_store.sqlite.snapshot import (
    EVENTS,
    SqliteSnapshot,
    connect,
    find_damage,
    open_snapshot,
)
from domain.event_store.stored import Problem, StoredRow
from domain.event_store.transfer import restore_rows
from domain.event_store.writes import Append, ClaimChange, Refusal
from domain.machine import durable_files
from domain.machine.storage_errors import storage_errors

_URI = "file:"


REFUSED_SECONDS = 60.0
"""Difference from which on nothing is appended."""


def wall_clock() -> float:
    """Seconds since the Unix epoch, as this machine has them."""
    return time.time()


def passed() -> float:
    """Seconds that have passed since some moment, those in which the machine slept included."""
    clock = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
    return time.clock_gettime(clock)


class ClockGuard:
    """Refuses appends once the wall clock was set; for any thread."""

    def __init__(self) -> None:
        self._offset = wall_clock() - passed()

    def check(self) -> None:
        """Raise StoreUnavailable when the clock was set since the log was opened."""
        if (fault := self.fault()) is not None:
            raise StoreUnavailable(f"nothing can be written now: {fault}")

    def fault(self) -> str | None:
        """The fault of the clock in words; None while it was not set since the log was opened."""
        ahead = wall_clock() - passed() - self._offset
        if abs(ahead) <= REFUSED_SECONDS:
            return None
        how = "forward" if ahead > 0 else "back"
        return (
            f"the clock of this host was set {how} by {abs(ahead):.0f} s since the log was opened."
            " Set it right; if it is right now, restart the server"
        )


class SqliteEventStore(SqliteReads):
    """An event store in one SQLite database; made by `open_sqlite_log`."""

    def __init__(self, address: str, database: str, datastore: Datastore) -> None:
        super().__init__(datastore)
        self._address = address
        self._database = database
        self._recorder = Recorder(datastore)
        self._clock = ClockGuard()

    @property
    def address(self) -> str:
        """The absolute path of the file, or the SQLite URI."""
        return self._address

    def epoch(self) -> int:
        """The number of changes of names, as this process knows it; see `EntityReads.epoch`."""
        if (renames := self._recorder.renames) is None:
            with self._datastore.reading() as cursor:
                renames = self._recorder.renames = cursor.execute(RENAMES).fetchone()[0]
        return renames

    def append_group(self, appends: Sequence[Append]) -> list[int | Refusal]:
        """Append in one transaction of the recorder; see `EventStore.append_group`."""
        self._clock.check()
        return self._recorder.append_group(appends)

    def clock_fault(self) -> str | None:
        """Look at the clock; see `EventStore.clock_fault`."""
        return self._clock.fault()

    @contextmanager
    def snapshot(self) -> Iterator[SqliteSnapshot]:
        """A read transaction on a connection of its own; see `EventStore.snapshot`."""
        with translated_errors():
            opened = open_snapshot(self._database)
        with closing(opened) as snapshot:
            yield snapshot

    def damage(self) -> list[Problem]:
        """Let SQLite check its file, and look for lost events; see `EventStore.damage`."""
        return find_damage(self._database)

    def restore(self, rows: Iterator[StoredRow]) -> Iterator[int]:
        """Insert everything in one transaction; see `EventStore.restore`."""
        with (
            translated_errors(),
            self._datastore.turn(),
            closing(connect(self._database)) as connection,
        ):
            yield from _restored(connection, rows)

    def reaction(self, name: str) -> SqliteReactionMemory:
        """The memory of a reaction, in the same file; see `EventStore.reaction`."""
        return SqliteReactionMemory(name, self._datastore)

    def size(self) -> int:
        """Bytes of the database, its write-ahead log and shared memory; see `EventStore.size`."""
        if self._address.startswith(_URI):
            with translated_errors(), closing(connect(self._database)) as connection:
                pages = connection.execute("PRAGMA page_count").fetchone()[0]
                return int(pages * connection.execute("PRAGMA page_size").fetchone()[0])
        file = Path(self._address)
        parts = [file.with_name(f"{file.name}{end}") for end in ("", "-wal", "-shm")]
        size = 0
        for part in parts:
            with suppress(FileNotFoundError):
                size += part.stat().st_size
        return size

    def close(self) -> None:
        """Close all connections."""
        self._datastore.close()


_INSERT = (
    "INSERT INTO stored_events (originator_id, originator_version, topic, state, rowid)"
    " VALUES (?,?,?,?,?)"
)
_SLOW_TRIGGERS = ("stored_events_fence", "claims_take")
"""Triggers that take half of the time of a restore, which does without them.

The transaction of the restore shuts all other programs out, and makes the triggers again. Until an
entity is renamed, there are no former names for `claims_take` to look for.
"""
_RESTORED = "INSERT INTO restored SELECT 1, max(rowid), count(*) FROM stored_events HAVING count(*)"


def _restored(connection: sqlite3.Connection, rows: Iterator[StoredRow]) -> Iterator[int]:
    """Insert events and the claims that follow from them; raises what `restore_rows` raises."""
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA cache_size=-65536")
    cursor = connection.cursor()
    cursor.execute("BEGIN IMMEDIATE")
    for trigger in _SLOW_TRIGGERS:
        cursor.execute(f"DROP TRIGGER IF EXISTS {trigger}")

    def insert(batch: list[StoredRow], changes: list[ClaimChange]) -> None:
        if any(action == "rename" for action, _ in changes):
            _make_triggers(cursor)
        try:
            cursor.executemany(_INSERT, batch)
        except sqlite3.IntegrityError as error:
            raise ConcurrentChange(str(error)) from error
        write_claims(cursor, changes)

    def select(statement: str) -> Any:
        return cursor.execute(statement).fetchone()

    used = yield from restore_rows(rows, insert, select, EVENTS)
    name_features(cursor, used)
    cursor.execute(_RESTORED)
    _make_triggers(cursor)
    cursor.execute("COMMIT")


def _make_triggers(cursor: sqlite3.Cursor) -> None:
    """Make those of the log's triggers that are missing."""
    for statement in (FENCE, *FORMER_NAMES):
        cursor.execute(statement)


def open_sqlite_log(address: str, *, writable: bool) -> SqliteEventStore:
    """The log in the SQLite file at a path or `file:` URI; made when missing and `writable`.

    Raises StoreUnavailable when it cannot be opened, LaterRelease where a later one has written it.
    """
    database = address
    if not address.startswith(_URI):
        address = str(Path(address).absolute())
        database = address if writable else f"{_URI}{quote(address)}?mode=ro"
    with translated_errors(), ExitStack() as opened:
        datastore = Datastore(database, writable=writable)
        opened.callback(datastore.close)
        log = SqliteEventStore(address, database, datastore)
        # From the first look at the name of the file until SQLite holds its lock on it, no other
        # process may put a copy in its place.
        with datastore.turn():
            if writable:
                Recorder(datastore).create_table()
            log.identity()
            log.refuse_later_release()
        opened.pop_all()
    if not address.startswith(_URI):
        _sync_recovered(Path(f"{address}-wal"))
    return log


def _sync_recovered(write_ahead_log: Path) -> None:
    """Sync the recovered part of a write-ahead log, so that it survives power loss.

    A process that was killed between writing a commit and waiting for the disk leaves a commit that
    the next process reads, and answers by. Raises StoreUnavailable.
    """
    with storage_errors(f"{write_ahead_log} cannot be synced"), suppress(FileNotFoundError):
        durable_files.sync(write_ahead_log)
