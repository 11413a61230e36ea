"""Reads the log in PostgreSQL; each statement for events ends at a number of bytes."""

from collections import deque
from collections.abc import Callable, Collection, Sequence
from typing import Any, Unpack

from domain.edges import EDGE
from domain.errors import StoreUnavailable
from domain.event_store.entity_reads import RecordedEvent, SoughtClaims, StreamSpan
from domain.event_store.port import (
    MAX_INTEGER,
    READ_BYTES,
    SEARCHED_POSITIONS,
    STREAM_BYTES,
    EventStore,
    NumberedRow,
)
from domain.event_store.postgres.connections import Connections
from domain.event_store.postgres.features import read_features
from domain.event_store.postgres.link import Link
from domain.event_store.stored import Claim, StoredRow
from domain.event_store.writes import RememberedAnswer
from domain.kinds.names import name_key

_LOOK_SECONDS = 3.0
"""Longest time of the server to report its head for `/readyz` and the like."""
_SPAN_ROWS = 1_000
"""Most events of a span in one statement, which measures them all before it ends."""
COLUMNS = "entity_id, stream_version, type, payload, position"
CLAIM = (
    "kind, fqn, id, name, parent_id, deleted,"
    ' ARRAY(SELECT f.fqn FROM former_names f WHERE f.id = claims.id ORDER BY f.fqn COLLATE "C")'
)


def bounded(selected: str, order: str, columns: str = COLUMNS) -> str:
    """The SQL for the first of some rows, up to the one with which payloads reach so many bytes."""
    return (
        f"SELECT {columns} FROM (SELECT *, sum(octet_length(payload)) OVER (ORDER BY {order}"
        " ROWS UNBOUNDED PRECEDING) - octet_length(payload) AS before"
        f" FROM ({selected}) part) sized WHERE before < %b ORDER BY {order}"
    )


SELECT_LOG = {
    newest_first: bounded(
        f"SELECT {COLUMNS} FROM events WHERE position > %b AND position <= %b"
        f" ORDER BY position {order} LIMIT %b",
        f"position {order}",
    )
    for newest_first, order in ((False, "ASC"), (True, "DESC"))
}
_SPANS_OF_STREAMS = bounded(
    "SELECT s.n - 1 AS n, e.* FROM unnest(%b::text[], %b::bigint[], %b::bigint[])"
    " WITH ORDINALITY AS s(id, after, upto, n), LATERAL ("
    f"SELECT {COLUMNS} FROM events WHERE entity_id = s.id AND stream_version > s.after"
    " AND stream_version <= s.upto AND position <= %b ORDER BY stream_version LIMIT %b) e",
    "n, stream_version",
    f"n, {COLUMNS}",
)
_OF_EDGES = f"SELECT {CLAIM} FROM claims WHERE kind = '{EDGE}' AND"
_CLAIMS_SOUGHT = (
    f"SELECT {CLAIM} FROM claims WHERE name_key = ANY (%b::bytea[])"
    f" UNION ALL SELECT {CLAIM} FROM claims WHERE id = ANY (%b::text[])"
    f" UNION ALL SELECT {CLAIM} FROM claims WHERE id IN"
    " (SELECT f.id FROM former_names f WHERE f.name_key = ANY (%b::bytea[]))"
    f" UNION ALL SELECT {CLAIM} FROM claims WHERE parent_id = ANY (%b::text[])"
    f" UNION ALL {_OF_EDGES} split_part(fqn, '.', 1) = ANY (%b::text[])"
    f" UNION ALL {_OF_EDGES} name = ANY (%b::text[])"
)
_LIVE_CHILDREN = (
    f"SELECT {CLAIM} FROM claims WHERE parent_id = %b AND NOT deleted AND kind = %b"
    # The index has beginnings of names (`left`); among equal ones the whole name decides.
    " AND left(fqn, 500) >= left(%b, 500) AND fqn > %b ORDER BY left(fqn, 500), fqn LIMIT %b"
)
_HAVING_LIVE = (
    "SELECT p.id FROM unnest(%b::text[]) AS p(id) WHERE EXISTS (SELECT FROM claims c"
    " WHERE c.parent_id = p.id AND NOT c.deleted AND c.kind = %b)"
)
_MENTIONING = (
    "SELECT DISTINCT e.entity_id FROM events e WHERE e.position > %b AND e.position <= %b"
    " AND EXISTS (SELECT FROM unnest(%b::bytea[]) AS t(text)"
    " WHERE position(t.text IN e.payload) > 0)"
)
_ANSWER = (
    "SELECT actor, key, digest, entity_id, stream_version, outcome, at FROM answers"
    " WHERE actor = %b AND key = %b"
)
_HEAD = "SELECT coalesce(max(position), 0) FROM events"
_READ_ONLY = "SELECT current_setting('transaction_read_only')::boolean::integer"
_SIZE = "SELECT sum(pg_total_relation_size(t)) FROM unnest('{events,claims,answers}'::regclass[]) t"


class PostgresReads(EventStore):
    """The reads of a log that take one of its connections."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._synced = (0, 0)
        """An epoch, and a position up to which the log is known to survive power loss in it."""

    def read(
        self, after: int, limit: int, upto: int | None = None, *, newest_first: bool = False
    ) -> list[RecordedEvent]:
        """Read by one statement over positions; see `EventStore.read`."""
        last = MAX_INTEGER if upto is None else upto

        def read(link: Link) -> list[StoredRow]:
            rows = link.rows(SELECT_LOG[newest_first], after, last, limit, READ_BYTES)
            if rows:
                self._sync(link, max(rows[0][4], rows[-1][4]))
            return rows

        return [self._recorded(row) for row in self._connections.ask(read)]

    def _read_spans(
        self, spans: Sequence[StreamSpan], upto: int
    ) -> tuple[deque[NumberedRow], bool]:
        def read(link: Link) -> tuple[deque[NumberedRow], bool]:
            rows, is_cut = read_spans(link, spans, upto)
            self._sync(link, max((row[5] for row in rows), default=0))
            return rows, is_cut

        return self._connections.ask(read)

    def head(self) -> int:
        """The greatest position of the events; see `EventStore.head`."""
        return self._number(_HEAD)

    def durable_head(self) -> int:
        """The head, and what makes it last; see `EventStore.durable_head`."""

        def read(link: Link) -> int:
            (head,) = link.one(_HEAD)
            self._sync(link, head)
            return int(head)

        return self._connections.ask(read)

    def is_read_only(self) -> bool:
        """The mode of a transaction that begins now; see `EventStore.is_read_only`."""
        return bool(self._number(_READ_ONLY))

    def identity(self) -> str:
        """The row of the table `identity`; see `EventStore.identity`."""
        row = self._connections.ask(lambda link: link.one("SELECT id FROM identity"))
        if row is None:
            raise StoreUnavailable("the log is damaged: it has no identity")
        return str(row[0])

    def features(self) -> dict[str, str]:
        """The rows of the table `features`; see `EventStore.features`."""
        return self._connections.ask(read_features, within=_LOOK_SECONDS)

    def claims(self, **sought: Unpack[SoughtClaims]) -> list[Claim]:
        """Read all claims by one statement; see `EventStore.claims`."""
        keys = [name_key(*name) for name in sought.get("names", ())]
        ids, parents = sought.get("ids", ()), sought.get("parents", ())
        ends = sought.get("ends", ())
        values = [keys, _storable(ids), keys, *map(_storable, (parents, ends, ends))]
        rows = self._connections.ask(lambda link: link.rows(_CLAIMS_SOUGHT, *values))
        claims = {row[:2]: as_claim(row) for row in rows}
        return [claims[key] for key in sorted(claims)]

    def mentioning(self, texts: Collection[bytes], *, after: int = 0) -> tuple[set[str], int]:
        """Search the payloads, some thousand in a statement; see `EntityReads.mentioning`."""
        ids, head = set[str](), self.durable_head()
        for start in range(after, head, SEARCHED_POSITIONS):
            values = start, min(start + SEARCHED_POSITIONS, head), [*texts]
            ids.update(entity_id for (entity_id,) in self._connections.ask(_rows_of(values)))
        return ids, head

    def live_children(self, parent_id: str, kind: str, after: str, limit: int) -> list[Claim]:
        """Read a range of an index; see `EventStore.live_children`."""
        values = [parent_id, kind, after, after, limit]
        rows = self._connections.ask(lambda link: link.rows(_LIVE_CHILDREN, *values))
        return [as_claim(row) for row in rows]

    def having_live(self, kind: str, parent_ids: Collection[str]) -> set[str]:
        """Read ranges of an index; see `EntityReads.having_live`."""
        ids = _storable(parent_ids)
        return {
            row[0] for row in self._connections.ask(lambda link: link.rows(_HAVING_LIVE, ids, kind))
        }

    def answer(self, actor: str, key: str) -> RememberedAnswer | None:
        """Read the table `answers`; see `EventStore.answer`."""

        def read(link: Link) -> Any:
            row = link.one(_ANSWER, actor, key)
            if row is not None:
                # No position tells of an answer without events.
                link.sync()
            return row

        row = self._connections.ask(read)
        return None if row is None else RememberedAnswer(*row)

    def size(self) -> int:
        """Bytes of the tables and their indexes; see `EventStore.size`."""
        return self._number(_SIZE)

    def _number(self, statement: str) -> int:
        """The number that a statement gives."""
        return int(self._connections.ask(lambda link: link.one(statement), within=_LOOK_SECONDS)[0])

    def _sync(self, link: Link, position: int) -> None:
        """Wait until events that were read over a connection survive power loss.

        They are visible a moment before that, so that appends need not wait for each other's sync.
        Raises psycopg.Error.
        """
        epoch, synced = self._synced
        if epoch != link.epoch or position > synced:
            link.sync()
            self._synced = max(self._synced, (link.epoch, position))


def _rows_of(values: tuple[Any, ...]) -> Callable[[Link], list[tuple[str]]]:
    return lambda link: link.rows(_MENTIONING, *values)


def as_claim(row: tuple[Any, ...]) -> Claim:
    """The claim of a row of the columns in CLAIM."""
    kind, fqn, entity_id, name, parent_id, deleted, former_names = row
    return Claim(kind, fqn, entity_id, name, parent_id, deleted, tuple(former_names))


def read_spans(
    link: Link, spans: Sequence[StreamSpan], upto: int
) -> tuple[deque[NumberedRow], bool]:
    """Events of spans with positions up to `upto`; see `port.ReadSpans`."""
    values = [
        [span.entity_id for span in spans],
        [span.after for span in spans],
        [MAX_INTEGER if span.upto is None else span.upto for span in spans],
        upto,
        _SPAN_ROWS,
        STREAM_BYTES,
    ]
    rows: deque[NumberedRow] = deque()
    size = current = inside = 0
    for row in link.rows(_SPANS_OF_STREAMS, *values):
        if row[0] != current:
            if inside == _SPAN_ROWS:
                break
            current, inside = row[0], 0
        rows.append(row)
        inside += 1
        size += len(row[4])
    return rows, size >= STREAM_BYTES or inside == _SPAN_ROWS


def _storable(ids: Collection[str]) -> list[str]:
    """The ids, among these, that the database can store: its texts have no NUL."""
    return [each for each in ids if "\0" not in each]
