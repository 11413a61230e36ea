"""Derives the claims on qualified names from events."""

from collections.abc import Iterator

from domain import events
from domain.aggregate.entity import Entity
from domain.event_store.stored import Claim
from domain.event_store.writes import ClaimChange
from domain.events import Event


def claim_changes(entity_id: str, event: Event) -> Iterator[ClaimChange]:
    """The change of an entity's claim by an event; most events change none."""
    if isinstance(event, events.EntityCreated):
        yield "take", (event.kind, event.fqn, entity_id, event.name, event.parent_id)
    elif isinstance(event, events.EntitySoftDeleted):
        yield "delete", (entity_id,)
    elif isinstance(event, events.EntityRestored):
        yield "restore", (entity_id,)
    elif isinstance(event, events.EntityPurged):
        yield "release", (entity_id,)


def claim_of(entity: Entity) -> Claim:
    """The claim that follows from the events of a live or soft-deleted entity."""
    return Claim(
        kind=entity.kind,
        fqn=entity.fqn,
        id=entity.id,
        name=entity.name,
        parent_id=entity.parent_id,
        deleted=entity.deleted,
    )
