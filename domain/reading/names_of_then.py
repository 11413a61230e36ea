"""The kind and name that the entity of an event had when it happened."""

from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

from domain import events
from domain.edges import EDGE
from domain.event_store.entity_reads import RecordedEvent
from domain.event_store.port import EventStore
from domain.kinds.bodies.components import Reference
from domain.kinds.registry import KINDS, kinds_below

_REMEMBERED_NAMES = 20_000
_NOTHING = msgspec.Raw(b"{}")
_MAY_MOVE = frozenset(
    below
    for kind in KINDS.values()
    if kind.renamable
    for below in (kind.name, *kinds_below(kind.name))
)
"""The kinds whose entities may be renamed, or stand below an entity that may be."""
_SHORT_SPAN = 16
"""Events that are read as soon as the claim, which tells whether there was any new name."""


class Named(msgspec.Struct, frozen=True):
    """The kind of an entity, and the qualified name that it had at some event."""

    kind: str
    fqn: str
    end_kinds: tuple[str, ...] = ()
    """The kinds of the two ends, for an edge of the lineage."""


class _Names(msgspec.Struct, frozen=True):
    """The names that an entity has had."""

    first: Named
    """The name that the entity was created with."""
    later: tuple[tuple[int, str], ...] = ()
    """Stream version of each event that renamed the entity, and the new qualified name."""
    upto: int | None = None
    """Stream version of the last event that was read for it; None where the kind is never renamed,
    so that no more than the creation was read."""

    def at(self, stream_version: int) -> Named:
        """The name after an event."""
        for since, fqn in reversed(self.later):
            if since <= stream_version:
                return replace(self.first, fqn=fqn)
        return self.first


class NamesOfThen:
    """Reads names from the log; remembers them, so that few creations are read twice."""

    def __init__(self, store: EventStore) -> None:
        self._store = store
        self._names: dict[str, _Names] = {}

    def of(self, recorded: RecordedEvent) -> Named:
        """The kind of an event's entity, and the name that it had after the event."""
        entity_id, event = recorded.entity_id, recorded.event
        known = self._names.get(entity_id)
        if known is None:
            creation = event
            if not isinstance(creation, events.EntityCreated):
                first = next(self._store.stream(entity_id, upto=1), None)
                creation = first.event if first else creation
            if not isinstance(creation, events.EntityCreated):
                # Somebody tampered with the log, which `verify log` tells.
                return Named(creation.kind, "", ("",) if creation.kind == EDGE else ())
            named = Named(creation.kind, creation.fqn, _end_kinds(creation))
            known = _Names(named, upto=1 if creation.kind in _MAY_MOVE else None)
        if known.upto is not None and known.upto < recorded.stream_version:
            later = (*known.later, *self._renames(entity_id, known.upto, recorded.stream_version))
            known = _Names(known.first, later, recorded.stream_version)
        if len(self._names) >= _REMEMBERED_NAMES:
            self._names.clear()
        self._names[entity_id] = known
        return known.at(recorded.stream_version)

    def _renames(self, entity_id: str, after: int, upto: int) -> Iterator[tuple[int, str]]:
        """Stream version and new name of each event in a span that gave an entity a new name."""
        if upto - after > _SHORT_SPAN:
            claim = self._store.claim_by_id(entity_id)
            if claim is not None and not claim.former_names:
                return
        for each in self._store.stream(entity_id, after=after, upto=upto):
            if isinstance(each.event, events.EntityRenamed):
                yield each.stream_version, each.event.fqn


_type_of = msgspec.json.Decoder(Reference)


def _end_kinds(creation: events.EntityCreated) -> tuple[str, ...]:
    """The kinds of the entities that an edge is between; nothing for other entities."""
    if creation.kind != EDGE:
        return ()
    ends = (creation.body.get(key, _NOTHING) for key in ("fromEntity", "toEntity"))
    return tuple(_type_of.decode(end).type or "" for end in ends)
