"""The versions an entity has had, from its stream."""

from domain.entity import Entity, evolve
from domain.errors import NotFound
from domain.event_store.port import EventStore
from domain.kinds import EntityKind


def versions(store: EventStore, kind: EntityKind, entity_id: str) -> list[Entity]:
    """The entity as each of its versions left it, the newest first.

    Raises NotFound for an id that is not of this kind, or that was purged.
    """
    states: dict[int, Entity] = {}
    state: Entity | None = None
    for recorded in store.stream(entity_id):
        state = evolve(state, recorded.event, entity_id)
        states[state.version] = state
    if state is None or state.purged or state.kind != kind.name:
        raise NotFound(f"{kind.name} instance for {entity_id} not found")
    return list(reversed(states.values()))
