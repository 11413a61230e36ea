"""An entity as its stream has it: now, earlier, and at each of its versions."""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from operator import attrgetter
from types import MappingProxyType

import msgspec
from msgspec import Raw

from domain.aggregate.entity import Entity, evolve
from domain.aggregate.lifecycle import format_version
from domain.errors import Conflict, NotFound, Purged
from domain.event_store.entity_reads import RecordedEvent, whole_streams
from domain.event_store.port import EventStore
from domain.events import REMARKS, TYPE_NAMES, Body, EntityPurged, Via
from domain.kinds.entity_kind import EntityKind
from domain.kinds.registry import ALL_KINDS
from domain.openmetadata import document
from domain.patches.json_patch import Operation
from domain.reading import changes
from domain.reading.changes import ChangeDescription

STATES_HELD = 8
"""Most entity states in memory for each span of a stream that is walked backwards."""


class Revision(msgspec.Struct, frozen=True):
    """The change of an entity by one request; its author and time are in the entity itself."""

    entity: Entity
    before: Entity | None
    """The entity before the change; None for a creation."""
    request_id: str
    event_types: tuple[str, ...]
    via: Via | None = None
    """The door that the request came through, where its actor did not ask in person."""

    @property
    def description(self) -> ChangeDescription | None:
        """The changes of the revision; None for a creation."""
        return None if self.before is None else changes.describe(self.before, self.entity)

    def undoing(self) -> list[Operation]:
        """The JSON Patch that gives the entity the name and the body which it had before.

        Raises Conflict for what no patch undoes: a creation, a deletion, a restoration, and a new
        name of something above it.
        """
        if self.before is None:
            raise Conflict("this is the first version: there is none before it")
        if self.before.deleted != self.entity.deleted:
            raise Conflict("the last step was no change, but a deletion or a restoration")
        renaming: list[Operation] = []
        if self.before.name != self.entity.name:
            renaming = [{"op": "replace", "path": "/name", "value": self.before.name}]
        elif self.before.fqn != self.entity.fqn:
            raise Conflict("the last step was a new name of something above it: rename that back")
        apart = ALL_KINDS[self.entity.kind].apart
        old, new = (
            {key: raw for key, raw in state.body.items() if key not in apart}
            for state in (self.before, self.entity)
        )
        return renaming + [
            {"op": "add", "path": f"/{key}", "value": msgspec.json.decode(old[key])}
            if key in old
            else {"op": "remove", "path": f"/{key}"}
            for key in dict.fromkeys((*old, *new))
            if old.get(key) != new.get(key)
        ]

    def document(self) -> Body:
        """An entity as a version showed it, with the change that led to the version."""
        shown = document.fields(self.entity)
        if (description := self.description) is not None:
            shown["changeDescription"] = Raw(msgspec.json.encode(description))
        return shown


def folded(
    streams: Iterable[RecordedEvent], known: Mapping[str, Entity] = MappingProxyType({})
) -> Iterator[tuple[Entity, int]]:
    """Each entity as its events leave it, and the position of its last event.

    The events of one entity must come together, in order; `known` has, by id, the states that
    they are folded onto. No more than one state is held at a time.
    """
    for entity_id, stream in groupby(streams, key=attrgetter("entity_id")):
        state, position = known.get(entity_id), 0
        for recorded in stream:
            state, position = evolve(state, recorded.event, entity_id), recorded.position
        assert state is not None
        yield state, position


def states(streams: Iterable[RecordedEvent]) -> Iterator[tuple[Entity, int]]:
    """Each entity as each of its events leaves it, and the position of that event.

    The events of one entity must come together, in order, from its first one on.
    """
    for entity_id, stream in groupby(streams, key=attrgetter("entity_id")):
        state: Entity | None = None
        for recorded in stream:
            state = evolve(state, recorded.event, entity_id)
            yield state, recorded.position


def revisions(
    store: EventStore, entity_id: str, *, upto: int | None = None, known: Entity | None = None
) -> Iterator[Revision]:
    """Every revision of an entity, its purge included, the oldest first.

    `upto` is a stream version after which events are left out. With `known`, the state that a
    revision ended with, only later revisions are given.
    """
    revision: Revision | None = None
    entity = known
    after = known.stream_version if known else 0
    for recorded in store.stream(entity_id, after=after, upto=upto):
        event = recorded.event
        before, entity = entity, evolve(entity, event, entity_id)
        types: tuple[str, ...] = (TYPE_NAMES[type(event)],)
        request_id, via = event.request_id, event.via
        # Events of one command share their version; a purge has that of what it purges.
        same = revision is not None and revision.entity.version == entity.version
        if revision is not None and same and not entity.purged:
            before, types = revision.before, (*revision.event_types, *types)
            if isinstance(event, REMARKS):
                request_id, via = revision.request_id, revision.via
        elif revision is not None:
            yield revision
        revision = Revision(entity, before, request_id, types, via)
    if revision is not None:
        yield revision


def as_of(store: EventStore, kind: EntityKind, entity_id: str, position: int) -> tuple[Entity, int]:
    """The entity as it was at a position of the log, and the position of its last event there.

    Raises NotFound for an id that is not of this kind, and for an entity that was not there yet;
    Purged for one that is purged by now.
    """
    claim = store.claim_by_id(entity_id)
    if claim is None:
        first = next(store.stream(entity_id, upto=1), None)
        if first is not None and first.event.kind == kind.name:
            raise Purged(f"{kind.name} instance for {entity_id} was purged, and its past with it")
    if claim is None or claim.kind != kind.name:
        raise NotFound(f"{kind.name} instance for {entity_id} not found")
    state = next(folded(whole_streams(store, [entity_id], upto=position)), None)
    if state is None:
        raise NotFound(
            f"{kind.name} instance for {entity_id} was not there yet at position {position}"
        )
    return state


def last_change(store: EventStore, entity: Entity) -> ChangeDescription | None:
    """The changes of the version that an entity has; None for a creation."""
    last = deque(revisions(store, entity.id, upto=entity.stream_version), maxlen=1)
    return last[0].description if last else None


def versions(
    store: EventStore, kind: EntityKind, entity_id: str, bytes_held: int = 32 * 1024 * 1024
) -> Iterator[Revision]:
    """The entity as each of its versions left it, the newest first.

    Few states are held at a time, however many there are: about `bytes_held`, but two at least.
    The first `next` raises NotFound for an id that is not of this kind, or that was purged.
    """
    newest = _last(store, kind, entity_id)
    yield from _newest_first(store, entity_id, None, newest.stream_version, bytes_held)


def version(store: EventStore, kind: EntityKind, entity_id: str, text: str) -> Revision:
    """The entity as one of its versions left it; nothing later is folded.

    Raises NotFound as `versions` does, and for a version that the entity never had.
    """
    _last(store, kind, entity_id)
    stream_versions = (
        recorded.stream_version
        for recorded in store.stream(entity_id)
        if format_version(recorded.event.version) == text
    )
    last = deque(revisions(store, entity_id, upto=max(stream_versions, default=0)), maxlen=1)
    if not last:
        raise NotFound(f"{kind.name} instance for {entity_id} and version {text[:64]} not found")
    return last[0]


def _last(store: EventStore, kind: EntityKind, entity_id: str) -> RecordedEvent:
    """The newest event of an entity; raises NotFound for another kind and for a purged entity."""
    last = deque(store.stream(entity_id), maxlen=1)
    if not last or last[0].event.kind != kind.name or isinstance(last[0].event, EntityPurged):
        raise NotFound(f"{kind.name} instance for {entity_id} not found")
    return last[0]


def _newest_first(
    store: EventStore, entity_id: str, known: Entity | None, upto: int, bytes_held: int
) -> Iterator[Revision]:
    """The revisions after a state up to a stream version, the newest first.

    Events can only be folded forwards. So some states are remembered on a first pass, and from
    the last remembered state backwards the events after each of them are folded again.
    """
    after = known.stream_version if known else 0
    size = 1 if known is None else 1 + sum(map(len, known.body.values()))
    most = max(2, min(STATES_HELD, bytes_held // size))
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
        yield from _newest_first(store, entity_id, start, upto, bytes_held)
        upto = start.stream_version if start else 0
