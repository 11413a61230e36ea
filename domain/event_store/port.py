"""What the log promises to its readers and to the catalog, whatever database holds it."""

from collections.abc import Iterator, Sequence
from typing import Protocol

import msgspec

from domain.events import Event

ANSWERS_KEPT_MS = 24 * 60 * 60 * 1000
"""How long a repeated write under an idempotency key is recognised."""

ID_CHARACTERS = 36


class RecordedEvent(msgspec.Struct, frozen=True, gc=False):
    """An event with its place in its entity's stream and in the whole log."""

    entity_id: str
    stream_version: int
    """From 1, without gaps."""
    event: Event
    position: int = 0
    """Ascending over the whole log, gaps allowed; 0 while it is not yet recorded."""


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """An entity's hold on its qualified name, kept by the log in step with its events."""

    kind: str
    fqn: str
    id: str
    name: str
    parent_id: str | None
    deleted: bool


class RememberedAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What a write with an idempotency key led to, so that its repetition answers the same."""

    actor: str
    key: str
    digest: bytes
    """Of the request; another request under the same key is refused."""
    entity_id: str
    stream_version: int
    """The entity as answered is its stream up to here."""
    outcome: str
    at: int
    """Milliseconds since the Unix epoch."""


class LiveStreams(msgspec.Struct, frozen=True):
    """The entities that are not purged, as the log had them at one moment."""

    head: int
    """Position of the newest event at that moment."""
    ids: bytes
    """The ids one after the other, in ASCII: a million take 36 MB."""

    def __len__(self) -> int:
        return len(self.ids) // ID_CHARACTERS

    def part(self, start: int, size: int) -> list[str]:
        """The ids of at most `size` entities from number `start` on."""
        text = self.ids[start * ID_CHARACTERS : (start + size) * ID_CHARACTERS].decode("ascii")
        return [text[at : at + ID_CHARACTERS] for at in range(0, len(text), ID_CHARACTERS)]


class EventStore(Protocol):
    """An append-only log of entity streams with a claim on each qualified name."""

    def append(
        self, recorded: Sequence[RecordedEvent], answer: RememberedAnswer | None = None
    ) -> int:
        """Store all events, the claims that follow from them and the answer, or nothing.

        Returns the position of the last event (the head when there are none), once it will
        survive power loss. Raises AlreadyExists when a name is claimed, ConcurrentChange when
        another writer was first (to a stream version, to an id, to the key of the answer, or
        by deleting a parent or adding a child), StoreUnavailable when nothing can be written
        now.
        """

    def stream(
        self, entity_id: str, *, after: int = 0, upto: int | None = None
    ) -> list[RecordedEvent]:
        """The entity's events with stream versions in (after, upto], in order."""

    def read(self, after: int, limit: int, upto: int | None = None) -> list[RecordedEvent]:
        """At most `limit` events with positions in (after, upto], in log order.

        None when there are none; fewer than there are when they are large.
        """

    def head(self) -> int:
        """Position of the newest event, 0 when there is none."""

    def identity(self) -> str:
        """Random text made with the log: what is derived from another log does not fit it."""

    def live(self, *, by_name: bool) -> LiveStreams:
        """The entities that are not purged, in order of ids or of lists (`by_name`).

        Raises StoreUnavailable when the claims do not account for every stream.
        """

    def streams(self, entity_ids: Sequence[str], upto: int) -> Iterator[list[RecordedEvent]]:
        """The streams of these entities up to a position, in this order; empty ones left out."""

    def claim(self, kind: str, fqn: str) -> Claim | None:
        """Who holds a qualified name."""

    def claim_by_id(self, entity_id: str) -> Claim | None:
        """What name an entity holds."""

    def claims(self, keys: Sequence[tuple[str, str]]) -> list[Claim]:
        """Who holds each of these pairs of kind and qualified name, for those that are held."""

    def children(self, entity_id: str) -> list[Claim]:
        """The claims whose parent it is, in order of kind and qualified name."""

    def answer(self, actor: str, key: str) -> RememberedAnswer | None:
        """What a write under this key led to, if it is still remembered."""

    def close(self) -> None:
        """Release the database."""
