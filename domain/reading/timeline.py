"""Changes of an entity, request by request, read from the patches in its stream.

A state for each version would be as large as the entity each time. Here one body is changed in
place, event by event, and each operation is looked at right before it is carried out.
"""

from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any, Generic, Literal, TypeVar

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from domain import events
from domain.aggregate.entity import STATUS, Entity, evolve
from domain.aggregate.lifecycle import format_version
from domain.event_store.entity_reads import RecordedEvent
from domain.event_store.port import EventStore
from domain.events import TYPE_NAMES, Body, Event, Via, encode
from domain.patches import json_patch

_NESTED = "children"
_NAMES = ("name", "tagFQN", "displayName", "fullyQualifiedName", "id")
"""Keys by which people know an element of an array, the best first."""


class TimelineChange(msgspec.Struct, frozen=True):
    """One operation; values are those of the body itself, which later operations change."""

    sort: Literal["added", "updated", "deleted"]
    keys: tuple[str, ...]
    """The keys that lead to what is changed, without places in arrays and without `children`."""
    steps: tuple[tuple[str, str], ...]
    """The way by which people find the change: keys, and names of elements. Each stands beside the
    dotted path of the field that it is read from.
    """
    old: Any
    new: Any


Told = TypeVar("Told")


class TimelineStep(msgspec.Struct, Generic[Told], frozen=True):
    """Changes that one request made to an entity."""

    version: str
    stream_version: int
    """Stream version of the first event of the request."""
    position: int
    """Position in the log of the last event of the request."""
    at: int
    actor: str
    request_id: str
    via: Via | None
    """The door that the request came through, where its actor did not ask in person."""
    event_types: tuple[str, ...]
    changes: tuple[Told, ...]


class VersionBody(msgspec.Struct, frozen=True):
    """The body of an entity as one of its versions left it, and how it came to be."""

    at: int
    actor: str
    body: Body
    deleted: bool


def read_steps(
    store: EventStore,
    entity_id: str,
    tell: Callable[[TimelineChange], Told | None],
    *,
    limit: int,
    before: int | None = None,
) -> list[TimelineStep[Told]]:
    """The newest requests that changed an entity, at most `limit` of them, the newest first.

    `before` is a stream version: only earlier events are looked at. `tell` makes of each change
    what is kept of it, None for nothing, and must not keep its values.
    """
    upto = None if before is None else before - 1
    starts: deque[int] = deque(maxlen=limit)
    version = upto_now = 0
    for recorded in store.stream(entity_id, upto=upto):
        if recorded.event.version != version:
            version = recorded.event.version
            starts.append(recorded.stream_version)
        # What is appended meanwhile is for the next reader.
        upto_now = recorded.stream_version
    if not starts:
        return []
    steps: list[TimelineStep[Told]] = []
    entity = _ChangingEntity(entity_id)
    for version, group in groupby(store.stream(entity_id, upto=upto_now), _version):
        kept: list[Told] = []
        request = []
        for recorded in group:
            if recorded.stream_version < starts[0]:
                entity.take(recorded.event)
                continue
            request.append(recorded)
            changes = map(tell, entity.changes(recorded.event))
            kept += [each for each in changes if each is not None]
        if request:
            event = _changing(request).event
            steps.append(
                TimelineStep(
                    version=format_version(version),
                    stream_version=request[0].stream_version,
                    position=request[-1].position,
                    at=event.at,
                    actor=event.actor,
                    request_id=event.request_id,
                    via=event.via,
                    event_types=tuple(TYPE_NAMES[type(each.event)] for each in request),
                    changes=tuple(kept),
                )
            )
    return steps[::-1]


def read_versions(
    store: EventStore, entity_id: str, versions: Collection[str]
) -> Mapping[str, VersionBody]:
    """The bodies of an entity at those of the decimal versions that it had."""
    bodies: dict[str, VersionBody] = {}
    entity = _ChangingEntity(entity_id)
    for version, group in groupby(store.stream(entity_id), _version):
        for recorded in group:
            entity.take(recorded.event)
            if not isinstance(recorded.event, events.REMARKS):
                event = recorded.event
        if (text := format_version(version)) in versions:
            bodies[text] = VersionBody(event.at, event.actor, entity.encoded(), entity.deleted)
            if len(bodies) == len(set(versions)):
                break
    return bodies


def _changing(request: Sequence[RecordedEvent]) -> RecordedEvent:
    """The last event of a request that changed the entity, before any remarks on it."""
    return next(each for each in reversed(request) if not isinstance(each.event, events.REMARKS))


_version = attrgetter("event.version")
"""The version after an event; the events of one command share theirs."""


class _ChangingEntity:
    """An entity whose body patches change in place; a key is decoded when it is first touched.

    `evolve` decodes and encodes what each patch touches, which of a wide table takes milliseconds
    an event; it does all else here too.
    """

    def __init__(self, entity_id: str) -> None:
        self._id = entity_id
        self._state: Entity | None = None

    @property
    def deleted(self) -> bool:
        """True if the entity is soft-deleted now."""
        return self._state is not None and self._state.deleted

    def take(self, event: Event) -> None:
        """Carry out an event."""
        if isinstance(event, events.EntityChanged):
            for operation in event.patch:
                self._decoded(json_patch.pointer(operation["path"])[0])
            json_patch.apply(self._values, event.patch)
        else:
            self._evolve(event)

    def changes(self, event: Event) -> Iterator[TimelineChange]:
        """Yield the changes of an event, each right before it is carried out."""
        if isinstance(event, events.EntityChanged):
            for operation in event.patch:
                tokens = json_patch.pointer(operation["path"])
                self._decoded(tokens[0])
                yield self._change(operation, tokens)
                json_patch.apply(self._values, [operation])
            return
        if isinstance(event, events.EntityStatusChanged):
            old = self._decoded(STATUS)
            yield TimelineChange("updated", (STATUS,), ((STATUS, STATUS),), old, event.status)
        if isinstance(event, events.EntityRenamed) and self._state is not None:
            for key, old, new in (
                ("name", self._state.name, event.name),
                ("fullyQualifiedName", self._state.fqn, event.fqn),
            ):
                if old != new:
                    yield TimelineChange("updated", (key,), ((key, key),), old, new)
        self._evolve(event)

    def encoded(self) -> Body:
        """The body as it is now."""
        return {
            key: value if isinstance(value, Raw) else encode(value)
            for key, value in self._values.items()
        }

    @property
    def _values(self) -> dict[str, Any]:
        """The body, in which the values that a patch has touched are decoded."""
        assert self._state is not None
        return self._state.body

    def _evolve(self, event: Event) -> None:
        state = evolve(self._state, event, self._id)
        # A copy of the body: the body of a creation belongs to its event.
        self._state = replace(state, body={**state.body})

    def _decoded(self, key: str) -> Any:
        value = self._values.get(key)
        if isinstance(value, Raw):
            value = self._values[key] = msgspec.json.decode(value)
        return value

    def _change(self, operation: Mapping[str, Any], tokens: list[str]) -> TimelineChange:
        """Return the change that an operation is about to make; its path exists."""
        new = operation.get("value")
        keys: list[str] = []
        steps: list[tuple[str, str]] = []
        at: Any = self._values
        for place, token in enumerate(tokens):
            inserted = operation["op"] == "add" and place == len(tokens) - 1
            if isinstance(at, list):
                at = new if inserted else at[int(token)]
                steps += _named(at, keys)
            else:
                at = None if inserted else at[token]
                if token != _NESTED or not keys:
                    keys.append(token)
                    steps.append((".".join(keys), token))
        sort: Any = {"add": "added", "remove": "deleted", "replace": "updated"}[operation["op"]]
        return TimelineChange(sort, tuple(keys), tuple(steps), None if sort == "added" else at, new)


def _named(element: Any, keys: list[str]) -> list[tuple[str, str]]:
    """Path and name of an element of an array, as the only pair; none for one without a name."""
    if isinstance(element, dict):
        for name in _NAMES:
            if isinstance(value := element.get(name), str):
                return [(".".join((*keys, name)), value)]
    return []
