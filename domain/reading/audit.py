"""The log for auditors: each event with its author, time and request."""

from bisect import bisect_left
from collections.abc import Iterator
from typing import Any

import msgspec

from domain import events
from domain.edges import EDGE, edge_ends
from domain.event_store.entity_reads import RecordedEvent
from domain.event_store.port import EventStore
from domain.events import TYPE_NAMES, Body, Event, Via, values_by_key
from domain.kinds.bodies.lineage import RUNNING_KINDS
from domain.kinds.registry import ALL_KINDS, KINDS
from domain.reading.names_of_then import Named, NamesOfThen

BATCH = 1_000
"""Events read between two chunks of a stream."""
_TELLING = (*events.REMARKS, events.EntityRenamed)
"""Events of which `remark` has what they say."""
_PIPELINE = "pipeline"
"""Key of an edge of the lineage that refers to what runs it."""


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
    via: Via | None = None
    """The door that the request came through, where its actor did not ask in person."""
    body: Body | None = None
    """The created body, for a creation."""
    patch: list[dict[str, Any]] | None = None
    """The RFC 6902 operations on the body, for a change."""
    status: str | None = None
    """The new status, for a change of status."""
    remark: Body | None = None
    """The words of a verdict, of a break of a contract, or of a new name."""


class AuditQuery(msgspec.Struct, frozen=True, kw_only=True):
    """The filters of an audit: an event has to satisfy every field that is not None."""

    kinds: frozenset[str]
    end_kinds: frozenset[str] = frozenset(KINDS)
    """The kinds that the ends of a lineage edge may have: other edges are left out, and a pipeline
    of another kind is left out of its edge. Unless these are all kinds, reasons of verdicts are.
    """
    entity_id: str | None = None
    edges_of: str | None = None
    """Id of an entity: events of the edges that begin or end at it alone."""
    fqn: str | None = None
    """Qualified name of the entity, also of those that had the name before."""
    event_type: str | None = None
    """Stored type name."""
    actor: str | None = None
    request_id: str | None = None
    since: int | None = None
    until: int | None = None
    """Times in ms since the epoch: from `since` on, before `until`."""

    def matches(self, event: Event) -> bool:
        """True if an event of the requested entity matches, whatever the entity's name."""
        return (
            event.kind in self.kinds
            and (self.edges_of is None or event.kind == EDGE)
            and (self.event_type is None or TYPE_NAMES[type(event)] == self.event_type)
            and (self.actor is None or event.actor == self.actor)
            and (self.request_id is None or event.request_id == self.request_id)
            and (self.since is None or event.at >= self.since)
            and (self.until is None or event.at < self.until)
        )

    def names(self, entity: Named) -> bool:
        """True if the entity of a matching event has the requested name."""
        return (
            self.end_kinds.issuperset(entity.end_kinds)
            and (self.edges_of is None or self.edges_of in edge_ends(entity.fqn))
            and (self.fqn is None or entity.fqn == ALL_KINDS[entity.kind].spelled(self.fqn))
        )


class LogSpan(msgspec.Struct, frozen=True, kw_only=True):
    """The part of the log with positions in (after, upto], and the direction it is read in."""

    after: int
    upto: int
    newest_first: bool = False

    @property
    def end(self) -> int:
        """The position reached once the whole span is searched: its last one, or its first."""
        return self.after + 1 if self.newest_first else self.upto


class AuditTrail:
    """Reads the log, with the names that entities had at the time."""

    def __init__(self, store: EventStore) -> None:
        self._store = store
        self._names = NamesOfThen(store)

    def read(
        self, query: AuditQuery, span: LogSpan, *, limit: int, bound: int
    ) -> Iterator[tuple[list[AuditEvent], int]]:
        """At most `limit` matching events of a part of the log, in batches.

        Each batch comes with the position reached: what lies between the beginning of the span, in
        its direction, and that position (inclusive) was looked at. At most `bound` events are, so
        the position may stay before the end of the span although there are fewer matches than
        `limit`. Events of one entity are found without looking at others.
        """
        batches = self._log(span, bound) if query.entity_id is None else self._stream(query, span)
        for batch, reached in batches:
            bound -= len(batch)
            matching = []
            for recorded in batch:
                if query.matches(recorded.event):
                    named = self._names.of(recorded)
                    if query.names(named):
                        matching.append(_audited(recorded, named.fqn, query.end_kinds))
                        if len(matching) == limit:
                            reached = recorded.position
                            break
            limit -= len(matching)
            yield matching, reached
            if not limit or bound <= 0:
                return

    def _log(self, span: LogSpan, bound: int) -> Iterator[tuple[list[RecordedEvent], int]]:
        """At most `bound` events of the span, in batches, each with the position reached."""
        after, upto = span.after, span.upto
        while after < upto:
            batch = self._store.read(after, min(BATCH, bound), upto, newest_first=span.newest_first)
            if not batch:
                yield [], span.end
                return
            bound -= len(batch)
            reached = batch[-1].position
            if span.newest_first:
                upto = reached - 1
            else:
                after = reached
            yield batch, reached

    def _stream(
        self, query: AuditQuery, span: LogSpan
    ) -> Iterator[tuple[list[RecordedEvent], int]]:
        """The events of the requested entity one by one, each with the position reached."""
        entity_id = query.entity_id or ""
        version = self._versions_upto(entity_id, span.upto if span.newest_first else span.after)
        step = -1 if span.newest_first else 1
        if not span.newest_first:
            version += 1
        while (recorded := self._event(entity_id, version)) is not None:
            if not span.after < recorded.position <= span.upto:
                break
            yield [recorded], recorded.position
            version += step
        yield [], span.end

    def _versions_upto(self, entity_id: str, position: int) -> int:
        """The stream version of an entity's last event up to a position, 0 without one.

        It reads few events, however many the entity has.
        """

        def lies_beyond(version: int) -> bool:
            recorded = self._event(entity_id, version)
            return recorded is None or recorded.position > position

        beyond = 1
        while not lies_beyond(beyond):
            beyond *= 2
        return bisect_left(range(1, beyond), True, key=lies_beyond)

    def _event(self, entity_id: str, version: int) -> RecordedEvent | None:
        """One event of an entity's stream, None without an event of this version."""
        if version < 1:
            return None
        return next(iter(self._store.stream(entity_id, after=version - 1, upto=version)), None)


def _remark(event: Event, end_kinds: frozenset[str]) -> Body:
    """The fields of an event that events of other types do not have.

    The reasons of a verdict tell of an entity of any kind, so that who may not see every kind is
    not told them.
    """
    left_out = _OF_EVERY_EVENT if end_kinds.issuperset(KINDS) else _OF_EVERY_EVENT | {"reasons"}
    held = values_by_key(msgspec.json.encode(event))
    return {key: raw for key, raw in held.items() if key not in left_out}


_OF_EVERY_EVENT = frozenset(field.encode_name for field in msgspec.structs.fields(Event))
"""The keys that all events have."""


def _audited(recorded: RecordedEvent, fqn: str, end_kinds: frozenset[str]) -> AuditEvent:
    event = recorded.event
    body = event.body if isinstance(event, events.EntityCreated) else None
    patch = event.patch if isinstance(event, events.EntityChanged) else None
    if event.kind == EDGE and not end_kinds.issuperset(RUNNING_KINDS):
        if body is not None:
            body = {key: raw for key, raw in body.items() if key != _PIPELINE}
        if patch is not None:
            patch = [each for each in patch if not f"{each['path']}/".startswith(f"/{_PIPELINE}/")]
    return AuditEvent(
        position=recorded.position,
        entity_id=recorded.entity_id,
        kind=event.kind,
        fully_qualified_name=fqn,
        event_type=TYPE_NAMES[type(event)],
        stream_version=recorded.stream_version,
        version=event.version / 10,
        actor=event.actor,
        time=event.at,
        request_id=event.request_id,
        via=event.via,
        body=body,
        patch=patch,
        status=event.status if isinstance(event, events.EntityStatusChanged) else None,
        remark=_remark(event, end_kinds) if isinstance(event, _TELLING) else None,
    )
