"""Reads the log in SQLite, each method in one transaction."""

from collections import deque
from collections.abc import Collection, Iterable, Sequence
from itertools import chain
from typing import Any, Unpack

import msgspec

from domain.event_store.entity_reads import RecordedEvent, SoughtClaims, StreamSpan
from domain.event_store.port import (
    MAX_INTEGER,
    READ_BYTES,
    SEARCHED_POSITIONS,
    STREAM_BYTES,
    EventStore,
    NumberedRow,
)
from domain.event_store.sqlite.claims import (
    MOST_SOUGHT,
    PARENTS_OF_KIND,
    SELECT_CLAIMS,
    as_claim,
    look_up,
    statements_for,
)
from domain.event_store.sqlite.connections import Datastore
from domain.event_store.sqlite.features import read_features
from domain.event_store.stored import Claim
from domain.event_store.writes import RememberedAnswer

_COLUMNS = "originator_id, originator_version, topic, state"
SELECT_EVENTS = f"SELECT {_COLUMNS}, rowid FROM stored_events"
_SELECT_LOG = {
    newest_first: f"{SELECT_EVENTS} WHERE rowid > ? AND rowid <= ? ORDER BY rowid {order} LIMIT ?"
    for newest_first, order in ((False, "ASC"), (True, "DESC"))
}
_SELECT_SPAN = (
    f"SELECT ?, {_COLUMNS}, rowid FROM stored_events WHERE originator_id = ?"
    " AND originator_version > ? AND originator_version <= ? AND rowid <= ?"
    " ORDER BY originator_version"
)
"""Reads one span; the first column is the place of the span among those that are read."""
_SELECT_STREAMS = (
    # To sort the rows would take all of them into memory: they are read in their order, as CROSS
    # JOIN goes through the ids in theirs, and the index through the events of each.
    f"SELECT one.key, {_COLUMNS}, e.rowid FROM json_each(?) one"
    " CROSS JOIN stored_events e INDEXED BY sqlite_autoindex_stored_events_1"
    " WHERE e.originator_id = one.value AND +e.rowid <= ?"
)
"""Reads whole streams together, in half the time of reading one after the other."""
_SELECT_IDS = "SELECT originator_id FROM stored_events WHERE rowid > ? AND rowid <= ?"
SELECT_HEAD = "SELECT coalesce(max(rowid), 0) FROM stored_events"
_ANSWER = (
    "SELECT actor, key, digest, entity_id, stream_version, outcome, at FROM answers"
    " WHERE actor = ? AND key = ?"
)
_LIVE_CHILDREN = (
    f"{SELECT_CLAIMS} WHERE parent_id = ? AND deleted = 0 AND kind = ? AND fqn > ?"
    " ORDER BY fqn LIMIT ?"
)


class SqliteReads(EventStore):
    """The reads of a log that take one transaction of its datastore."""

    def __init__(self, datastore: Datastore) -> None:
        self._datastore = datastore

    def read(
        self, after: int, limit: int, upto: int | None = None, *, newest_first: bool = False
    ) -> list[RecordedEvent]:
        """Read by one statement over positions; see `EventStore.read`."""
        rows = []
        size = 0
        with self._datastore.reading() as cursor:
            last = MAX_INTEGER if upto is None else upto
            for row in cursor.execute(_SELECT_LOG[newest_first], (after, last, limit)):
                rows.append(row)
                size += len(row[3])
                if size >= READ_BYTES:
                    break
        return [self._recorded(row) for row in rows]

    def _read_spans(
        self, spans: Sequence[StreamSpan], upto: int
    ) -> tuple[deque[NumberedRow], bool]:
        values = [
            (place, each.entity_id, each.after, MAX_INTEGER if each.upto is None else each.upto)
            for place, each in enumerate(spans)
        ]
        rows: deque[NumberedRow] = deque()
        size = 0
        with self._datastore.reading(several=len(spans) > 1) as cursor:
            results: Iterable[Iterable[Any]]
            if len(spans) > 1 and all(each.after == 0 and each.upto is None for each in spans):
                ids = msgspec.json.encode([each.entity_id for each in spans]).decode()
                results = [cursor.execute(_SELECT_STREAMS, (ids, upto))]
            else:
                results = (cursor.execute(_SELECT_SPAN, (*value, upto)) for value in values)
            for row in chain.from_iterable(results):
                rows.append(row)
                size += len(row[4])
                if size >= STREAM_BYTES:
                    break
        return rows, size >= STREAM_BYTES

    def head(self) -> int:
        """The greatest rowid of the events; see `EventStore.head`."""
        with self._datastore.reading() as cursor:
            return int(cursor.execute(SELECT_HEAD).fetchone()[0])

    def identity(self) -> str:
        """The row of the table `identity`; see `EventStore.identity`."""
        with self._datastore.reading() as cursor:
            return str(cursor.execute("SELECT id FROM identity").fetchone()[0])

    def features(self) -> dict[str, str]:
        """The rows of the table `features`; see `EventStore.features`."""
        with self._datastore.reading(several=True) as cursor:
            return read_features(cursor)

    def claims(self, **sought: Unpack[SoughtClaims]) -> list[Claim]:
        """Read all claims in one state of the log; see `EventStore.claims`."""
        statements = statements_for(sought)
        rows: dict[tuple[str, str], tuple[Any, ...]] = {}
        with self._datastore.reading(several=len(statements) > 1) as cursor:
            for sql, values in statements:
                rows.update((row[:2], row) for row in cursor.execute(sql, values))
        return [as_claim(rows[key]) for key in sorted(rows)]

    def mentioning(self, texts: Collection[bytes], *, after: int = 0) -> tuple[set[str], int]:
        """Search the payloads, some thousand in a transaction; see `EntityReads.mentioning`."""
        conditions = " OR ".join("instr(state, ?)" for _ in texts)
        ids, head = set[str](), self.head()
        for start in range(after, head, SEARCHED_POSITIONS):
            with self._datastore.reading() as cursor:
                upto = min(start + SEARCHED_POSITIONS, head)
                cursor.execute(f"{_SELECT_IDS} AND ({conditions})", (start, upto, *texts))
                ids.update(entity_id for (entity_id,) in cursor)
        return ids, head

    def live_children(self, parent_id: str, kind: str, after: str, limit: int) -> list[Claim]:
        """Read a range of an index; see `EventStore.live_children`."""
        with self._datastore.reading() as cursor:
            cursor.execute(_LIVE_CHILDREN, (parent_id, kind, after, limit))
            return [as_claim(row) for row in cursor]

    def having_live(self, kind: str, parent_ids: Collection[str]) -> set[str]:
        """Read ranges of an index; see `EntityReads.having_live`."""
        with self._datastore.reading(several=len(parent_ids) > MOST_SOUGHT) as cursor:
            return {row[0] for row in look_up(cursor, PARENTS_OF_KIND, parent_ids, kind)}

    def answer(self, actor: str, key: str) -> RememberedAnswer | None:
        """Read the table `answers`; see `EventStore.answer`."""
        with self._datastore.reading() as cursor:
            row = cursor.execute(_ANSWER, (actor, key)).fetchone()
        return None if row is None else RememberedAnswer(*row)
