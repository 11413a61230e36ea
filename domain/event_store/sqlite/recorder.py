"""The tables of the log in SQLite: the library's recorder with explicit positions and claims.

Differences from the stock recorder, each for a reason:
- `rowid` is declared AUTOINCREMENT: an implicit rowid is reused after deletes and may be
  renumbered by VACUUM, and it is the position that projections have committed;
- `synchronous=FULL`: what was acknowledged survives power loss;
- a batch is one `executemany`, and claims and answers are checked and written in its transaction,
  which several independent batches may share;
- `identity` holds an id made with the log, which exports name;
- `restored` says what came from another log, whose positions may have gaps;
- `features` names what of the stored format the events use.
"""

import sqlite3
from collections import deque
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack
from itertools import islice, takewhile
from typing import Any

import msgspec
from eventsourcing.persistence import StoredEvent
from eventsourcing.sqlite import SQLiteApplicationRecorder, SQLiteCursor

from domain.errors import AlreadyExists, ConcurrentChange
from domain.event_store import refusals
from domain.event_store.features import EARLIEST, refuse_unknown
from domain.event_store.port import (
    ANSWERS_KEPT_MS,
    READ_BYTES,
    STREAM_BYTES,
    Claim,
    StoredRow,
    StreamSpan,
)
from domain.event_store.sqlite import features
from domain.event_store.sqlite.claims import (
    EDGE_INDEXES,
    check_claims,
    look_up,
    select_claims,
    select_having_live,
    select_live_children,
    write_claims,
)
from domain.event_store.sqlite.connections import Datastore
from domain.event_store.writes import (
    Append,
    NewRow,
    Refusal,
    RememberedAnswer,
)

_MAX_INTEGER = 2**63 - 1
_SPANS = 1_000
"""Most whole streams in one statement."""

_TABLES = (
    "CREATE TABLE IF NOT EXISTS {events} ("
    "rowid INTEGER PRIMARY KEY AUTOINCREMENT, originator_id TEXT NOT NULL, "
    "originator_version INTEGER NOT NULL, topic TEXT NOT NULL, state BLOB NOT NULL, "
    "UNIQUE (originator_id, originator_version))",
    "CREATE TABLE IF NOT EXISTS claims ("
    "kind TEXT NOT NULL, fqn TEXT NOT NULL, id TEXT NOT NULL UNIQUE, name TEXT NOT NULL, "
    "parent_id TEXT, deleted INTEGER NOT NULL, PRIMARY KEY (kind, fqn)) WITHOUT ROWID",
    "CREATE INDEX IF NOT EXISTS claims_by_parent ON claims (parent_id, deleted) "
    "WHERE parent_id IS NOT NULL",
    *EDGE_INDEXES,
    "CREATE TABLE IF NOT EXISTS answers ("
    "actor TEXT NOT NULL, key TEXT NOT NULL, digest BLOB NOT NULL, entity_id TEXT NOT NULL, "
    "stream_version INTEGER NOT NULL, outcome TEXT NOT NULL, at INTEGER NOT NULL, "
    "PRIMARY KEY (actor, key)) WITHOUT ROWID",
    "CREATE INDEX IF NOT EXISTS answers_by_age ON answers (at)",
    features.TABLE,
    features.FENCE,
    "CREATE TABLE IF NOT EXISTS identity (one INTEGER PRIMARY KEY CHECK (one = 1), id TEXT)",
    "CREATE TABLE IF NOT EXISTS restored ("
    "one INTEGER PRIMARY KEY CHECK (one = 1), head INTEGER NOT NULL, count INTEGER NOT NULL)",
)


class Recorder(SQLiteApplicationRecorder):
    """Appends batches with their claims and answers; reads rows without decoding them."""

    def __init__(self, datastore: Datastore, events_table_name: str = "stored_events"):
        super().__init__(datastore, events_table_name)
        self.reading, self._writing, self.turn = (
            datastore.reading,
            datastore.writing,
            datastore.turn,
        )
        self._known = features.Known()
        """The features, read in a transaction that appends: other processes may have named some."""
        columns = "originator_id, originator_version, topic, state"
        self.insert_events_statement = (
            f"INSERT INTO {events_table_name} ({columns}) VALUES (?,?,?,?)"
        )
        select = f"SELECT {columns}, rowid FROM {events_table_name}"
        self._select_log = {
            newest_first: f"{select} WHERE rowid > ? AND rowid <= ? ORDER BY rowid {order} LIMIT ?"
            for newest_first, order in ((False, "ASC"), (True, "DESC"))
        }
        self._select_span = (
            f"SELECT {columns}, rowid, 0 FROM {events_table_name} WHERE originator_id = ?"
            " AND originator_version > ? AND originator_version <= ? AND rowid <= ?"
            " ORDER BY originator_version"
        )
        # To sort the rows would take all of them into memory: they are read in their order, as
        # CROSS JOIN goes through the ids in theirs, and the index through the events of each.
        self._select_whole = (
            f"SELECT {columns}, e.rowid, one.key FROM json_each(?) one"
            f" CROSS JOIN {events_table_name} e INDEXED BY sqlite_autoindex_{events_table_name}_1"
            " WHERE e.originator_id = one.value AND +e.rowid <= ?"
        )
        self._select_head = f"SELECT coalesce(max(rowid), 0) FROM {events_table_name}"
        # SQLite looks only at the groups that such a HAVING names.
        self._select_ends = (
            f"SELECT originator_id, max(originator_version) FROM {events_table_name}"
            " GROUP BY originator_id HAVING originator_id"
        )

    def construct_create_table_statements(self) -> list[str]:
        """The tables of the log, which the library makes in one transaction."""
        return [statement.format(events=self.events_table_name) for statement in _TABLES]

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
        c.executemany(self.insert_events_statement, rows)
        c.execute("SELECT last_insert_rowid()")
        last: int = c.fetchone()[0]
        return list(range(last - len(rows) + 1, last + 1)) if rows else []

    def begin_group(
        self, appends: Sequence[Append]
    ) -> tuple[list[int | Refusal], Callable[[], None]]:
        """Store each append or refuse it, all in one transaction; see `EventStore.append_group`.

        Returns their results, and what commits the transaction.
        """
        with ExitStack() as stack:
            # It has the lock from its begin: the checks below must hold until the end.
            plain = stack.enter_context(self._writing())
            self._known = features.still_known(plain, self._known)
            try:
                results: list[int | Refusal] = [self._append(plain, append) for append in appends]
            except (ConcurrentChange, AlreadyExists):
                # Few groups have such an append: a savepoint before each one keeps a copy of every
                # page that is written after it.
                plain.execute("ROLLBACK")
                plain.execute("BEGIN IMMEDIATE")
                results = [self._append_or_refuse(plain, append) for append in appends]
            return results, stack.pop_all().close

    def _append_or_refuse(self, plain: sqlite3.Cursor, append: Append) -> int | Refusal:
        """Store one append, or leave the transaction as it was before it."""
        plain.execute("SAVEPOINT append")
        try:
            result: int | Refusal = self._append(plain, append)
        except (ConcurrentChange, AlreadyExists) as refusal:
            plain.execute("ROLLBACK TO append")
            result = refusal
        plain.execute("RELEASE append")
        return result

    def _append(self, plain: sqlite3.Cursor, append: Append) -> int:
        self._check_ends(plain, append.rows)
        plain.executemany(self.insert_events_statement, append.rows)
        select = "SELECT last_insert_rowid()" if append.rows else self._select_head
        position: int = plain.execute(select).fetchone()[0]
        # What is named here is known when the next append reads it: this one may be taken back.
        if not append.features <= self._known.names:
            features.name_features(plain, append.features - self._known.names)
        write_claims(plain, append.changes)
        check_claims(plain, append.expecting)
        if append.answer is not None:
            _insert_answer(plain, append.answer)
        return position

    def _check_ends(self, plain: sqlite3.Cursor, rows: Sequence[NewRow]) -> None:
        """Raise ConcurrentChange unless each stream continues at its stored end."""
        ends = dict.fromkeys((row[0] for row in rows), 0)
        for entity_id, stream_version in look_up(plain, self._select_ends, [*ends]):
            ends[entity_id] = stream_version
        wrong: dict[str, None] = {}
        for entity_id, stream_version, *_ in rows:
            if stream_version != ends[entity_id] + 1:
                wrong[entity_id] = None
            ends[entity_id] = stream_version
        if wrong:
            raise refusals.not_the_newest(list(wrong))

    def read_log(
        self, after: int, upto: int | None, limit: int, newest_first: bool
    ) -> list[StoredRow]:
        """Rows in log order, or against it, until their payloads reach READ_BYTES together."""
        rows: list[StoredRow] = []
        size = 0
        with self.reading() as cursor:
            last = _MAX_INTEGER if upto is None else upto
            cursor.execute(self._select_log[newest_first], (after, last, limit))
            for row in cursor:
                rows.append(row)
                size += len(row[3])
                if size >= READ_BYTES:
                    break
            cursor.close()
        return rows

    def read_spans(self, spans: deque[StreamSpan], upto: int | None) -> deque[StoredRow]:
        """Rows of the first spans until they reach STREAM_BYTES; `spans` keeps all unread ones."""
        rows: deque[StoredRow] = deque()
        size = 0
        last = _MAX_INTEGER if upto is None else upto
        with self.reading() as cursor:
            while spans and size < STREAM_BYTES:
                ids = _whole_streams(spans)
                if len(ids) > 1:
                    cursor.execute(self._select_whole, (msgspec.json.encode(ids).decode(), last))
                else:
                    span = spans[0]
                    end = _MAX_INTEGER if span.upto is None else span.upto
                    cursor.execute(self._select_span, (span.entity_id, span.after, end, last))
                done, unread = len(ids) or 1, None
                for row in cursor:
                    rows.append(row[:5])
                    size += len(row[3])
                    if size >= STREAM_BYTES:
                        done = row[5]
                        unread = StreamSpan(row[0], row[1], spans[done].upto)
                        break
                for _ in range(done):
                    spans.popleft()
                if unread is not None:
                    spans[0] = unread
            cursor.close()
        return rows

    def select_features(self) -> dict[str, str]:
        """Feature -> the release that first knew it."""
        with self.reading() as cursor:
            return features.read_features(cursor)

    def select_identity(self) -> str:
        """The random text made with the log."""
        with self.reading() as cursor:
            return str(cursor.execute("SELECT id FROM identity").fetchone()[0])

    def select_live(self, by_name: bool) -> tuple[int, bytes, int]:
        """Head, the ids of the claims in order, and the number of streams that are not purged."""
        order = "kind, deleted, name, id" if by_name else "id"
        with self.reading() as cursor:
            cursor.execute(self._select_head)
            head = cursor.fetchone()[0]
            cursor.execute(f"SELECT id FROM claims ORDER BY {order}")
            ids = bytearray()
            while rows := cursor.fetchmany(10_000):
                ids += "".join(entity_id for (entity_id,) in rows).encode("ascii")
            cursor.execute(
                "SELECT coalesce(sum(originator_version = 1), 0)"
                f" - coalesce(sum(topic = 'entity.purged'), 0) FROM {self.events_table_name}"
            )
            return head, bytes(ids), cursor.fetchone()[0]

    def select_claims(
        self,
        names: Collection[tuple[str, str]],
        ids: Collection[str],
        parents: Collection[str],
        ends: Collection[str],
    ) -> list[Claim]:
        """The claims on names, of entities, children and edges, all from one moment."""
        with self.reading() as cursor:
            return select_claims(cursor, names, ids, parents, ends)

    def select_live_children(
        self, parent_id: str, kind: str, after: str, limit: int
    ) -> list[Claim]:
        """The claims of live children of a kind with names above `after`, in order of names."""
        with self.reading() as cursor:
            return select_live_children(cursor, parent_id, kind, after, limit)

    def select_having_live(self, kind: str, parent_ids: Collection[str]) -> set[str]:
        """The ids, among these, that are the parent of a live child of a kind."""
        with self.reading() as cursor:
            return select_having_live(cursor, kind, parent_ids)

    def select_answer(self, actor: str, key: str) -> RememberedAnswer | None:
        """The remembered answer for an actor's key; None without one."""
        with self.reading() as cursor:
            cursor.execute(
                "SELECT actor, key, digest, entity_id, stream_version, outcome, at FROM answers"
                " WHERE actor = ? AND key = ?",
                (actor, key),
            )
            row = cursor.fetchone()
        if row is None:
            return None
        return RememberedAnswer(**dict(zip(RememberedAnswer.__struct_fields__, row, strict=True)))


def _whole_streams(spans: deque[StreamSpan]) -> list[str]:
    """The ids of the first spans that are whole streams, for one statement to look up.

    One statement for each takes twice as long. SQLite ends a text of JSON at a NUL.
    """
    whole = takewhile(
        lambda span: not span.after and span.upto is None and "\0" not in span.entity_id,
        islice(spans, _SPANS),
    )
    return [span.entity_id for span in whole]


def _insert_answer(cursor: sqlite3.Cursor, answer: RememberedAnswer) -> None:
    """Remember an answer and forget the old ones; raises ConcurrentChange when the key is taken."""
    cursor.execute("DELETE FROM answers WHERE at < ?", (answer.at - ANSWERS_KEPT_MS,))
    values = [getattr(answer, name) for name in RememberedAnswer.__struct_fields__]
    try:
        cursor.execute("INSERT INTO answers VALUES (?,?,?,?,?,?,?)", values)
    except sqlite3.IntegrityError as error:
        raise refusals.key_taken() from error
