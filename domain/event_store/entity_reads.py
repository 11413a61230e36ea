"""Reads of the events and claims of entities, from a log or from what is to be appended to one."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TypedDict, Unpack

import msgspec

from domain.event_store.stored import Claim
from domain.events import Event


class RecordedEvent(msgspec.Struct, frozen=True, gc=False):
    """An event with its place in its entity's stream and in the whole log."""

    entity_id: str
    stream_version: int
    """Place of the event in its entity's stream, from 1, without gaps."""
    event: Event
    position: int = 0
    """Ascending over the whole log, gaps allowed; 0 while it is not yet recorded."""


class StreamSpan(msgspec.Struct, frozen=True):
    """A part of an entity's stream: its events with stream versions in (after, upto]."""

    entity_id: str
    after: int = 0
    upto: int | None = None
    """The last stream version; None for all events after `after`."""


class SoughtClaims(TypedDict, total=False):
    """Names and ids, any of which finds a claim."""

    names: Collection[tuple[str, str]]
    """Pairs of kind and qualified name."""
    ids: Collection[str]
    parents: Collection[str]
    """Ids of entities whose children are sought."""
    ends: Collection[str]
    """Ids of entities at which the lineage edges that are sought begin or end, by their names."""


RENAME_BITS = 32
"""The lower bits of an epoch, which count the renames; those above differ where events were lost.
"""


def lost_nothing(before: int, epoch: int) -> bool:
    """True if the log has no more than other names in an epoch than in the one before.

    The events that were read before are there still, and the states that they led to.
    """
    return before >> RENAME_BITS == epoch >> RENAME_BITS


class EntityReads(ABC):
    """Events and claims of entities; each method raises StoreUnavailable when it cannot read.

    Events that were read survive power loss. Claims may be those of appends that are not on disk
    yet: a caller that answers by claims alone waits for `EventStore.durable_head` before.
    """

    @abstractmethod
    def epoch(self) -> int:
        """A number that differs once the log may have lost its newest events, or has other names.

        It may have lost events when another database has taken the place of the one that had them,
        because an older copy was put there or a replica that had not all, and when a database was
        started anew. A file has lost none for as long as it is open. After a rename the names that
        were read before may be those of then.
        What was read in one epoch may not be there in the next: who goes on from it reads it again,
        and an append that rests on it names the epoch from before it was read.
        """

    @abstractmethod
    def streams(
        self, spans: Sequence[StreamSpan], *, upto: int | None = None
    ) -> Iterator[RecordedEvent]:
        """The events of these spans, span after span in the order given, by stream version.

        Events beyond position `upto` are left out. Events are read as the iterator goes on, in
        reads that end at STREAM_BYTES each, and no more than one read is held in memory.
        """

    @abstractmethod
    def claims(self, **sought: Unpack[SoughtClaims]) -> list[Claim]:
        """The claims that are sought, all as they are at one moment.

        They come in order of kind and qualified name, each once.
        """

    @abstractmethod
    def having_live(self, kind: str, parent_ids: Collection[str]) -> set[str]:
        """The ids, among these, that have a child of a kind that is not soft-deleted."""

    @abstractmethod
    def mentioning(self, texts: Collection[bytes], *, after: int = 0) -> tuple[set[str], int]:
        """The ids of all entities with an event that has one of these texts in its JSON.

        There may be ids of others. Events up to position `after` are left out. With the ids comes
        the position up to which the log was searched: whoever needs later events to have none of
        the texts expects that of an append. This reads the whole log after the position.
        """

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


def whole_streams(
    log: EntityReads, entity_ids: Iterable[str], *, upto: int | None = None
) -> Iterator[RecordedEvent]:
    """All events of these entities, those beyond position `upto` left out; see `streams`."""
    return log.streams([StreamSpan(each) for each in entity_ids], upto=upto)
