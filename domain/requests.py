"""Who asks for a write, which entity is meant, and what came of it."""

from collections.abc import Iterable
from enum import StrEnum

import msgspec

from domain import commands
from domain.entity import Entity, evolve
from domain.event_store.port import RecordedEvent
from domain.events import Event
from domain.kinds import EntityKind
from domain.payloads import Payload


class Change(StrEnum):
    """What a write did, in the words of OpenMetadata's X-OpenMetadata-Change header."""

    CREATED = "entityCreated"
    UPDATED = "entityUpdated"
    NO_CHANGE = "entityNoChange"
    SOFT_DELETED = "entitySoftDeleted"
    DELETED = "entityDeleted"
    RESTORED = "entityRestored"


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """Who asks for a write, and under which conditions."""

    actor: str
    request_id: str
    expected_version: int | None = None
    """Tenths; the write is refused unless the entity is at this version."""
    idempotency_key: str | None = None
    digest: bytes = b""
    """Of the whole request, to tell a repetition from another request under the same key."""


class Outcome(msgspec.Struct, frozen=True):
    """The entity as the write left it."""

    entity: Entity
    change: Change
    position: int
    """Position in the log that includes the write."""


class ByName(msgspec.Struct, frozen=True):
    """Which entity is meant: the one that holds a qualified name when the write is decided."""

    fqn: str


def creation(kind: EntityKind, payload: Payload, caller: Caller, at: int) -> commands.CreateEntity:
    """The command that creates what a payload describes."""
    return commands.CreateEntity(
        actor=caller.actor,
        at=at,
        request_id=caller.request_id,
        kind=kind.name,
        name=payload.name,
        fqn=payload.fqn,
        parent_id=payload.parent_id,
        body=payload.body,
    )


def record(
    entity_id: str, state: Entity | None, decided: Iterable[Event]
) -> tuple[list[RecordedEvent], Entity | None]:
    """Decided events with their places in the entity's stream, and the state after them."""
    recorded = []
    for event in decided:
        state = evolve(state, event, entity_id)
        recorded.append(RecordedEvent(entity_id, state.stream_version, event))
    return recorded, state
