"""An entity as its stream has it: now, earlier, and at each of its versions."""

import msgspec
from msgspec import Raw

from domain import changes, document
from domain.changes import ChangeDescription
from domain.entity import Entity, evolve, fold
from domain.errors import NotFound
from domain.event_store.port import EventStore
from domain.events import TYPE_NAMES, Body
from domain.kinds import EntityKind


class Revision(msgspec.Struct, frozen=True):
    """What one request made of an entity; who and when stand in the entity itself."""

    entity: Entity
    before: Entity | None
    """None for a creation."""
    request_id: str
    event_types: tuple[str, ...]

    @property
    def description(self) -> ChangeDescription | None:
        """What it changed, None for a creation."""
        return None if self.before is None else changes.describe(self.before, self.entity)

    def document(self) -> Body:
        """The entity as it was shown then, with the change that led to it."""
        shown = document.fields(self.entity)
        if (description := self.description) is not None:
            shown["changeDescription"] = Raw(msgspec.json.encode(description))
        return shown


def state(
    store: EventStore, entity_id: str, *, upto: int | None = None, known: Entity | None = None
) -> Entity | None:
    """The entity after its events up to a stream version (None: all); None when there are none.

    `known` is an earlier state of it, from which only what came later is read.
    """
    newer = store.stream(entity_id, after=known.stream_version if known else 0, upto=upto)
    return fold(entity_id, (recorded.event for recorded in newer), known)


def revisions(store: EventStore, entity_id: str) -> list[Revision]:
    """Every revision of an entity, its purge included, the oldest first."""
    found: list[Revision] = []
    entity: Entity | None = None
    for recorded in store.stream(entity_id):
        event = recorded.event
        before, entity = entity, evolve(entity, event, entity_id)
        types: tuple[str, ...] = (TYPE_NAMES[type(event)],)
        # Events of one command share their version; a purge has that of what it purges.
        if before is not None and before.version == entity.version and not entity.purged:
            last = found.pop()
            before, types = last.before, (*last.event_types, *types)
        found.append(Revision(entity, before, event.request_id, types))
    return found


def versions(store: EventStore, kind: EntityKind, entity_id: str) -> list[Revision]:
    """The entity as each of its versions left it, the newest first.

    Raises NotFound for an id that is not of this kind, or that was purged.
    """
    found = revisions(store, entity_id)
    if not found or found[-1].entity.purged or found[-1].entity.kind != kind.name:
        raise NotFound(f"{kind.name} instance for {entity_id} not found")
    return found[::-1]
