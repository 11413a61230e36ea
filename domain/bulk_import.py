"""Loads JSON lines into the log in large transactions, keeping the good lines of a bad file.

A line is one entity, parents before children:
`{"entityType": ..., "name": ..., "fullyQualifiedName": ..., ...}`, otherwise like the body of a
PUT. An `id` is kept when the entity is new. What the log has already stores no event.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

import msgspec

from domain import history, json_input, payloads
from domain.commands import ChangeEntity
from domain.entity import Entity, decide
from domain.errors import (
    AlreadyExists,
    CatalogError,
    ConcurrentChange,
    InvalidInput,
    StoreUnavailable,
    shown,
)
from domain.event_store.claims import claim_of
from domain.event_store.port import Claim, EventStore, RecordedEvent, StreamSpan
from domain.events import Body, EntityCreated, EntityRestored, Event
from domain.hierarchy import expectations
from domain.ids import new_id, parse_id
from domain.kinds import EntityKind
from domain.planning import record
from domain.registry import KINDS
from domain.write_context import WriteContext

BATCH_LINES = 1_000
"""The most lines in one transaction."""
BATCH_BYTES = 16_000_000
"""Bytes of lines at which a transaction ends, although it has fewer."""
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


class ImportStopped(StoreUnavailable):
    """The log could not be read or written, so that no further line was imported."""

    def __init__(self, message: str, stored: Batch, upto: int) -> None:
        super().__init__(message)
        self.stored = stored
        """What those lines came to that were imported before."""
        self.upto = upto
        """The number of the last line before which, and with which, every good line is stored."""


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
        self._free: set[tuple[str, str] | str] = set()

    def foresee(self, names: Iterable[tuple[str, str]], ids: Iterable[str]) -> None:
        """Look names and ids up together; those that nobody has stay so until the next append."""
        self._free.clear()
        new_names = {key for key in names if key not in self._by_name}
        new_ids = {key for key in ids if key not in self._by_id}
        self._keep(self._store.claims(names=new_names, ids=new_ids))
        free_ids = [key for key in new_ids if key not in self._by_id]
        purged = self._store.streams([StreamSpan(key, upto=1) for key in free_ids])
        self._free.update(key for key in new_names if key not in self._by_name)
        self._free.update(free_ids)
        self._free.difference_update(recorded.entity_id for recorded in purged)

    def is_used(self, entity_id: str) -> bool:
        """Whether some entity has this id, had it until it was purged, or is about to have it."""
        if entity_id in self._by_id:
            return True
        return entity_id not in self._free and any(self._store.stream(entity_id, upto=1))

    def claims(
        self, *, names: Collection[tuple[str, str]] = (), ids: Collection[str] = ()
    ) -> list[Claim]:
        """Who holds these qualified names, or is about to, and what names these entities hold."""
        new_names = [key for key in names if key not in self._by_name and key not in self._free]
        new_ids = [key for key in ids if key not in self._by_id and key not in self._free]
        if new_names or new_ids:
            self._keep(self._store.claims(names=new_names, ids=new_ids))
        held = [self._by_name[key] for key in names if key in self._by_name]
        return held + [self._by_id[key] for key in ids if key in self._by_id]

    def holder(self, kind: str, fqn: str) -> Claim | None:
        """Who holds a qualified name, or is about to."""
        return next(iter(self.claims(names=[(kind, fqn)])), None)

    def _keep(self, claims: Iterable[Claim]) -> None:
        for claim in claims:
            self._by_name[claim.kind, claim.fqn] = self._by_id[claim.id] = claim

    def body(self, entity_id: str) -> Body:
        """The body of a parent."""
        if entity_id not in self._bodies:
            entity = history.state(self._store, entity_id)
            assert entity is not None
            self._bodies[entity_id] = _inheritable(entity)
        return self._bodies[entity_id]

    def expect(self, entity: Entity) -> None:
        """Count on an entity that the next append will create or restore."""
        self._keep([claim_of(entity)])
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


class _StatesAhead:
    """States of the entities that the lines of a batch name, read together in their order.

    No more is held than one read of the log, however large the entities are.
    """

    def __init__(self, store: EventStore, entity_ids: Iterable[str]) -> None:
        self._store = store
        self._waiting = dict.fromkeys(entity_ids)
        self._states = history.folded(store.streams([StreamSpan(one) for one in self._waiting]))

    def get(self, entity_id: str) -> Entity | None:
        """The newest state of an entity; those before it in the order are passed over."""
        if entity_id not in self._waiting:
            return history.state(self._store, entity_id)
        for state, _ in self._states:
            del self._waiting[state.id]
            if state.id == entity_id:
                return state
        return None


class BulkImport:
    """Feeds lines into the log; one transaction for each call of `load`."""

    def __init__(
        self,
        store: EventStore,
        context: WriteContext,
        *,
        now: Callable[[], int],
        make_id: Callable[[], str] = new_id,
    ) -> None:
        self._store = store
        self._context = context
        self._now = now
        self._make_id = make_id
        self._names = _Names(store)

    def load(self, lines: list[Line]) -> Batch:
        """Import the lines in one transaction; when another writer interferes, one by one.

        Raises ImportStopped when the log cannot be read or written now.
        """
        try:
            return self._load(lines)
        except StoreUnavailable as error:
            raise ImportStopped(error.message, Batch(), lines[0][0] - 1) from error
        except (ConcurrentChange, AlreadyExists) as error:
            self._names.forget()
            if len(lines) == 1:
                return Batch(lines=1, bad=[BadLine(lines[0][0], error.message)])
        whole = Batch()
        for line in lines:
            try:
                whole.add(self.load([line]))
            except ImportStopped as stopped:
                raise ImportStopped(stopped.message, whole, stopped.upto) from stopped
        return whole

    def _load(self, lines: list[Line]) -> Batch:
        batch = Batch(lines=len(lines))
        touched: dict[str, Entity] = {}
        recorded: list[RecordedEvent] = []
        changes: list[tuple[list[Event], Entity]] = []
        entities: list[tuple[int, _Line]] = []
        for number, line in lines:
            try:
                entities.append((number, _read(line)))
            except InvalidInput as error:
                batch.bad.append(BadLine(number, error.message))
        named = [(kind.name, fqn) for _, (kind, _, fqn, _) in entities if fqn is not None]
        self._names.foresee(named, (made for _, (_, made, _, _) in entities if made is not None))
        held = self._names.claims(names=named)
        ahead = _StatesAhead(self._store, (claim.id for claim in held))
        for number, entity in entities:
            try:
                state, entity_id, decided = self._decide(entity, touched, ahead, batch)
            except StoreUnavailable:
                raise
            except CatalogError as error:
                batch.bad.append(BadLine(number, error.message))
                continue
            events, after = record(entity_id, state, decided)
            if events and after is not None:
                recorded += events
                changes.append((decided, after))
                touched[entity_id] = after
                if any(isinstance(event, EntityCreated | EntityRestored) for event in decided):
                    self._names.expect(after)
        if recorded:
            self._store.append(recorded, expecting=expectations(changes))
        batch.events = len(recorded)
        batch.bad.sort(key=lambda bad: bad.number)
        self._names.trim()
        return batch

    def _decide(
        self, line: "_Line", touched: dict[str, Entity], ahead: _StatesAhead, batch: Batch
    ) -> tuple[Entity | None, str, list[Event]]:
        """The state before a line, the id of its entity, and the events; counts what it does.

        `touched` are the entities that this batch has changed already.
        """
        kind, entity_id, fqn, values = line
        payload = payloads.read(
            kind,
            values,
            self._names,
            self._names.body,
            lambda made: self._state(kind.name, made, touched, ahead),
        )
        if fqn not in (None, payload.fqn):
            raise InvalidInput(
                f"fullyQualifiedName is {shown(fqn)}, but name and parent make it {payload.fqn!r}"
            )
        state = payload.state
        if state is None:
            if entity_id is None:
                entity_id = self._make_id()
            elif self._names.is_used(entity_id):
                raise AlreadyExists(f"id {entity_id} is the id of another entity")
            decided = decide(payload.creation(kind, self._context, self._now()), None)
            batch.created += 1
        else:
            entity_id = state.id
            decided = decide(
                ChangeEntity(
                    actor=self._context.actor,
                    at=self._now(),
                    request_id=self._context.request_id,
                    body=payload.onto(state),
                ),
                state,
            )
            batch.changed += bool(decided)
            batch.unchanged += not decided
        return state, entity_id, decided

    def _state(
        self, kind: str, fqn: str, touched: dict[str, Entity], ahead: _StatesAhead
    ) -> Entity | None:
        claim = self._names.holder(kind, fqn)
        if claim is None:
            return None
        state = touched.get(claim.id) or ahead.get(claim.id)
        assert state is not None
        return None if state.purged else state


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
    """Numbered, non-blank lines in groups that end at `size` lines or at BATCH_BYTES."""
    group: list[Line] = []
    held = 0
    for number, line in enumerate(lines, start=1):
        if line.strip():
            group.append((number, line))
            held += len(line)
        if len(group) == size or held >= BATCH_BYTES:
            yield group
            group, held = [], 0
    if group:
        yield group
