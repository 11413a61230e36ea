"""The statements that read the log, each of which ends at a number of bytes."""

from collections import deque
from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from typing import Any

import msgspec

from domain.edges import EDGE
from domain.event_store.port import READ_BYTES, STREAM_BYTES, Claim, StoredRow, StreamSpan
from domain.event_store.postgres.link import Link
from domain.kinds.names import name_key

MAX_INTEGER = 2**63 - 1
SPANS = 100
"""Most spans in one statement."""
_SPAN_ROWS = 1_000
"""Most events of a span in one statement, which measures them all before it ends."""
_CREATIONS = (
    "SELECT entity_id, type, payload FROM events"
    " WHERE stream_version = 1 AND position(%b IN payload) > 0 ORDER BY position"
)
_SNAPSHOT_ROWS = 2_000
_CLAIMS = 5_000
"""Most claims of a snapshot in one statement."""

COLUMNS = "entity_id, stream_version, type, payload, position"
CLAIM = "kind, fqn, id, name, parent_id, deleted"


def _bounded(selected: str, order: str, columns: str = COLUMNS) -> str:
    """The SQL for the first of some rows, up to the one with which payloads reach so many bytes."""
    return (
        f"SELECT {columns} FROM (SELECT *, sum(octet_length(payload)) OVER (ORDER BY {order}"
        " ROWS UNBOUNDED PRECEDING) - octet_length(payload) AS before"
        f" FROM ({selected}) part) sized WHERE before < %b ORDER BY {order}"
    )


_LOG = {
    newest_first: _bounded(
        f"SELECT {COLUMNS} FROM events WHERE position > %b AND position <= %b"
        f" ORDER BY position {order} LIMIT %b",
        f"position {order}",
    )
    for newest_first, order in ((False, "ASC"), (True, "DESC"))
}
_STREAMS = _bounded(
    f"SELECT {COLUMNS} FROM events WHERE (entity_id, stream_version) > (%b, %b)"
    " ORDER BY entity_id, stream_version LIMIT %b",
    "entity_id, stream_version",
)
_SPANS_OF_STREAMS = _bounded(
    "SELECT s.n, e.* FROM unnest(%b::text[], %b::bigint[], %b::bigint[])"
    " WITH ORDINALITY AS s(id, after, upto, n), LATERAL ("
    f"SELECT {COLUMNS} FROM events WHERE entity_id = s.id AND stream_version > s.after"
    " AND stream_version <= s.upto AND position <= %b ORDER BY stream_version LIMIT %b) e",
    "n, stream_version",
    f"n, {COLUMNS}",
)
_CLAIMS_AFTER = f"SELECT {CLAIM} FROM claims WHERE id > %b ORDER BY id LIMIT %b"
_CLAIMS_OF = f"SELECT {CLAIM} FROM claims WHERE id = ANY (%b::text[]) ORDER BY id"
_OF_EDGES = f"SELECT {CLAIM} FROM claims WHERE kind = '{EDGE}' AND"
_CLAIMS_SOUGHT = (
    f"SELECT {CLAIM} FROM claims WHERE name_key = ANY (%b::bytea[])"
    f" UNION ALL SELECT {CLAIM} FROM claims WHERE id = ANY (%b::text[])"
    f" UNION ALL SELECT {CLAIM} FROM claims WHERE parent_id = ANY (%b::text[])"
    f" UNION ALL {_OF_EDGES} split_part(fqn, '.', 1) = ANY (%b::text[])"
    f" UNION ALL {_OF_EDGES} name = ANY (%b::text[])"
)
_LIVE_CHILDREN = (
    f"SELECT {CLAIM} FROM claims WHERE parent_id = %b AND NOT deleted AND kind = %b"
    # Of the index, which has the beginning of a name: what it leaves in doubt the rest decides.
    " AND left(fqn, 500) >= left(%b, 500) AND fqn > %b ORDER BY left(fqn, 500), fqn LIMIT %b"
)
_HAVING_LIVE = (
    "SELECT p.id FROM unnest(%b::text[]) AS p(id) WHERE EXISTS (SELECT FROM claims c"
    " WHERE c.parent_id = p.id AND NOT c.deleted AND c.kind = %b)"
)


def read_log(
    link: Link, after: int, upto: int, limit: int, *, newest_first: bool = False
) -> list[StoredRow]:
    """Events with positions in (after, upto], in log order or against it, up to READ_BYTES."""
    return link.rows(_LOG[newest_first], after, upto, limit, READ_BYTES)


def read_spans(link: Link, spans: deque[StreamSpan], upto: int) -> deque[StoredRow]:
    """Events of the first spans until they reach STREAM_BYTES; `spans` keeps the unread ones."""
    part = [*islice(spans, SPANS)]
    values = [
        [span.entity_id for span in part],
        [span.after for span in part],
        [MAX_INTEGER if span.upto is None else span.upto for span in part],
        upto,
        _SPAN_ROWS,
        STREAM_BYTES,
    ]
    rows: deque[StoredRow] = deque()
    size = current = inside = 0
    for number, *row in link.rows(_SPANS_OF_STREAMS, *values):
        if number != current:
            if inside == _SPAN_ROWS:
                break
            current, inside = number, 0
        rows.append(tuple(row))
        inside += 1
        size += len(row[3])
    is_cut = size >= STREAM_BYTES or inside == _SPAN_ROWS
    for _ in range(current - 1 if is_cut else len(part)):
        spans.popleft()
    if is_cut:
        spans[0] = StreamSpan(spans[0].entity_id, rows[-1][1], spans[0].upto)
    return rows


def all_events(link: Link, after: int) -> Iterator[StoredRow]:
    """All events with positions above `after`, in log order, up to STREAM_BYTES at a time."""
    while rows := link.rows(_LOG[False], after, MAX_INTEGER, _SNAPSHOT_ROWS, STREAM_BYTES):
        yield from rows
        after = rows[-1][4]


def all_streams(link: Link) -> Iterator[StoredRow]:
    """All events in order of id and stream version, up to STREAM_BYTES at a time."""
    last: tuple[str, int] = ("", 0)
    while rows := link.rows(_STREAMS, *last, _SNAPSHOT_ROWS, STREAM_BYTES):
        yield from rows
        last = rows[-1][:2]


def all_claims(link: Link) -> Iterator[Claim]:
    """All claims in order of id, some thousands at a time."""
    last = ""
    while rows := link.rows(_CLAIMS_AFTER, last, _CLAIMS):
        yield from map(_as_claim, rows)
        last = rows[-1][2]


def claims_of(link: Link, ids: Sequence[str]) -> list[Claim]:
    """The claims of entities, in order of id."""
    return [*map(_as_claim, link.rows(_CLAIMS_OF, [*ids]))]


def claims_sought(
    link: Link,
    names: Collection[tuple[str, str]],
    ids: Collection[str],
    parents: Collection[str],
    ends: Collection[str],
) -> list[Claim]:
    """The claims on names, of entities, of children of parents and of edges at ends, each once.

    They come in order of kind and name.
    """
    keys = [name_key(*name) for name in names]
    values = [keys, _storable(ids), _storable(parents), _storable(ends), _storable(ends)]
    rows = {row[:2]: row for row in link.rows(_CLAIMS_SOUGHT, *values)}
    return [_as_claim(rows[key]) for key in sorted(rows)]


def live_children(link: Link, parent_id: str, kind: str, after: str, limit: int) -> list[Claim]:
    """The claims of live children of a kind with names above `after`, in order of names."""
    values = [parent_id, kind, after, after, limit]
    return [*map(_as_claim, link.rows(_LIVE_CHILDREN, *values))]


def having_live(link: Link, kind: str, parent_ids: Collection[str]) -> set[str]:
    """The ids, among these, that live children of a kind have as their parent."""
    return {row[0] for row in link.rows(_HAVING_LIVE, _storable(parent_ids), kind)}


def creations(link: Link, text: str) -> list[tuple[str, str, bytes]]:
    """Entity id, type name and payload of first events that hold a text, in log order."""
    return link.rows(_CREATIONS, msgspec.json.encode(text))


def _storable(ids: Collection[str]) -> list[str]:
    """The ids, among these, that the database can store: its texts have no NUL."""
    return [each for each in ids if "\0" not in each]


def _as_claim(row: Sequence[Any]) -> Claim:
    return Claim(**dict(zip(Claim.__struct_fields__, row, strict=True)))
