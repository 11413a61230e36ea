"""One read transaction of a log in SQLite, and the faults that SQLite can prove by itself."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any

from domain.errors import StoreUnavailable
from domain.event_store.sqlite.claims import SELECT_CLAIMS, as_claim, stand_in
from domain.event_store.sqlite.features import declare, read_features
from domain.event_store.sqlite.reading import SELECT_EVENTS
from domain.event_store.stored import Claim, LogSnapshot, Problem, StoredRow

EVENTS = (
    "(SELECT rowid AS position, originator_id AS entity_id, originator_version AS stream_version,"
    " topic AS type FROM stored_events)"
)


class SqliteSnapshot(LogSnapshot):
    """One read transaction of the log's database.

    Writers go on beside a snapshot, but the write-ahead log grows until the snapshot is closed.
    """

    events_table = EVENTS
    select_given = "SELECT seq FROM sqlite_sequence WHERE name = 'stored_events'"

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        row = connection.execute("SELECT max(rowid), count(*) FROM stored_events").fetchone()
        self.head, self.count = row[0] or 0, row[1]

    def features(self) -> dict[str, str]:
        """The features that are named; see `EventStore.features`."""
        try:
            return read_features(self._connection)
        except sqlite3.Error as error:
            raise _unreadable(error) from error

    def events(self, after: int = 0) -> Iterator[StoredRow]:
        """The events with positions above `after`, in log order."""
        return self._rows(f"{SELECT_EVENTS} WHERE rowid > ? ORDER BY rowid", after)

    def streams(self, ids: Sequence[str] | None = None) -> Iterator[StoredRow]:
        """The streams of these entities (None: of all), in order of id and stream version."""
        if ids is None:
            yield from self._rows(f"{SELECT_EVENTS} ORDER BY originator_id, originator_version")
        for entity_id in sorted(ids or ()):
            where = f"{SELECT_EVENTS} WHERE originator_id = ? ORDER BY originator_version"
            yield from self._rows(where, entity_id)

    def claims(self, ids: Sequence[str] | None = None) -> Iterator[Claim]:
        """The claims of these entities (None: of all), in order of id."""
        if ids is None:
            yield from map(as_claim, self._rows(f"{SELECT_CLAIMS} ORDER BY id"))
        for entity_id in sorted(ids or ()):
            yield from map(as_claim, self._rows(f"{SELECT_CLAIMS} WHERE id = ?", entity_id))

    def _rows(self, statement: str, *values: Any) -> Iterator[Any]:
        try:
            # `yield from` would close the cursor of a reader that stopped early: an error if the
            # connection was closed before.
            for row in self._connection.execute(statement, values):  # noqa: UP028
                yield row
        except sqlite3.Error as error:
            raise _unreadable(error) from error

    def _ids(self, statement: str) -> bytes:
        ids = bytearray()
        for (entity_id,) in self._rows(statement):
            ids += entity_id.encode("ascii")
        return bytes(ids)

    def close(self) -> None:
        """End the read transaction."""
        self._connection.close()


def _unreadable(error: sqlite3.Error) -> StoreUnavailable:
    return StoreUnavailable(f"the event log cannot be read to its end: {error}")


def connect(database: str) -> sqlite3.Connection:
    """A connection in autocommit mode, which may be used by one thread after the other."""
    connection = sqlite3.connect(database, uri=True, isolation_level=None, check_same_thread=False)
    declare(connection)
    stand_in(connection)
    return connection


def open_snapshot(database: str) -> SqliteSnapshot:
    """A snapshot of the log in a database that exists; raises sqlite3.Error."""
    connection = connect(database)
    try:
        connection.execute("BEGIN")
        return SqliteSnapshot(connection)
    except BaseException:
        connection.close()
        raise


def find_damage(database: str) -> list[Problem]:
    """The faults that SQLite finds in a database file, and the events that its log has lost."""
    try:
        with closing(connect(database)) as connection:
            reports = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(20)")]
        problems = [Problem(0, "", f"the file is damaged: {line}") for line in reports]
        with closing(open_snapshot(database)) as snapshot:
            return [*(problems if reports != ["ok"] else ()), *snapshot.lost()]
    except sqlite3.DatabaseError as error:
        return [Problem(0, "", f"the file is damaged: {error}")]
