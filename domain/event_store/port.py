"""The port of the event log: its promises to readers and writers, for every database."""

from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import islice

import msgspec

from domain import events
from domain.errors import DamagedEvent, LaterRelease
from domain.event_store.appends import position_of, prepared
from domain.event_store.entity_reads import EntityReads, RecordedEvent, StreamSpan
from domain.event_store.features import refuse_unknown
from domain.event_store.mapper import DAMAGES, decode_event
from domain.event_store.reactions import ReactionMemory
from domain.event_store.stored import Claim, LiveStreams, LogSnapshot, Problem, StoredRow
from domain.event_store.writes import Append, Expectations, Refusal, RememberedAnswer
from domain.events import TYPE_NAMES

ANSWERS_KEPT_MS = 24 * 60 * 60 * 1000
"""Milliseconds for which a repeated write under an idempotency key is recognised."""
READ_BYTES = 16_000_000
"""Payload bytes at which a batch of the log ends; its last event may go beyond them."""
STREAM_BYTES = 1_000_000
"""Payload bytes at which one read of streams ends; callers see single events, not reads."""
SEARCHED_POSITIONS = 20_000
"""Positions whose payloads are searched for texts in one transaction."""

MAX_INTEGER = 2**63 - 1
_SPANS = 1_000
"""Most spans in one statement."""

_NAMING = frozenset(TYPE_NAMES[each] for each in (events.EntityCreated, events.EntityRenamed))
"""The types of the events that give an entity its name."""

NumberedRow = tuple[int, str, int, str, bytes, int]
"""An event as it is stored, behind the place of its span among the spans that are read."""

ReadSpans = Callable[[Sequence[StreamSpan]], tuple[deque[NumberedRow], bool]]
"""Function that reads events of spans, up to STREAM_BYTES; True if there are more to be read."""


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


class Announcements:
    """The appends that a log announces to a listener; a file announces none."""

    def are_heard(self) -> bool:
        """True if each append is announced now; else the listener has to poll the log."""
        return False

    def close(self) -> None:
        """Stop announcing; the listener's function is not called afterwards."""


class EventStore(EntityReads):
    """An append-only log of entity streams with a claim on each qualified name; see `EntityReads`.

    It may be shared between threads, and opened by several processes at once. Appends take effect
    one after the other, in the order of their positions, whichever process makes them. A reader
    that has seen a position never later meets an event with a smaller one; there may be gaps
    between positions anywhere.
    """

    @property
    @abstractmethod
    def address(self) -> str:
        """Text with which `open_event_log` opens the same log once more, also elsewhere."""

    @abstractmethod
    def append_group(self, appends: Sequence[Append]) -> list[int | Refusal]:
        """Store independent appends, one after the other, in one transaction.

        Returns, once all will survive power loss, for each the position of its last event (the head
        when it has none) or why it is refused; what is refused leaves nothing behind, and is
        refused alone. AlreadyExists: a name is claimed. ConcurrentChange, with the entities
        concerned: another writer was first, so that an event's stream version is not the one after
        the last of its stream, the claims are not as expected, or the key of the answer is taken;
        or the log is not in the epoch any more that the append was planned in.
        All this is checked against what every earlier append has left, those of the group included,
        and nothing is stored between check and append. StoreUnavailable: none is stored.
        OutcomeUnknown, one of those: the database went away meanwhile, and all may be stored.
        """

    def append(
        self,
        recorded: Sequence[RecordedEvent],
        answer: RememberedAnswer | None = None,
        *,
        expecting: Expectations = Expectations(),  # noqa: B008 - it is frozen
        epoch: int | None = None,
    ) -> int:
        """Store a group of one; returns its position or raises its refusal."""
        append = prepared(recorded, answer, expecting=expecting, epoch=epoch)
        (result,) = self.append_group([append])
        return position_of(result)

    def streams(
        self, spans: Sequence[StreamSpan], *, upto: int | None = None
    ) -> Iterator[RecordedEvent]:
        """Read with no transaction open between two reads; see `EntityReads.streams`."""
        last = MAX_INTEGER if upto is None else upto
        return map(self._recorded, stream_rows(spans, lambda part: self._read_spans(part, last)))

    @abstractmethod
    def read(
        self, after: int, limit: int, upto: int | None = None, *, newest_first: bool = False
    ) -> list[RecordedEvent]:
        """At most `limit` events with positions in (after, upto], the first or the newest of them.

        In log order, or against it with `newest_first`. The list is empty when there are no such
        events, and shorter than it could be when payloads reach READ_BYTES.
        """

    @abstractmethod
    def head(self) -> int:
        """Position of the newest event, 0 for an empty log."""

    def durable_head(self) -> int:
        """The head, once the events up to it survive power loss.

        Callers that answer by the content of the log, without an append, wait for this before.
        """
        return self.head()

    def is_read_only(self) -> bool:
        """True if the database is set to take no writes now, so that each append is refused.

        A file is never set so. Raises StoreUnavailable.
        """
        return False

    @abstractmethod
    def clock_fault(self) -> str | None:
        """The fault of this host's clock for which each append is refused; None where it seems
        right. Raises StoreUnavailable.
        """

    @abstractmethod
    def identity(self) -> str:
        """Random text made with the log, by which a read model of another log is recognised."""

    @abstractmethod
    def features(self) -> dict[str, str]:
        """The features that the events use, with the release that introduced each.

        See `domain.event_store.features`. An append names what its events are the first to use.
        A log that names what this program does not know is not opened, and takes no append: it
        raises LaterRelease, also where another program has named it after this one has opened it.
        """

    def refuse_later_release(self) -> None:
        """Raise LaterRelease if the log uses features by now that this program does not know."""
        refuse_unknown(self.features(), "the log")

    def announcements(self, appended: Callable[[], None]) -> Announcements:
        """Have `appended` called, in a thread of the log, whenever anybody has appended something.

        It is called at other times too: when announcements begin to be heard, and when they are
        heard no more. Several appends may be announced together.
        """
        return Announcements()

    def live(self, *, by_name: bool) -> LiveStreams:
        """The entities that are not purged, in order of ids or of lists (`by_name`).

        Raises StoreUnavailable when the claims do not account for every stream.
        """
        with self.snapshot() as snapshot:
            return snapshot.live(by_name=by_name)

    @abstractmethod
    def live_children(self, parent_id: str, kind: str, after: str, limit: int) -> list[Claim]:
        """The claims of at most `limit` children of a kind that are not soft-deleted.

        They come in order of qualified names, the first of those above `after`.
        """

    @abstractmethod
    def answer(self, actor: str, key: str) -> RememberedAnswer | None:
        """The remembered answer to a caller's write under an idempotency key; None when there is
        none.
        """

    def former_holders(self, kind: str, fqn: str) -> list[str]:
        """Ids of the entities that ever had a name, the first to have it first.

        Reads the whole log.
        """
        sought = msgspec.json.encode(fqn)
        naming = (events.EntityCreated, events.EntityRenamed)
        with self.snapshot() as snapshot:
            holders = (
                entity_id
                for entity_id, _, type_name, payload, _ in snapshot.events()
                if type_name in _NAMING
                and sought in payload
                and isinstance(event := decode_event(type_name, payload), naming)
                and (event.kind, event.fqn) == (kind, fqn)
            )
            return [*dict.fromkeys(holders)]

    @abstractmethod
    def snapshot(self) -> AbstractContextManager[LogSnapshot]:
        """The log as it is now, until the block ends; keep the block short while other threads
        write.
        """

    @abstractmethod
    def damage(self) -> list[Problem]:
        """The faults that the database itself can prove in its content.

        Problems are files that are not as they were written, stored events that were removed,
        and answers that refer to no event. The list is empty where the database cannot know.
        """

    @abstractmethod
    def restore(self, rows: Iterator[StoredRow]) -> Iterator[int]:
        """Take over the events of another log, all of them or nothing; yields positions reached.

        The events come in order of their positions and keep their positions. Events appended
        later come after them, and claims follow from the events. Raises Conflict when this log has
        events, InvalidInput when an event cannot be read, an event or a name comes twice, or a
        stream has gaps or is out of order, and whatever `rows` raises.
        """

    @abstractmethod
    def reaction(self, name: str) -> ReactionMemory:
        """The memory of the reaction of a name, in the database of the log."""

    @abstractmethod
    def size(self) -> int:
        """Bytes that the log takes on disk."""

    @abstractmethod
    def close(self) -> None:
        """Release the database."""

    def _recorded(self, row: StoredRow) -> RecordedEvent:
        entity_id, stream_version, type_name, payload, position = row
        try:
            event = decode_event(type_name, payload)
        except LaterRelease:
            # Raises an error that names the release, if the log names its features.
            self.refuse_later_release()
            raise
        except DAMAGES as error:
            message = f"the event at position {position} is damaged: {error!r}"
            raise DamagedEvent(message) from error
        return RecordedEvent(entity_id, stream_version, event, position)

    @abstractmethod
    def _read_spans(
        self, spans: Sequence[StreamSpan], upto: int
    ) -> tuple[deque[NumberedRow], bool]:
        """Read events with positions up to `upto`; see `ReadSpans`."""
