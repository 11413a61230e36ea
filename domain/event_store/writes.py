"""The content of one write for the log, and the reasons to refuse it."""

from collections.abc import Sequence
from typing import Any

import msgspec

from domain.aggregate.entity import Entity
from domain.errors import AlreadyExists, ConcurrentChange
from domain.events import Event

NewRow = tuple[str, int, str, bytes]
"""An event that is to be stored: entity id, stream version, type name, payload."""

ClaimChange = tuple[str, tuple[Any, ...]]
"""`take` or `rename` with kind, qualified name, id, name and parent id, or another action with the
id.

The other actions on a claim are `delete`, `restore` and `release`. A rename leaves the name that
the claim had with its entity, as a former one.
"""

Refusal = ConcurrentChange | AlreadyExists
"""Reason of a refused append: another writer was first, to a state or to a name."""


class Unmentioned(msgspec.Struct, frozen=True):
    """Texts that no event stored after a position may have."""

    after: int
    texts: tuple[bytes, ...]


class Expectations(msgspec.Struct, frozen=True, kw_only=True):
    """The claims that must hold once the events of an append have changed them.

    A writer decides on claims that it has read, and another writer may change them before the
    append. The claims on which the decision rests are expected, and an append that would break one
    is refused.
    """

    live: frozenset[str] = frozenset()
    """Ids of entities that hold a claim and are not soft-deleted."""
    without_children: frozenset[str] = frozenset()
    """Ids that no claim has as its parent."""
    without_live_children: frozenset[str] = frozenset()
    """Ids that no claim of an entity which is not soft-deleted has as its parent."""
    sole: frozenset[tuple[str, str]] = frozenset()
    """Pairs of a kind and of an id that at most one claim of a live entity of the kind has as its
    parent."""
    without_edges: frozenset[str] = frozenset()
    """Ids of entities at which no lineage edge that holds a claim begins or ends."""
    unmentioned: Unmentioned | None = None
    """Words that no event of others may have had since a writer looked for them. An append that
    expects this is stored in a group of its own."""


class RememberedAnswer(msgspec.Struct, frozen=True):
    """The answer to a write with an idempotency key, to be given again to its repetition."""

    actor: str
    key: str
    digest: bytes
    """Digest of the whole request; another request under the same key is refused."""
    entity_id: str
    stream_version: int
    """Stream version of the entity as it was answered."""
    outcome: str
    at: int
    """Milliseconds since the Unix epoch."""


class Append(msgspec.Struct, frozen=True, kw_only=True):
    """The events and answer of one write, stored together or not at all; made by `prepared`."""

    rows: Sequence[NewRow]
    changes: Sequence[ClaimChange]
    features: frozenset[str] = frozenset()
    """The features that the events use; see `domain.event_store.features`."""
    answer: RememberedAnswer | None = None
    expecting: Expectations = Expectations()
    epoch: int | None = None
    """The epoch of the log before anything was read that the write rests on; None where it rests on
    nothing. In another epoch the log may not have what was read, and refuses the append."""
    events: Sequence[Event] = ()
    """The events of `rows`, before they were encoded."""
    states: Sequence[Entity] = ()
    """Entities as the append leaves them, those that are worth remembering."""
    state_bytes: int = 0
    """Bytes of JSON of the states that the events lead to, each event's counted.

    A state whose body was not read, as of what is deleted along with its parent, counts as the
    largest that there may be.
    """


class StoredAppend(msgspec.Struct, frozen=True):
    """An append that the log has, and the position of its last event there."""

    append: Append
    position: int
