"""The state of an entity after events, one after the other."""

from collections.abc import Iterable

from domain.aggregate.entity import Entity, evolve
from domain.event_store.port import EventStore
from domain.events import Event


def fold(entity_id: str, events: Iterable[Event], state: Entity | None = None) -> Entity | None:
    """The state after the events; None when there are none."""
    for event in events:
        state = evolve(state, event, entity_id)
    return state


def newest(log: EventStore, entity_id: str) -> Entity | None:
    """The state after all events of an entity in the log."""
    return fold(entity_id, (recorded.event for recorded in log.stream(entity_id)))
