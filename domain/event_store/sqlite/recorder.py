"""The tables of the log in SQLite: the library's recorder with explicit positions and claims.

Differences from the stock recorder, each for a reason:
- `rowid` is declared AUTOINCREMENT: an implicit rowid is reused after deletes and may be
  renumbered by VACUUM, and it is the position that projections have committed;
- `synchronous=FULL`: what was acknowledged survives power loss;
- a batch is one `executemany`, and claims and answers are checked and written in its transaction,
  which several independent batches may share;
- `identity` holds an id made with the log, which exports name;
- `restored` says what came from another log, whose positions may have gaps;
- `features` names what of the stored format the events use;
- `former_names` keeps what entities were called, and `renames` counts how often names changed;
- `reactions` and its like hold what reactions remember.
"""

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from eventsourcing.persistence import StoredEvent
from eventsourcing.sqlite import SQLiteApplicationRecorder, SQLiteCursor
from msgspec.structs import astuple

from domain.errors import AlreadyExists, ConcurrentChange
from domain.event_store import reactions, refusals
from domain.event_store.appends import outdated
from domain.event_store.features import EARLIEST, Known, refuse_unknown
from domain.event_store.port import ANSWERS_KEPT_MS
from domain.event_store.sqlite import features
from domain.event_store.sqlite.claims import (
    EDGE_INDEXES,
    FORMER_NAMES,
    RENAMES,
    check_claims,
    write_claims,
)
from domain.event_store.sqlite.connections import Datastore
from domain.event_store.sqlite.reading import SELECT_HEAD
from domain.event_store.writes import Append, NewRow, Refusal, RememberedAnswer, Unmentioned

_TABLES = (
    "CREATE TABLE IF NOT EXISTS stored_events ("
    "rowid INTEGER PRIMARY KEY AUTOINCREMENT, originator_id TEXT NOT NULL, "
    "originator_version INTEGER NOT NULL, topic TEXT NOT NULL, state BLOB NOT NULL, "
    "UNIQUE (originator_id, originator_version))",
    "CREATE TABLE IF NOT EXISTS claims ("
    "kind TEXT NOT NULL, fqn TEXT NOT NULL, id TEXT NOT NULL UNIQUE, name TEXT NOT NULL, "
    "parent_id TEXT, deleted INTEGER NOT NULL, PRIMARY KEY (kind, fqn)) WITHOUT ROWID",
    "CREATE INDEX IF NOT EXISTS claims_by_parent ON claims (parent_id, deleted) "
    "WHERE parent_id IS NOT NULL",
    *EDGE_INDEXES,
    *FORMER_NAMES,
    "CREATE TABLE IF NOT EXISTS answers ("
    "actor TEXT NOT NULL, key TEXT NOT NULL, digest BLOB NOT NULL, entity_id TEXT NOT NULL, "
    "stream_version INTEGER NOT NULL, outcome TEXT NOT NULL, at INTEGER NOT NULL, "
    "PRIMARY KEY (actor, key)) WITHOUT ROWID",
    "CREATE INDEX IF NOT EXISTS answers_by_age ON answers (at)",
    *reactions.TABLES,
    features.TABLE,
    features.FENCE,
    "CREATE TABLE IF NOT EXISTS identity (one INTEGER PRIMARY KEY CHECK (one = 1), id TEXT)",
    "CREATE TABLE IF NOT EXISTS restored ("
    "one INTEGER PRIMARY KEY CHECK (one = 1), head INTEGER NOT NULL, count INTEGER NOT NULL)",
)
_INSERT = (
    "INSERT INTO stored_events (originator_id, originator_version, topic, state) VALUES (?,?,?,?)"
)
_SINCE = "SELECT 1 FROM stored_events WHERE rowid > ?"
_ENDS = (
    # SQLite looks up a maximum that is alone; of groups it would read all events.
    "SELECT one.value, coalesce((SELECT max(originator_version) FROM stored_events"
    " WHERE originator_id = one.value), 0) FROM json_each(?) one"
)


class Recorder(SQLiteApplicationRecorder):
    """Makes the tables, and appends batches with their claims and answers."""

    def __init__(self, datastore: Datastore) -> None:
        super().__init__(datastore)
        self._writing = datastore.writing
        self._known = Known()
        """The features, read in a transaction that appends: other processes may have named some."""
        self.renames: int | None = None
        """The number of changes of names after the last transaction that appended."""
        self._renames = 0
        """The number of changes of names in the open transaction, which may yet be rolled back."""

    def construct_create_table_statements(self) -> list[str]:
        """The tables of the log, which the library makes in one transaction."""
        return [*_TABLES]

    def _create_table(self, c: SQLiteCursor) -> None:
        cursor = c.sqlite_cursor
        there = features.read_features(cursor)
        # Before anything is made: a later release may have left out what is made here.
        refuse_unknown(there, "the log")
        super()._create_table(c)
        if there == EARLIEST:
            features.name_features(cursor, there)
        c.execute("SELECT 1 FROM identity")
        if c.fetchone() is None:
            c.execute("INSERT OR IGNORE INTO identity VALUES (1, lower(hex(randomblob(16))))")

    def _insert_events(
        self, c: SQLiteCursor, stored_events: Sequence[StoredEvent], **_: Any
    ) -> Sequence[int]:
        rows = [
            (str(s.originator_id), s.originator_version, s.topic, s.state) for s in stored_events
        ]
        c.executemany(_INSERT, rows)
        c.execute("SELECT last_insert_rowid()")
        last: int = c.fetchone()[0]
        return list(range(last - len(rows) + 1, last + 1)) if rows else []

    def append_group(self, appends: Sequence[Append]) -> list[int | Refusal]:
        """Store each append or refuse it, in one transaction; see `EventStore.append_group`."""
        # The transaction has the lock from its begin: the checks below must hold until the end.
        with self._writing() as plain:
            self._known = features.still_known(plain, self._known)
            self._renames = self._known.renames
            try:
                ends = _ends(plain, [row for append in appends for row in append.rows])
                results: list[int | Refusal] = [
                    self._append(plain, append, ends) for append in appends
                ]
            except (ConcurrentChange, AlreadyExists):
                # Few groups have such an append: a savepoint before each one keeps a copy of every
                # page that is written after it.
                plain.execute("ROLLBACK")
                plain.execute("BEGIN IMMEDIATE")
                self._read_renames(plain)
                results = [self._append_or_refuse(plain, append) for append in appends]
        self.renames = self._renames
        return results

    def _append_or_refuse(self, plain: sqlite3.Cursor, append: Append) -> int | Refusal:
        """Store one append, or leave the transaction as it was before it."""
        plain.execute("SAVEPOINT append")
        try:
            result: int | Refusal = self._append(plain, append, _ends(plain, append.rows))
        except (ConcurrentChange, AlreadyExists) as refusal:
            plain.execute("ROLLBACK TO append")
            self._read_renames(plain)
            result = refusal
        plain.execute("RELEASE append")
        return result

    def _read_renames(self, plain: sqlite3.Cursor) -> None:
        (self._renames,) = plain.execute(RENAMES).fetchone()

    def _append(self, plain: sqlite3.Cursor, append: Append, ends: dict[str, int]) -> int:
        """Store an append; moves `ends`, id -> last stream version, on to the new events."""
        if (refusal := outdated(append, self._renames)) is not None:
            raise refusal
        if (expected := append.expecting.unmentioned) is not None:
            _check_unmentioned(plain, expected, append.rows)
        _move_on(ends, append.rows)
        if append.rows:
            if len(append.rows) > 1:
                plain.executemany(_INSERT, append.rows[:-1])
            position = plain.execute(_INSERT, append.rows[-1]).lastrowid or 0
        else:
            position = plain.execute(SELECT_HEAD).fetchone()[0]
        # `_known` learns these names when the next append reads them: this one may be taken back.
        if not append.features <= self._known.names:
            features.name_features(plain, append.features - self._known.names)
        write_claims(plain, append.changes)
        if any(action == "rename" for action, _ in append.changes):
            self._read_renames(plain)
        check_claims(plain, append.expecting)
        if append.answer is not None:
            _insert_answer(plain, append.answer)
        return position


def _ends(plain: sqlite3.Cursor, rows: Iterable[NewRow]) -> dict[str, int]:
    """Id -> stream version of the last event in the log, for each entity of the new events."""
    ids = msgspec.json.encode([*dict.fromkeys(row[0] for row in rows)]).decode()
    return dict(plain.execute(_ENDS, (ids,)))


def _move_on(ends: dict[str, int], rows: Iterable[NewRow]) -> None:
    """Move the ends of streams on; raises ConcurrentChange unless each continues at its end."""
    wrong: dict[str, None] = {}
    for entity_id, stream_version, *_ in rows:
        if stream_version != ends[entity_id] + 1:
            wrong[entity_id] = None
        ends[entity_id] = stream_version
    if wrong:
        raise refusals.not_the_newest(list(wrong))


def _check_unmentioned(
    plain: sqlite3.Cursor, expected: Unmentioned, rows: Sequence[NewRow]
) -> None:
    """Raise ConcurrentChange where an event after a position has one of these texts."""
    conditions = " OR ".join("instr(state, ?)" for _ in expected.texts)
    values = (expected.after, *expected.texts)
    if plain.execute(f"{_SINCE} AND ({conditions}) LIMIT 1", values).fetchone() is not None:
        raise refusals.mentioned([*dict.fromkeys(row[0] for row in rows)])


def _insert_answer(cursor: sqlite3.Cursor, answer: RememberedAnswer) -> None:
    """Remember an answer and forget the old ones; raises ConcurrentChange when the key is taken."""
    cursor.execute("DELETE FROM answers WHERE at < ?", (answer.at - ANSWERS_KEPT_MS,))
    try:
        cursor.execute("INSERT INTO answers VALUES (?,?,?,?,?,?,?)", astuple(answer))
    except sqlite3.IntegrityError as error:
        raise refusals.key_taken() from error
