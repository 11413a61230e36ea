"""An entity as its stream has it: now, earlier, and at each of its versions."""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from operator import attrgetter
from types import MappingProxyType

import msgspec
from msgspec import Raw

from domain import changes
from domain.changes import ChangeDescription
from domain.entity import Entity, evolve, fold
from domain.errors import NotFound
from domain.event_store.port import EventStore, RecordedEvent
from domain.events import TYPE_NAMES, Body, EntityPurged
from domain.kinds import EntityKind
from domain.lifecycle import format_version
from domain.openmetadata import document

STATES_HELD = 8
"""How many entity states are kept in memory of each span of a stream that is walked backwards."""
BYTES_HELD = 32 * 1024 * 1024
"""How large these states may be together; of larger ones fewer are kept, two at least."""


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
    newer = _events(store, entity_id, known, upto)
    return fold(entity_id, (recorded.event for recorded in newer), known)


def folded(
    streams: Iterable[RecordedEvent], known: Mapping[str, Entity] = MappingProxyType({})
) -> Iterator[tuple[Entity, int]]:
    """What comes of each entity by its events, and the position of the last of them.

    The events of an entity come together, in order; `known` has, by id, the states from which
    they go on. No more than one state is held at a time.
    """
    for entity_id, stream in groupby(streams, key=attrgetter("entity_id")):
        state, position = known.get(entity_id), 0
        for recorded in stream:
            state, position = evolve(state, recorded.event, entity_id), recorded.position
        assert state is not None
        yield state, position


def revisions(
    store: EventStore, entity_id: str, *, upto: int | None = None, known: Entity | None = None
) -> Iterator[Revision]:
    """Every revision of an entity, its purge included, the oldest first.

    With `known`, which a revision ended with, those after it; up to a stream version.
    """
    found: Revision | None = None
    entity = known
    for recorded in _events(store, entity_id, known, upto):
        event = recorded.event
        before, entity = entity, evolve(entity, event, entity_id)
        types: tuple[str, ...] = (TYPE_NAMES[type(event)],)
        # Events of one command share their version; a purge has that of what it purges.
        if found is not None and found.entity.version == entity.version and not entity.purged:
            before, types = found.before, (*found.event_types, *types)
        elif found is not None:
            yield found
        found = Revision(entity, before, event.request_id, types)
    if found is not None:
        yield found


def versions(store: EventStore, kind: EntityKind, entity_id: str) -> Iterator[Revision]:
    """The entity as each of its versions left it, the newest first.

    Few states are held at a time, however many there are. The first `next` raises NotFound for
    an id that is not of this kind, or that was purged.
    """
    newest = _last(store, kind, entity_id)
    yield from _newest_first(store, entity_id, None, newest.stream_version)


def version(store: EventStore, kind: EntityKind, entity_id: str, text: str) -> Revision:
    """The entity as one of its versions left it; nothing later is folded.

    Raises NotFound as `versions` does, and for a version that it has not had.
    """
    newest = _last(store, kind, entity_id)
    of_it = (
        recorded.stream_version
        for recorded in _events(store, entity_id, None, newest.stream_version)
        if format_version(recorded.event.version) == text
    )
    found = deque(revisions(store, entity_id, upto=max(of_it, default=0)), maxlen=1)
    if not found:
        raise NotFound(f"{kind.name} instance for {entity_id} and version {text[:64]} not found")
    return found[0]


def _events(
    store: EventStore, entity_id: str, known: Entity | None, upto: int | None
) -> Iterator[RecordedEvent]:
    """The events after a state up to a stream version, in order."""
    return store.stream(entity_id, after=known.stream_version if known else 0, upto=upto)


def _last(store: EventStore, kind: EntityKind, entity_id: str) -> RecordedEvent:
    """The newest event of an entity of a kind that is not purged; raises NotFound."""
    last = deque(_events(store, entity_id, None, None), maxlen=1)
    if not last or last[0].event.kind != kind.name or isinstance(last[0].event, EntityPurged):
        raise NotFound(f"{kind.name} instance for {entity_id} not found")
    return last[0]


def _newest_first(
    store: EventStore, entity_id: str, known: Entity | None, upto: int
) -> Iterator[Revision]:
    """The revisions after a state up to a stream version, the newest first.

    States go forward only: some are remembered on the way, and from the last of them backwards
    what follows each is gone through again.
    """
    after = known.stream_version if known else 0
    most = STATES_HELD if known is None else max(2, min(STATES_HELD, BYTES_HELD // _size(known)))
    remembered = [known]
    if upto - after > most:
        step = -(-(upto - after) // most)
        for revision in revisions(store, entity_id, upto=upto, known=known):
            if after + step * len(remembered) <= revision.entity.stream_version < upto:
                remembered.append(revision.entity)
    if len(remembered) == 1:
        yield from reversed([*revisions(store, entity_id, upto=upto, known=known)])
        return
    while remembered:
        start = remembered.pop()
        yield from _newest_first(store, entity_id, start, upto)
        upto = start.stream_version if start else 0


def _size(entity: Entity) -> int:
    """Bytes of its body, one at least."""
    return 1 + sum(map(len, entity.body.values()))
