"""An entity as its stream has it: now, earlier, and at each of its versions."""

from domain.entity import Entity, evolve, fold
from domain.errors import NotFound
from domain.event_store.port import EventStore
from domain.kinds import EntityKind


def state(
    store: EventStore, entity_id: str, *, upto: int | None = None, known: Entity | None = None
) -> Entity | None:
    """The entity after its events up to a stream version (None: all); None when there are none.

    `known` is an earlier state of it, from which only what came later is read.
    """
    newer = store.stream(entity_id, after=known.stream_version if known else 0, upto=upto)
    return fold(entity_id, (recorded.event for recorded in newer), known)


def versions(store: EventStore, kind: EntityKind, entity_id: str) -> list[Entity]:
    """The entity as each of its versions left it, the newest first.

    Raises NotFound for an id that is not of this kind, or that was purged.
    """
    states: dict[int, Entity] = {}
    last: Entity | None = None
    for recorded in store.stream(entity_id):
        last = evolve(last, recorded.event, entity_id)
        states[last.version] = last
    if last is None or last.purged or last.kind != kind.name:
        raise NotFound(f"{kind.name} instance for {entity_id} not found")
    return list(reversed(states.values()))
