"""The port of the event log: its promises to readers and writers, for every database."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager

import msgspec

from domain.event_store.features import refuse_unknown
from domain.event_store.stored import Claim, LiveStreams, LogSnapshot, Problem, StoredRow
from domain.event_store.writes import Append, Expectations, Refusal, RememberedAnswer
from domain.events import Event

ANSWERS_KEPT_MS = 24 * 60 * 60 * 1000
"""Milliseconds for which a repeated write under an idempotency key is recognised."""
READ_BYTES = 16_000_000
"""Payload bytes at which a batch of the log ends; its last event may go beyond them."""
STREAM_BYTES = 1_000_000
"""Payload bytes at which one read of streams ends; callers see single events, not reads."""
ONLY_EPOCH = 0
"""The epoch of a log in a file."""


class RecordedEvent(msgspec.Struct, frozen=True, gc=False):
    """An event with its place in its entity's stream and in the whole log."""

    entity_id: str
    stream_version: int
    """From 1, without gaps."""
    event: Event
    position: int = 0
    """Ascending over the whole log, gaps allowed; 0 while it is not yet recorded."""


class StreamSpan(msgspec.Struct, frozen=True):
    """A part of an entity's stream: its events with stream versions in (after, upto]."""

    entity_id: str
    after: int = 0
    upto: int | None = None
    """The last stream version; None for all events after `after`."""


class Announcements:
    """The appends that a log announces to a listener; a file announces none."""

    def are_heard(self) -> bool:
        """True if each append is announced now; else the listener has to poll the log."""
        return False

    def close(self) -> None:
        """Stop announcing; the listener's function is not called afterwards."""


class EntityReads(ABC):
    """Events and claims of entities; each method raises StoreUnavailable when it cannot read.

    Events that were read survive power loss. Claims may be those of appends that are not on disk
    yet: a caller that answers by claims alone waits for `EventStore.durable_head` before.
    """

    def epoch(self) -> int:
        """A number that differs once the log may have lost its newest events.

        That is when another database has taken the place of the one that had them, because an older
        copy was put there or a replica that had not all, and when a database was started anew.
        What was read in one epoch may not be there in the next: who goes on from it reads it again,
        and an append that rests on it names the epoch from before it was read. A file has one
        epoch for as long as it is open.
        """
        return ONLY_EPOCH

    @abstractmethod
    def streams(
        self, spans: Sequence[StreamSpan], *, upto: int | None = None
    ) -> Iterator[RecordedEvent]:
        """The events of these spans, span after span in the order given, by stream version.

        Events beyond position `upto` are left out. Events are read as the iterator goes on, in
        reads that end at STREAM_BYTES each, and no more than one read is held in memory.
        """

    @abstractmethod
    def claims(
        self,
        *,
        names: Collection[tuple[str, str]] = (),
        ids: Collection[str] = (),
        parents: Collection[str] = (),
        ends: Collection[str] = (),
    ) -> list[Claim]:
        """The claims on `names`, of the entities with `ids`, and of the children of `parents`.

        Also those of the lineage edges that begin or end at the entities with the ids `ends`, as
        the names of edges say (`domain.edges`). A name is a pair of kind and qualified name. The
        claims come in order of kind and qualified name, each once, all as they are at one moment.
        """

    @abstractmethod
    def having_live(self, kind: str, parent_ids: Collection[str]) -> set[str]:
        """The ids, among these, that have a child of a kind that is not soft-deleted."""

    def stream(
        self, entity_id: str, *, after: int = 0, upto: int | None = None
    ) -> Iterator[RecordedEvent]:
        """The entity's events with stream versions in (after, upto], in order; see `streams`."""
        return self.streams([StreamSpan(entity_id, after, upto)])

    def claim(self, kind: str, fqn: str) -> Claim | None:
        """The claim on a qualified name; None when no entity holds the name."""
        return next(iter(self.claims(names=[(kind, fqn)])), None)

    def claim_by_id(self, entity_id: str) -> Claim | None:
        """The claim of an entity; None when the entity holds no name."""
        return next(iter(self.claims(ids=[entity_id])), None)


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

    @abstractmethod
    def append(
        self,
        recorded: Sequence[RecordedEvent],
        answer: RememberedAnswer | None = None,
        *,
        expecting: Expectations = Expectations(),  # noqa: B008 - it is frozen
        epoch: int | None = None,
    ) -> int:
        """Store a group of one; returns its position or raises its refusal."""

    @abstractmethod
    def append_unsynced(
        self,
        recorded: Sequence[RecordedEvent],
        *,
        expecting: Expectations,
        epoch: int | None = None,
    ) -> Callable[[], int]:
        """Append as `append` does, but leave the waiting for the disk to the function returned.

        What `append` refuses is refused here. The function, which is to be called once and by any
        thread, makes the events durable and returns the position of the last one; until then no
        reader sees the events, and nobody else can append. It raises StoreUnavailable, and then
        nothing was stored, or OutcomeUnknown.
        """

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

    @abstractmethod
    def live(self, *, by_name: bool) -> LiveStreams:
        """The entities that are not purged, in order of ids or of lists (`by_name`).

        Raises StoreUnavailable when the claims do not account for every stream.
        """

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

    @abstractmethod
    def former_holders(self, kind: str, fqn: str) -> list[str]:
        """Ids of the entities ever created under a name, the oldest first; reads the whole log."""

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
    def size(self) -> int:
        """Bytes that the log takes on disk."""

    @abstractmethod
    def close(self) -> None:
        """Release the database."""
