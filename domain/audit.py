"""The log as auditors read it: who changed what, when and by which request, in log order."""

from collections.abc import Iterator
from typing import Any

import msgspec

from domain import events
from domain.event_store.port import EventStore, RecordedEvent
from domain.events import TYPE_NAMES, Body, Event

BATCH = 1_000
"""Events looked at between two chunks of a stream."""
_REMEMBERED_NAMES = 20_000


class AuditEvent(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """An event with the name of its entity."""

    position: int
    entity_id: str
    kind: str
    fully_qualified_name: str
    event_type: str
    stream_version: int
    version: float
    """The entity's version after the event."""
    actor: str
    time: int
    """Milliseconds since the Unix epoch."""
    request_id: str
    body: Body | None = None
    """Of a creation: what was created."""
    patch: list[dict[str, Any]] | None = None
    """Of a change: RFC 6902 operations on the body."""
    status: str | None = None
    """Of a change of status: the new one."""


class AuditQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which events are asked for."""

    kinds: frozenset[str]
    actor: str | None = None
    since: int | None = None
    until: int | None = None
    """Times in ms since the epoch: from `since` on, before `until`."""

    def matches(self, event: Event) -> bool:
        """Whether an event is one of them."""
        return (
            event.kind in self.kinds
            and (self.actor is None or event.actor == self.actor)
            and (self.since is None or event.at >= self.since)
            and (self.until is None or event.at < self.until)
        )


class AuditTrail:
    """Reads the log; remembers names, so that few creations are read twice."""

    def __init__(self, store: EventStore) -> None:
        self._store = store
        self._names: dict[str, str] = {}

    def read(
        self, query: AuditQuery, *, after: int, upto: int, limit: int, bound: int
    ) -> Iterator[tuple[list[AuditEvent], int]]:
        """At most `limit` matching events with positions in (after, upto], in batches.

        Each batch comes with the position reached. At most `bound` events are looked at, so the
        position may stay below `upto` although there are fewer matches than `limit`.
        """
        while after < upto and limit and bound > 0:
            batch = self._store.read(after, min(BATCH, bound), upto)
            bound -= len(batch) or BATCH
            after = batch[-1].position if batch else upto
            found = [recorded for recorded in batch if query.matches(recorded.event)]
            if len(found) >= limit:
                found = found[:limit]
                after = found[-1].position
            limit -= len(found)
            yield [self._told(recorded) for recorded in found], after

    def _told(self, recorded: RecordedEvent) -> AuditEvent:
        event = recorded.event
        return AuditEvent(
            position=recorded.position,
            entity_id=recorded.entity_id,
            kind=event.kind,
            fully_qualified_name=self._name(recorded),
            event_type=TYPE_NAMES[type(event)],
            stream_version=recorded.stream_version,
            version=event.version / 10,
            actor=event.actor,
            time=event.at,
            request_id=event.request_id,
            body=event.body if isinstance(event, events.EntityCreated) else None,
            patch=event.patch if isinstance(event, events.EntityChanged) else None,
            status=event.status if isinstance(event, events.EntityStatusChanged) else None,
        )

    def _name(self, recorded: RecordedEvent) -> str:
        """The qualified name of an event's entity, which its creation gives for good."""
        creation: Event = recorded.event
        if not isinstance(creation, events.EntityCreated):
            known = self._names.get(recorded.entity_id)
            if known is not None:
                return known
            first = next(self._store.stream(recorded.entity_id, upto=1), None)
            creation = first.event if first else creation
        if not isinstance(creation, events.EntityCreated):
            return ""  # somebody tampered with the log, which `verify log` tells
        if len(self._names) >= _REMEMBERED_NAMES:
            self._names.clear()
        self._names[recorded.entity_id] = creation.fqn
        return creation.fqn
