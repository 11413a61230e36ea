"""The log in SQLite: the library's recorder with explicit positions, claims and answers.

Differences from the stock recorder, each for a reason:
- `rowid` is declared AUTOINCREMENT: an implicit rowid is reused after deletes and may be
  renumbered by VACUUM, and it is the position that projections have committed;
- `synchronous=FULL`: what was acknowledged survives power loss;
- a batch is one `executemany`, and claims and answers are written in its transaction;
- `identity` holds an id made with the log, which exports name.
"""

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from eventsourcing.persistence import IntegrityError, StoredEvent
from eventsourcing.sqlite import (
    SQLiteApplicationRecorder,
    SQLiteConnection,
    SQLiteConnectionPool,
    SQLiteCursor,
    SQLiteDatastore,
    SQLiteFactory,
)

from domain.event_store.claims import ClaimChange, write_claims
from domain.event_store.port import ANSWERS_KEPT_MS, Claim, RememberedAnswer
from domain.event_store.snapshot import as_claim

_MAX_READ, _READ_AT_A_TIME = 32_000_000, 32
"""Bytes of payloads after which no more events are read at once, and rows between looks at that."""
_SELECT_CLAIMS = "SELECT kind, fqn, id, name, parent_id, deleted FROM claims"
_NAMED_CLAIM = f"{_SELECT_CLAIMS} WHERE kind = ? AND fqn = ?"

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
    "CREATE TABLE IF NOT EXISTS answers ("
    "actor TEXT NOT NULL, key TEXT NOT NULL, digest BLOB NOT NULL, entity_id TEXT NOT NULL, "
    "stream_version INTEGER NOT NULL, outcome TEXT NOT NULL, at INTEGER NOT NULL, "
    "PRIMARY KEY (actor, key)) WITHOUT ROWID",
    "CREATE INDEX IF NOT EXISTS answers_by_age ON answers (at)",
    "CREATE TABLE IF NOT EXISTS identity (one INTEGER PRIMARY KEY CHECK (one = 1), id TEXT)",
)


class _Pool(SQLiteConnectionPool):
    def _create_connection(self) -> SQLiteConnection:
        if not self.is_sqlite_memory_mode and not self.is_journal_mode_wal:
            _set_page_size(self.db_name)
        connection = super()._create_connection()
        cursor = connection.cursor()
        cursor.execute("PRAGMA synchronous=FULL")
        cursor.execute("PRAGMA cache_size=-16384")
        cursor.execute("PRAGMA mmap_size=268435456")
        return connection


def _set_page_size(path: str) -> None:
    """Give a new file pages that hold several payloads; on an existing file it does nothing."""
    connection = sqlite3.connect(path, uri=True)
    connection.execute("PRAGMA page_size=16384")
    connection.execute("PRAGMA journal_mode=WAL")
    connection.close()


class Datastore(SQLiteDatastore):
    """The library's datastore with durable connections."""

    def __init__(self, db_name: str, **options: Any) -> None:
        super().__init__(db_name, originator_id_type="text", **options)
        self.pool = _Pool(db_name=db_name, lock_timeout=options.get("lock_timeout"))


class Recorder(SQLiteApplicationRecorder):
    """Appends batches with their claims and answers; reads rows without decoding them."""

    def __init__(self, datastore: SQLiteDatastore, events_table_name: str = "stored_events"):
        super().__init__(datastore, events_table_name)
        self.insert_events_statement = (
            f"INSERT INTO {events_table_name} "
            "(originator_id, originator_version, topic, state) VALUES (?,?,?,?)"
        )
        self._select_log = (
            f"SELECT originator_id, originator_version, topic, state, rowid "
            f"FROM {events_table_name} WHERE rowid > ? AND rowid <= ? ORDER BY rowid LIMIT ?"
        )

        self._select_streams = (
            "SELECT originator_id, originator_version, topic, state, e.rowid FROM json_each(?) one "
            f"CROSS JOIN {events_table_name} e ON e.originator_id = one.value "
            "WHERE e.rowid <= ? ORDER BY one.key, originator_version"
        )

    def construct_create_table_statements(self) -> list[str]:
        return [statement.format(events=self.events_table_name) for statement in _TABLES]

    def _create_table(self, c: SQLiteCursor) -> None:
        super()._create_table(c)
        c.execute("SELECT 1 FROM identity")
        if c.fetchone() is None:
            c.execute("INSERT OR IGNORE INTO identity VALUES (1, lower(hex(randomblob(16))))")

    def _insert_events(
        self,
        c: SQLiteCursor,
        stored_events: Sequence[StoredEvent],
        *,
        claim_changes: Iterable[ClaimChange] = (),
        answer: RememberedAnswer | None = None,
        **_: Any,
    ) -> Sequence[int]:
        # The write comes first: a deferred transaction that reads before it writes fails at
        # once with "database is locked" when another writer is active.
        rows = [
            (str(s.originator_id), s.originator_version, s.topic, s.state) for s in stored_events
        ]
        c.executemany(self.insert_events_statement, rows)
        c.execute("SELECT last_insert_rowid()")
        last: int = c.fetchone()[0]
        self._change_claims(c, list(claim_changes))
        if answer is not None:
            c.execute("DELETE FROM answers WHERE at < ?", (answer.at - ANSWERS_KEPT_MS,))
            c.execute(
                "INSERT INTO answers VALUES (?,?,?,?,?,?,?)",
                (
                    answer.actor,
                    answer.key,
                    answer.digest,
                    answer.entity_id,
                    answer.stream_version,
                    answer.outcome,
                    answer.at,
                ),
            )
        return list(range(last - len(rows) + 1, last + 1)) if rows else []

    def _change_claims(self, c: SQLiteCursor, changes: list[ClaimChange]) -> None:
        """Apply the changes in order, then check that no live entity lost its parent."""
        write_claims(c, changes)
        parents = {p[4] for action, p in changes if action == "take" and p[4] is not None}
        for action, parameters in changes:
            if action == "restore":
                c.execute("SELECT parent_id FROM claims WHERE id = ?", parameters)
                parents.update(parent_id for (parent_id,) in c.fetchall() if parent_id)
        for parent_id in parents:
            c.execute("SELECT 1 FROM claims WHERE id = ? AND deleted = 0", (parent_id,))
            if c.fetchone() is None:
                raise IntegrityError(f"claims: the parent {parent_id} is gone")
        for action, parameters in changes:
            if action in ("delete", "release"):
                ids = (parameters[0], int(action == "release"))
                c.execute("SELECT 1 FROM claims WHERE parent_id = ? AND deleted <= ?", ids)
                if c.fetchone() is not None:
                    raise IntegrityError(f"claims: {parameters[0]} still has children")

    def read_log(self, after: int, upto: int, limit: int) -> list[tuple[str, int, str, bytes, int]]:
        """Rows of (entity id, stream version, type name, payload, position) in log order.

        There may be fewer than `limit` when their payloads are large.
        """
        with self.datastore.transaction(commit=False) as c:
            plain = _plain(c)
            plain.execute(self._select_log, (after, upto, limit))
            rows: list[tuple[str, int, str, bytes, int]] = []
            size = 0
            while size < _MAX_READ and (part := plain.fetchmany(_READ_AT_A_TIME)):
                rows += part
                size += sum(len(row[3]) for row in part)
            plain.close()
            return rows

    def select_identity(self) -> str:
        """The random text made with the log."""
        with self.datastore.transaction(commit=False) as c:
            c.execute("SELECT id FROM identity")
            return str(c.fetchone()[0])

    def select_live(self, by_name: bool) -> tuple[int, bytes, int]:
        """Head, the ids of the claims in order, and the number of streams that are not purged."""
        order = "kind, deleted, name, id" if by_name else "id"
        with self.datastore.transaction(commit=False) as c:
            plain = _plain(c)
            # One state of the file for all statements: the transaction begins with the first.
            plain.execute(f"SELECT coalesce(max(rowid), 0) FROM {self.events_table_name}")
            head = plain.fetchone()[0]
            plain.execute(f"SELECT id FROM claims ORDER BY {order}")
            ids = bytearray()
            while rows := plain.fetchmany(10_000):
                ids += "".join(entity_id for (entity_id,) in rows).encode("ascii")
            plain.execute(
                "SELECT coalesce(sum(originator_version = 1), 0)"
                f" - coalesce(sum(topic = 'entity.purged'), 0) FROM {self.events_table_name}"
            )
            return head, bytes(ids), plain.fetchone()[0]

    def select_streams(
        self, entity_ids: Sequence[str], upto: int
    ) -> list[tuple[str, int, str, bytes, int]]:
        """Rows like those of `read_log`, stream after stream in the order of the ids."""
        with self.datastore.transaction(commit=False) as c:
            plain = _plain(c)
            plain.execute(self._select_streams, (msgspec.json.encode(entity_ids).decode(), upto))
            return plain.fetchall()

    def select_named_claims(self, keys: Sequence[tuple[str, str]]) -> list[Claim]:
        """The claims on pairs of kind and qualified name, for those that are held."""
        found = []
        with self.datastore.transaction(commit=False) as c:
            plain = _plain(c)
            for key in keys:
                plain.execute(_NAMED_CLAIM, key)
                found += plain.fetchall()
        return [as_claim(row) for row in found]

    def select_claims(self, where: str, parameters: tuple[str, ...]) -> list[Claim]:
        """The claims that satisfy a condition, in order of kind and qualified name."""
        statement = f"{_SELECT_CLAIMS} WHERE {where} ORDER BY kind, fqn"
        with self.datastore.transaction(commit=False) as c:
            plain = _plain(c)
            plain.execute(statement, parameters)
            return [as_claim(row) for row in plain]

    def select_answer(self, actor: str, key: str) -> RememberedAnswer | None:
        """The remembered answer of a key."""
        with self.datastore.transaction(commit=False) as c:
            c.execute("SELECT * FROM answers WHERE actor = ? AND key = ?", (actor, key))
            row = c.fetchone()
        return None if row is None else RememberedAnswer(**dict(row))


def _plain(cursor: SQLiteCursor | sqlite3.Cursor) -> sqlite3.Cursor:
    """The driver's own cursor, giving tuples: mapping rows cost half of a bulk read."""
    plain = cursor.sqlite_cursor if isinstance(cursor, SQLiteCursor) else cursor
    plain.row_factory = None
    return plain


class Factory(SQLiteFactory):
    """Makes the library's Application use the datastore and recorder above."""

    application_recorder_class = Recorder

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self.datastore.close()
        self.datastore = Datastore(self.datastore.pool.db_name)
