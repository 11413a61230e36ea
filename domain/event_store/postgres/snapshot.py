"""The log at one moment, in a transaction of its own, and the faults that a database can prove."""

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

from domain.event_store.entity_reads import StreamSpan
from domain.event_store.port import MAX_INTEGER, STREAM_BYTES, NumberedRow, stream_rows
from domain.event_store.postgres.connections import translated_errors
from domain.event_store.postgres.features import read_features
from domain.event_store.postgres.link import Link
from domain.event_store.postgres.reading import (
    CLAIM,
    COLUMNS,
    SELECT_LOG,
    as_claim,
    bounded,
    read_spans,
)
from domain.event_store.stored import Claim, LogSnapshot, StoredRow

_BEGIN = (
    "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
    # Whoever reads the whole log may take hours, and the reader of an export may pause.
    "SET LOCAL statement_timeout = 0",
    "SET LOCAL idle_in_transaction_session_timeout = 0",
)
_EXTENT = "SELECT coalesce(max(position), 0), count(*) FROM events"
_ROWS, _CLAIMS = 2_000, 5_000
"""Most events, and most claims, in one statement."""
_IDS = 1_000
"""Most entities in one statement."""
_STREAMS = bounded(
    f"SELECT {COLUMNS} FROM events WHERE (entity_id, stream_version) > (%b, %b)"
    " ORDER BY entity_id, stream_version LIMIT %b",
    "entity_id, stream_version",
)
_CLAIMS_AFTER = f"SELECT {CLAIM} FROM claims WHERE id > %b ORDER BY id LIMIT %b"
_CLAIMS_OF = f"SELECT {CLAIM} FROM claims WHERE id = ANY (%b::text[]) ORDER BY id"


class PostgresSnapshot(LogSnapshot):
    """One read transaction on a connection of its own, which the caller closes.

    Writers go on beside a snapshot, but rows that are deleted meanwhile stay on disk.
    """

    events_table = "events"
    select_given = "SELECT last_value FROM positions"

    def __init__(self, link: Link) -> None:
        self._link = link
        for statement in _BEGIN:
            link.execute(statement)
        ((self.head, self.count),) = self._link.rows(_EXTENT)

    def features(self) -> dict[str, str]:
        """The features that are named; see `EventStore.features`."""
        with translated_errors():
            return read_features(self._link)

    def events(self, after: int = 0) -> Iterator[StoredRow]:
        """The events with positions above `after`, up to STREAM_BYTES at a time."""
        while rows := [*self._rows(SELECT_LOG[False], after, MAX_INTEGER, _ROWS, STREAM_BYTES)]:
            yield from rows
            after = rows[-1][4]

    def streams(self, ids: Sequence[str] | None = None) -> Iterator[StoredRow]:
        """The streams of these entities (None: of all), up to STREAM_BYTES at a time."""
        if ids is not None:
            yield from stream_rows(map(StreamSpan, sorted(ids)), self._read_spans)
            return
        last: tuple[str, int] = ("", 0)
        while rows := [*self._rows(_STREAMS, *last, _ROWS, STREAM_BYTES)]:
            yield from rows
            last = rows[-1][:2]

    def claims(self, ids: Sequence[str] | None = None) -> Iterator[Claim]:
        """The claims of these entities (None: of all), some thousands at a time."""
        if ids is not None:
            for start in range(0, len(ids), _IDS):
                part = sorted(ids)[start : start + _IDS]
                yield from map(as_claim, self._rows(_CLAIMS_OF, part))
            return
        last = ""
        while rows := [*self._rows(_CLAIMS_AFTER, last, _CLAIMS)]:
            yield from map(as_claim, rows)
            last = rows[-1][2]

    def _ids(self, statement: str) -> bytes:
        ids = bytearray()
        with (
            translated_errors(),
            self._link.cursor().copy(f"COPY ({statement}) TO STDOUT".encode()) as copy,
        ):
            for data in copy:
                ids += bytes(data).replace(b"\n", b"")
        return bytes(ids)

    def _read_spans(self, spans: Sequence[StreamSpan]) -> tuple[deque[NumberedRow], bool]:
        with translated_errors():
            return read_spans(self._link, spans, MAX_INTEGER)

    def _rows(self, statement: str, *values: Any) -> Iterator[Any]:
        with translated_errors():
            rows = self._link.rows(statement, *values)
        return iter(rows)
