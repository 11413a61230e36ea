"""Builds the answers of an event store from stored rows, alike for every database."""

from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

import msgspec

from domain import events
from domain.errors import LaterRelease, StoreUnavailable
from domain.event_store.appends import position_of, prepared
from domain.event_store.mapper import decode_event
from domain.event_store.port import EventStore, RecordedEvent, StreamSpan
from domain.event_store.stored import LiveStreams, StoredRow
from domain.event_store.writes import Append, Expectations, RememberedAnswer

MAX_INTEGER = 2**63 - 1
_SPANS = 1_000
"""Most spans in one statement."""

NumberedRow = tuple[int, str, int, str, bytes, int]
"""The place of a span among those that are read, and an event of it as it is stored."""

ReadSpans = Callable[[Sequence[StreamSpan]], tuple[deque[NumberedRow], bool]]
"""Reads the events of spans up to so many bytes; True if it has left the last span, or later ones,
unread after the last of these events."""


def stream_rows(spans: Iterable[StreamSpan], read: ReadSpans) -> Iterator[StoredRow]:
    """The events of spans in their order, read as they are taken.

    Ids with a NUL are left out: no database can store them.
    """
    left = deque(span for span in spans if "\0" not in span.entity_id)
    while left:
        part = [*islice(left, _SPANS)]
        rows, is_cut = read(part)
        for _ in range(rows[-1][0] if is_cut else len(part)):
            left.popleft()
        if is_cut:
            left[0] = msgspec.structs.replace(left[0], after=rows[-1][2])
        while rows:
            # Rows that the caller has taken are released before more are read.
            yield rows.popleft()[1:]


class RecordedLog(EventStore):
    """The part of an event store that is about events rather than about a database.

    What the methods at the end read is raised as StoreUnavailable where it cannot be read.
    """

    def append(
        self,
        recorded: Sequence[RecordedEvent],
        answer: RememberedAnswer | None = None,
        *,
        expecting: Expectations = Expectations(),  # noqa: B008 - it is frozen
        epoch: int | None = None,
    ) -> int:
        """Append a group of one; see `EventStore.append`."""
        append = prepared(recorded, answer, expecting=expecting, epoch=epoch)
        (result,) = self.append_group([append])
        return position_of(result)

    def append_unsynced(
        self,
        recorded: Sequence[RecordedEvent],
        *,
        expecting: Expectations,
        epoch: int | None = None,
    ) -> Callable[[], int]:
        """Leave the commit to the function; see `EventStore.append_unsynced`."""
        return self._append_unsynced(prepared(recorded, expecting=expecting, epoch=epoch))

    def streams(
        self, spans: Sequence[StreamSpan], *, upto: int | None = None
    ) -> Iterator[RecordedEvent]:
        """Read with no transaction open between two reads; see `EventStore.streams`."""
        last = MAX_INTEGER if upto is None else upto
        return map(self._recorded, stream_rows(spans, lambda part: self._read_spans(part, last)))

    def live(self, *, by_name: bool) -> LiveStreams:
        """Read the claims and count the streams in one transaction; see `EventStore.live`."""
        head, ids, streams = self._select_live(by_name=by_name)
        live = LiveStreams(head, ids)
        if len(live) != streams:
            raise StoreUnavailable(
                f"the log is damaged: {len(live)} names are claimed by {streams} entities"
            )
        return live

    def former_holders(self, kind: str, fqn: str) -> list[str]:
        """Search the first events of all streams for the name; see `EventStore.former_holders`."""
        sought = msgspec.json.encode(fqn)
        with self.snapshot() as snapshot:
            created = [
                (entity_id, decode_event(type_name, payload))
                for entity_id, stream_version, type_name, payload, _ in snapshot.events()
                if stream_version == 1 and sought in payload
            ]
        return [
            entity_id
            for entity_id, event in created
            if isinstance(event, events.EntityCreated) and (event.kind, event.fqn) == (kind, fqn)
        ]

    def _recorded(self, row: StoredRow) -> RecordedEvent:
        entity_id, stream_version, type_name, payload, position = row
        try:
            event = decode_event(type_name, payload)
        except LaterRelease:
            # Which release that is, the log says where a program has written this that names it.
            self.refuse_later_release()
            raise
        return RecordedEvent(entity_id, stream_version, event, position)

    @abstractmethod
    def _append_unsynced(self, append: Append) -> Callable[[], int]:
        """Store an append, and leave the commit to the function."""

    @abstractmethod
    def _read_spans(
        self, spans: Sequence[StreamSpan], upto: int
    ) -> tuple[deque[NumberedRow], bool]:
        """Reads events with positions up to `upto`; see `ReadSpans`."""

    @abstractmethod
    def _select_live(self, *, by_name: bool) -> tuple[int, bytes, int]:
        """The head, the ids of the claims in order, and how many streams are not purged."""
