"""Loads JSON lines into the log in large transactions, keeping the good lines of a bad file.

A line is one entity, parents before children:
`{"entityType": ..., "name": ..., "fullyQualifiedName": ..., ...}`, otherwise like the body of a
PUT. An `id` is kept when the entity is new. What the log has already stores no event.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from domain import history, json_input, payloads
from domain.commands import ChangeEntity
from domain.entity import Entity, decide
from domain.errors import AlreadyExists, CatalogError, ConcurrentChange, InvalidInput, shown
from domain.event_store.port import Claim, EventStore, RecordedEvent
from domain.events import Body, EntityCreated, EntityRestored
from domain.ids import new_id, parse_id
from domain.kinds import EntityKind
from domain.registry import KINDS
from domain.requests import Caller, creation, record

BATCH_LINES = 1_000
"""Lines in one transaction."""
_CACHED = 100_000

Line = tuple[int, bytes]
"""Line number, from 1, and its bytes."""


class BadLine(msgspec.Struct, frozen=True):
    """A line that was not imported, and why."""

    number: int
    reason: str


class Batch(msgspec.Struct):
    """What one transaction's worth of lines came to."""

    lines: int = 0
    events: int = 0
    created: int = 0
    changed: int = 0
    unchanged: int = 0
    bad: list[BadLine] = []

    def add(self, other: "Batch") -> None:
        """Count another batch in."""
        self.lines += other.lines
        self.events += other.events
        self.created += other.created
        self.changed += other.changed
        self.unchanged += other.unchanged
        self.bad = [*self.bad, *other.bad]


_INHERITED = frozenset(key for kind in KINDS.values() for key in kind.inherits)


def _inheritable(entity: Entity) -> Body:
    """The part of a parent's body that its children may take over."""
    return {key: raw for key, raw in entity.body.items() if key in _INHERITED}


class _Names:
    """Claims and parents' bodies: those on their way into the log before those in it."""

    def __init__(self, store: EventStore) -> None:
        self._store = store
        self._by_name: dict[tuple[str, str], Claim] = {}
        self._by_id: dict[str, Claim] = {}
        self._bodies: dict[str, Body] = {}
        self._free: set[tuple[str, str]] = set()

    def foresee(self, keys: Iterable[tuple[str, str]]) -> None:
        """Look names up together; those that nobody holds stay so until the next append."""
        self._free = {key for key in keys if key not in self._by_name}
        for found in self._store.claims(list(self._free)):
            self._by_name[found.kind, found.fqn] = self._by_id[found.id] = found
            self._free.discard((found.kind, found.fqn))

    def claim(self, kind: str, fqn: str) -> Claim | None:
        """Who holds a qualified name, or is about to."""
        key = kind, fqn
        found = self._by_name.get(key)
        if found is None and key not in self._free:
            found = self._store.claim(kind, fqn)
            if found is not None:
                self._by_name[key] = found
        return found

    def claim_by_id(self, entity_id: str) -> Claim | None:
        """What name an entity holds, or is about to."""
        found = self._by_id.get(entity_id) or self._store.claim_by_id(entity_id)
        if found is not None:
            self._by_id[entity_id] = found
        return found

    def body(self, entity_id: str) -> Body:
        """The body of a parent."""
        if entity_id not in self._bodies:
            entity = history.state(self._store, entity_id)
            assert entity is not None
            self._bodies[entity_id] = _inheritable(entity)
        return self._bodies[entity_id]

    def expect(self, entity: Entity) -> None:
        """Count on an entity that the next append will create or restore."""
        claim = Claim(
            kind=entity.kind,
            fqn=entity.fqn,
            id=entity.id,
            name=entity.name,
            parent_id=entity.parent_id,
            deleted=False,
        )
        self._by_name[entity.kind, entity.fqn] = self._by_id[entity.id] = claim
        self._bodies[entity.id] = _inheritable(entity)

    def trim(self) -> None:
        """Keep memory bounded; only right after an append, when the store knows everything."""
        if len(self._by_id) > _CACHED:
            self.forget()

    def forget(self) -> None:
        """Look everything up afresh."""
        self._free.clear()
        self._by_name.clear()
        self._by_id.clear()
        self._bodies.clear()


class BulkImport:
    """Feeds lines into the log; one transaction for each call of `load`."""

    def __init__(
        self,
        store: EventStore,
        caller: Caller,
        *,
        now: Callable[[], int],
        make_id: Callable[[], str] = new_id,
    ) -> None:
        self._store = store
        self._caller = caller
        self._now = now
        self._make_id = make_id
        self._names = _Names(store)

    def load(self, lines: list[Line]) -> Batch:
        """Import the lines in one transaction; when another writer interferes, one by one."""
        try:
            return self._load(lines)
        except (ConcurrentChange, AlreadyExists) as error:
            self._names.forget()
            if len(lines) == 1:
                return Batch(lines=1, bad=[BadLine(lines[0][0], error.message)])
        whole = Batch()
        for line in lines:
            whole.add(self.load([line]))
        return whole

    def _load(self, lines: list[Line]) -> Batch:
        batch = Batch(lines=len(lines))
        states: dict[str, Entity] = {}
        recorded: list[RecordedEvent] = []
        entities: list[tuple[int, _Line]] = []
        for number, line in lines:
            try:
                entities.append((number, _read(line)))
            except CatalogError as error:
                batch.bad.append(BadLine(number, error.message))
        self._names.foresee(
            (kind.name, fqn) for _, (kind, _, fqn, _) in entities if fqn is not None
        )
        for number, entity in entities:
            try:
                recorded += self._decide(entity, states, batch)
            except CatalogError as error:
                batch.bad.append(BadLine(number, error.message))
        if recorded:
            self._store.append(recorded)
        batch.events = len(recorded)
        batch.bad.sort(key=lambda bad: bad.number)
        self._names.trim()
        return batch

    def _decide(
        self, line: "_Line", states: dict[str, Entity], batch: Batch
    ) -> list[RecordedEvent]:
        """The events of one line; `states` are the entities that this batch touched already."""
        kind, entity_id, fqn, values = line
        payload = payloads.read(
            kind,
            values,
            self._names,
            self._names.body,
            lambda made: self._state(kind.name, made, states),
        )
        if fqn not in (None, payload.fqn):
            raise InvalidInput(
                f"fullyQualifiedName is {shown(fqn)}, but name and parent make it {payload.fqn!r}"
            )
        state = payload.state
        if state is None:
            if entity_id is None:
                entity_id = self._make_id()
            elif self._names.claim_by_id(entity_id) or self._store.stream(entity_id, upto=1):
                raise AlreadyExists(f"id {entity_id} is the id of another entity")
            decided = decide(creation(kind, payload, self._caller, self._now()), None)
            batch.created += 1
        else:
            entity_id = state.id
            decided = decide(
                ChangeEntity(
                    actor=self._caller.actor,
                    at=self._now(),
                    request_id=self._caller.request_id,
                    body=payload.onto(state),
                ),
                state,
            )
            batch.changed += bool(decided)
            batch.unchanged += not decided
        recorded, after = record(entity_id, state, decided)
        if recorded and after is not None:
            states[entity_id] = after
            if any(isinstance(event, EntityCreated | EntityRestored) for event in decided):
                self._names.expect(after)
        return recorded

    def _state(self, kind: str, fqn: str, states: dict[str, Entity]) -> Entity | None:
        claim = self._names.claim(kind, fqn)
        if claim is None:
            return None
        if claim.id not in states:
            found = history.state(self._store, claim.id)
            assert found is not None
            return None if found.purged else found
        return states[claim.id]


_Line = tuple[EntityKind, str | None, str | None, dict[str, Any]]
"""Kind, id, qualified name and body."""


def _read(line: bytes) -> _Line:
    """Kind, id, qualified name and body of a line; raises InvalidInput."""
    values = json_input.decode(line, dict[str, Any], "the line")
    name = values.pop("entityType", None)
    if not isinstance(name, str) or name not in KINDS:
        raise InvalidInput(f"entityType must be one of {', '.join(KINDS)}, got {shown(name)}")
    entity_id, fqn = values.pop("id", None), values.pop("fullyQualifiedName", None)
    for key, value in (("id", entity_id), ("fullyQualifiedName", fqn)):
        if value is not None and not isinstance(value, str):
            raise InvalidInput(f"{key} must be a string, got {shown(value)}")
    return KINDS[name], parse_id(entity_id, "id") if entity_id else None, fqn, values


def batches(lines: Iterable[bytes], size: int = BATCH_LINES) -> Iterator[list[Line]]:
    """Numbered, non-blank lines in groups of at most `size`."""
    group: list[Line] = []
    for number, line in enumerate(lines, start=1):
        if line.strip():
            group.append((number, line))
        if len(group) == size:
            yield group
            group = []
    if group:
        yield group
