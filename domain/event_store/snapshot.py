"""The log as it is at one moment, for readers that must not see it move while they look."""

import sqlite3
from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

import msgspec

from domain.errors import StoreUnavailable
from domain.event_store.port import Claim

StoredRow = tuple[str, int, str, bytes, int]
"""Entity id, stream version, type name, payload, position."""

_EVENTS = "SELECT originator_id, originator_version, topic, state, rowid FROM stored_events"
_CLAIMS = "SELECT kind, fqn, id, name, parent_id, deleted FROM claims"


class LogSnapshot:
    """One read transaction of the log's database, on a connection of its own.

    While it is open writers go on, but the write-ahead log keeps what they write; so close it.
    """

    def __init__(self, connection: sqlite3.Connection, log_id: str) -> None:
        self._connection = connection
        self.log_id = log_id
        """Made with the log; an imported log has another."""
        row = connection.execute("SELECT max(rowid), count(*) FROM stored_events").fetchone()
        self.head: int = row[0] or 0
        """Position of the newest event, 0 when there is none."""
        self.count: int = row[1]
        """How many events there are."""

    def events(self, after: int = 0, upto: int | None = None) -> Iterator[StoredRow]:
        """Events with positions in (after, upto], in log order."""
        last = self.head if upto is None else upto
        where = f"{_EVENTS} WHERE rowid > ? AND rowid <= ? ORDER BY rowid"
        return self._rows(where, after, last)

    def streams(self) -> Iterator[tuple[str, Iterator[StoredRow]]]:
        """Each entity's id and events, in order of id and stream version."""
        rows = self._rows(f"{_EVENTS} ORDER BY originator_id, originator_version")
        return groupby(rows, key=itemgetter(0))

    def stream(self, entity_id: str) -> list[StoredRow]:
        """The events of one entity, in order of stream version."""
        where = f"{_EVENTS} WHERE originator_id = ? ORDER BY originator_version"
        return list(self._rows(where, entity_id))

    def creations(self, text: str) -> Iterator[tuple[str, str, bytes]]:
        """Entity id, type name and payload of first events that hold a text, in log order."""
        return self._rows(
            "SELECT originator_id, topic, state FROM stored_events"
            " WHERE originator_version = 1 AND instr(state, ?) ORDER BY rowid",
            msgspec.json.encode(text),
        )

    def claims(self, ids: Sequence[str] | None = None) -> Iterator[Claim]:
        """The claims (None: all) in order of id."""
        if ids is None:
            yield from map(as_claim, self._rows(f"{_CLAIMS} ORDER BY id"))
        for entity_id in sorted(ids or ()):
            yield from map(as_claim, self._rows(f"{_CLAIMS} WHERE id = ?", entity_id))

    def lost_answers(self) -> Iterator[tuple[str, str]]:
        """Actor and key of remembered answers that refer to what is not in the log."""
        return self._rows(
            "SELECT actor, key FROM answers a WHERE NOT EXISTS (SELECT 1 FROM stored_events e"
            " WHERE e.originator_id = a.entity_id AND e.originator_version = a.stream_version)"
        )

    def last_position_given(self) -> int:
        """The highest position that was ever given to an event."""
        row = self._connection.execute(
            "SELECT seq FROM sqlite_sequence WHERE name = 'stored_events'"
        ).fetchone()
        return int(row[0]) if row else 0

    def _rows(self, statement: str, *parameters: object) -> Iterator[Any]:
        try:
            # `yield from` would close the cursor of a reader that stopped early: an error if the
            # connection was closed before.
            for row in self._connection.execute(statement, parameters):  # noqa: UP028
                yield row
        except sqlite3.Error as error:
            raise StoreUnavailable(f"the event log cannot be read to its end: {error}") from error

    def close(self) -> None:
        """End the read transaction."""
        self._connection.close()


def connect(database: str) -> sqlite3.Connection:
    """A connection in autocommit mode, which may be used by one thread after the other."""
    return sqlite3.connect(database, uri=True, isolation_level=None, check_same_thread=False)


def open_snapshot(database: str) -> LogSnapshot:
    """A snapshot of the log in a database that exists; raises sqlite3.Error."""
    connection = connect(database)
    try:
        connection.execute("BEGIN")
        log_id = connection.execute("SELECT id FROM identity").fetchone()[0]
        return LogSnapshot(connection, log_id)
    except BaseException:
        connection.close()
        raise


def find_damage(database: str) -> list[str]:
    """What SQLite finds wrong with a database file: nothing, when it is sound."""
    connection = connect(database)
    try:
        found = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(20)")]
    except sqlite3.DatabaseError as error:
        return [str(error)]
    finally:
        connection.close()
    return [] if found == ["ok"] else found


def as_claim(row: tuple[str, str, str, str, str | None, int]) -> Claim:
    """The claim of a row of the claims table."""
    kind, fqn, entity_id, name, parent_id, deleted = row
    return Claim(
        kind=kind, fqn=fqn, id=entity_id, name=name, parent_id=parent_id, deleted=bool(deleted)
    )
