"""The log as NDJSON: a header, a line for each event in its stored form, a trailer.

    {"format":"metadata-catalog-log","version":1,"logId":"...","head":2,
        "features":{"event:entity.created":"0.2.0",...}}
    {"position":1,"entityId":"...","streamVersion":1,"type":"entity.created","payload":{...}}
    {"position":2,...}
    {"count":2,"head":2,"digest":"..."}

The header is one line. It names the features that the events use, with the release that first knew
each; without it, as older exports are, no event uses more than the first of these releases knew.
The digest is BLAKE2b of the event lines with their line ends, so that a file which was cut or
changed is told from a whole one. Answers to idempotency keys do not travel: they are forgotten
after a day anyway. Claims do not either: they follow from the events.
"""

from collections.abc import Callable, Generator, Iterable, Iterator
from hashlib import blake2b
from typing import Any, Literal, TypeVar

import msgspec
from msgspec import Raw

from domain.errors import AlreadyExists, ConcurrentChange, Conflict, InvalidInput, LaterRelease
from domain.event_store.appends import claim_changes
from domain.event_store.features import EARLIEST, features_of, refuse_unknown
from domain.event_store.mapper import DAMAGES, decode_event
from domain.event_store.port import READ_BYTES, EventStore
from domain.event_store.stored import LogSnapshot, StoredRow
from domain.event_store.writes import ClaimChange
from domain.events import Event

T = TypeVar("T")

_BATCH, _DIGEST_BYTES = 5_000, 32
_BROKEN_STREAM = """
SELECT entity_id FROM (
    SELECT entity_id, stream_version, position, row_number() OVER stream AS due,
        lag(position, 1, CAST(0 AS bigint)) OVER stream AS previous
    FROM {} one WINDOW stream AS (PARTITION BY entity_id ORDER BY stream_version)) numbered
WHERE stream_version <> due OR position < previous LIMIT 1
"""


class ExportHeader(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The first line of an export."""

    format: Literal["metadata-catalog-log"]
    version: Literal[1]
    log_id: str
    head: int
    features: dict[str, str] = msgspec.field(default_factory=lambda: dict(EARLIEST))


class EventLine(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, gc=False):
    """The line of one event in its stored form."""

    position: int
    entity_id: str
    stream_version: int
    type: str
    payload: Raw


class ExportTrailer(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The last line of an export, which proves that the file is whole."""

    count: int
    head: int
    digest: str


_encode = msgspec.json.Encoder().encode
_header = msgspec.json.Decoder(ExportHeader)
_line = msgspec.json.Decoder(EventLine)
_trailer = msgspec.json.Decoder(ExportTrailer)


def export(log: EventStore, snapshot: LogSnapshot) -> Iterator[bytes]:
    """The lines of an exported log; raises InvalidInput at an event that no import could read."""
    features = snapshot.features()
    refuse_unknown(features, "the log")
    header = ExportHeader("metadata-catalog-log", 1, log.identity(), snapshot.head, features)
    yield _encode(header) + b"\n"
    digest = blake2b(digest_size=_DIGEST_BYTES)
    count = 0
    for row in snapshot.events():
        line = event_line(row)
        readable_event(row)
        digest.update(line)
        count += 1
        yield line
    yield _encode(ExportTrailer(count, snapshot.head, digest.hexdigest())) + b"\n"


def event_line(row: StoredRow) -> bytes:
    """The line of a stored event, with its line end; the payload is copied as it is."""
    entity_id, stream_version, type_name, payload, position = row
    line = EventLine(position, entity_id, stream_version, type_name, Raw(payload))
    return _encode(line) + b"\n"


class ExportReader:
    """Reads an exported log; reading to the end proves that the file is whole."""

    def __init__(self, lines: Iterable[bytes], name: str) -> None:
        """Read the header; `name` is the name of the file in errors.

        Raises InvalidInput for a file that is not an export, LaterRelease for one of a later
        release.
        """
        self._lines = iter(lines)
        self._name = name
        self._number = 1
        self.header: ExportHeader = self._decoded(_header, next(self._lines, b""))
        refuse_unknown(self.header.features, name)
        self.trailer: ExportTrailer | None = None
        """The trailer of the file; None until all events were read."""

    def events(self) -> Iterator[tuple[bytes, StoredRow]]:
        """The line and stored form of each event; raises InvalidInput for a damaged file."""
        digest = blake2b(digest_size=_DIGEST_BYTES)
        count = position = 0
        held = next(self._lines, None)
        while (following := next(self._lines, None)) is not None:
            assert held is not None
            self._number += 1
            line: EventLine = self._decoded(_line, held)
            if line.position <= position:
                raise self._wrong(f"position {line.position} comes after {position}")
            position = line.position
            count += 1
            digest.update(held)
            row = line.entity_id, line.stream_version, line.type, bytes(line.payload), position
            yield held, row
            held = following
        self._number += 1
        try:
            trailer = _trailer.decode(held or b"")
        except msgspec.MsgspecError:
            raise self._wrong("the trailer is missing: the file was cut off") from None
        if trailer != ExportTrailer(count, position, digest.hexdigest()):
            raise self._wrong("the file was changed: its events do not fit its trailer")
        if trailer.head != self.header.head:
            raise self._wrong(
                "the file was changed: its header and its trailer name different heads"
            )
        self.trailer = trailer

    def rows(self) -> Iterator[StoredRow]:
        """Each event in its stored form; raises InvalidInput for a damaged file."""
        return (row for _, row in self.events())

    def _decoded(self, decoder: Any, line: bytes) -> Any:
        try:
            return decoder.decode(line)
        except msgspec.MsgspecError as error:
            raise self._wrong(str(error)) from None

    def _wrong(self, what: str) -> InvalidInput:
        return InvalidInput(f"{self._name}, line {self._number}: {what}")


def compare(log: LogSnapshot, reader: ExportReader) -> str | None:
    """The first difference of a log from an exported one; None when it begins with all of it."""
    rows = log.events()
    difference = None
    # The file is read to its end after a difference too: only a whole file is evidence.
    for line, exported in reader.events():
        if difference is not None:
            continue
        position = exported[4]
        row = next(rows, None)
        if row is None:
            difference = (
                f"position {position}: the log ends before it, the export has an event there"
            )
        elif row[4] != position:
            difference = f"position {min(row[4], position)}: there in the log or the export alone"
        elif event_line(row) != line:
            difference = f"position {position}: the event differs from the exported one"
    return difference


def readable_event(row: StoredRow) -> Event:
    """The event of a stored row; raises InvalidInput, or LaterRelease, where no import can."""
    _, _, type_name, payload, position = row
    if b"\n" in payload:
        raise InvalidInput(f"the event at position {position} is damaged: it has a line end")
    try:
        return decode_event(type_name, payload)
    except LaterRelease as error:
        raise LaterRelease(f"the event at position {position}: {error}") from None
    except DAMAGES as error:
        raise InvalidInput(f"the event at position {position} is damaged: {error!r}") from None


def in_batches(
    items: Iterable[T], size_of: Callable[[T], int], most: int, most_bytes: int
) -> Iterator[list[T]]:
    """Items in lists that end at `most` of them, or with the one that reaches `most_bytes`.

    Each list is given as soon as it is complete: nothing is taken ahead of it.
    """
    batch: list[T] = []
    size = 0
    for item in items:
        batch.append(item)
        size += size_of(item)
        if len(batch) == most or size >= most_bytes:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _importable_event(row: StoredRow) -> Event:
    """The event of a stored row; raises as `readable_event` does, and for a time before 1970."""
    event = readable_event(row)
    if event.at <= 0:
        raise InvalidInput(
            f"the event at position {row[4]} is damaged: its time, {event.at}, is before 1970"
        )
    return event


def restore_rows(
    rows: Iterator[StoredRow],
    insert: Callable[[list[StoredRow], list[ClaimChange]], None],
    select: Callable[[str], Any],
    events_table: str,
) -> Generator[int, None, frozenset[str]]:
    """Have `insert` take over rows in batches, each with the changes of claims that follow.

    `select` gives the first row of a statement in the transaction of `insert`, and `events_table`
    is that of `LogSnapshot`. Yields the positions reached, and returns the features that the events
    use. `insert` raises AlreadyExists or ConcurrentChange where an event or a name comes twice;
    that is raised as InvalidInput, as is an event that cannot be read, before anything of its batch
    is inserted, and a log with gaps. Raises Conflict when there are events already.
    """
    if select(f"SELECT 1 FROM {events_table} one LIMIT 1") is not None:
        raise Conflict("the log has events: import into an empty one")
    used: frozenset[str] = frozenset()
    for batch in in_batches(rows, lambda row: len(row[3]), _BATCH, READ_BYTES):
        events = [(row[0], _importable_event(row)) for row in batch]
        used |= features_of(event for _, event in events)
        try:
            insert(batch, [change for each in events for change in claim_changes(*each)])
        except (AlreadyExists, ConcurrentChange) as error:
            where = f"positions {batch[0][4]} to {batch[-1][4]}"
            raise InvalidInput(f"{where}: an event or a name comes twice ({error})") from error
        yield batch[-1][4]
    broken = select(_BROKEN_STREAM.format(events_table))
    if broken is not None:
        raise InvalidInput(f"the stream of {broken[0]} has gaps or is out of order: no full log")
    return used
