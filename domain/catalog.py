"""The only writer: takes a request, decides on the state in the log, appends the events."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from domain import commands, document, history, json_patch, payloads
from domain.entity import STATUS, Entity, decide
from domain.entity_cache import States
from domain.errors import (
    AlreadyExists,
    ConcurrentChange,
    Conflict,
    InvalidInput,
    KeyReused,
    NotEmpty,
    NotFound,
    StaleVersion,
)
from domain.event_store.port import (
    ANSWERS_KEPT_MS,
    EventStore,
    RecordedEvent,
    RememberedAnswer,
)
from domain.events import Body, Event
from domain.hierarchy import expectations
from domain.ids import new_id
from domain.kinds import EntityKind
from domain.requests import ByName, Caller, Change, Outcome, creation, record

_ATTEMPTS = 20
_PAUSE_SECONDS = 0.001


_Step = tuple[str, Entity | None, list[Event]]
"""Entity id, state before, events."""


class _Plan(msgspec.Struct, frozen=True):
    """Events to append, and what they amount to for the entity that was asked about."""

    entity_id: str
    change: Change
    steps: list[_Step]
    """One for every entity concerned."""


class Catalog:
    """Create, change, delete and restore entities; safe to share between threads."""

    def __init__(
        self,
        store: EventStore,
        *,
        now: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
        make_id: Callable[[], str] = new_id,
    ) -> None:
        """`now` gives milliseconds since the epoch."""
        self.store = store
        self._now = now
        self._make_id = make_id
        self._lock = threading.Lock()
        self._states = States(store)

    def create(self, kind: EntityKind, values: Mapping[str, Any], caller: Caller) -> Outcome:
        """Create an entity; raises AlreadyExists when its name is taken, even by a deleted one."""

        def plan() -> _Plan:
            payload = payloads.read(kind, values, self.store, self._states.body, lambda _: None)
            taken = self.store.claim(kind.name, payload.fqn)
            if taken is not None:
                state = "a soft-deleted" if taken.deleted else "a"
                raise AlreadyExists(f"{state} {kind.name} named {payload.fqn!r} exists already")
            return self._creation(kind, payload, caller)

        return self._write(plan, caller)

    def put(self, kind: EntityKind, values: Mapping[str, Any], caller: Caller) -> Outcome:
        """Create the entity, or change the keys given; keys given as null or empty are removed.

        A soft-deleted entity is restored first.
        """

        def plan() -> _Plan:
            payload = payloads.read(
                kind,
                values,
                self.store,
                self._states.body,
                lambda fqn: self._states.holder(kind, fqn),
            )
            if payload.state is None:
                return self._creation(kind, payload, caller)
            return self._change(payload.state, payload.onto(payload.state), caller)

        return self._write(plan, caller)

    def patch(
        self,
        kind: EntityKind,
        which: str | ByName,
        patch: Sequence[Mapping[str, Any]],
        caller: Caller,
    ) -> Outcome:
        """Apply an RFC 6902 patch to the entity's document, with absent arrays shown as []."""
        json_patch.check_size(patch)
        encoded = msgspec.json.encode(patch)

        def plan() -> _Plan:
            state = self._states.existing(kind, which)
            if state.deleted:
                raise NotFound(f"{kind.name} instance for {state.id} not found: it is deleted")
            shown = {key: msgspec.json.decode(raw) for key, raw in document.fields(state).items()}
            before = {key: shown.pop(key, None) for key in document.SERVER_KEYS}
            arrays: dict[str, Any] = {key: [] for key in sorted(kind.arrays)}
            # Decoded anew: applying changes the values of a patch, and may be done again.
            operations = msgspec.json.decode(encoded)
            patched = json_patch.apply({**before, **arrays, **shown}, operations)
            if not isinstance(patched, dict):
                raise InvalidInput("a patch cannot replace the entity by something else")
            for key, value in before.items():
                if not json_patch.same(patched.pop(key, None), value):
                    raise InvalidInput(f"{key} is set by the catalog and cannot be patched")
            patched["name"] = state.name
            for key, raw in document.stand_ins(state).items():
                if json_patch.same(patched.get(key), msgspec.json.decode(raw)):
                    patched.pop(key, None)
            body = payloads.read(kind, patched, self.store, self._states.body, lambda _: state).body
            if STATUS in state.body and STATUS not in body:
                raise InvalidInput(f"{STATUS} cannot be removed")
            return self._change(state, body, caller)

        return self._write(plan, caller)

    def delete(
        self,
        kind: EntityKind,
        which: str | ByName,
        caller: Caller,
        *,
        hard: bool,
        recursive: bool,
    ) -> Outcome:
        """Soft-delete the entity, or purge it when `hard`; with its children when `recursive`.

        Raises NotEmpty when there are children and `recursive` is false.
        """

        def plan() -> _Plan:
            state = self._states.existing(kind, which)
            doomed = [claim for claim in self._states.below(state.id) if hard or not claim.deleted]
            if doomed and not recursive and (hard or not state.deleted):
                raise NotEmpty(
                    # Not what: the caller may see this kind and none of those below.
                    f"{kind.name} {state.fqn!r} is not empty:"
                    " recursive=true deletes what is below it too"
                )
            command_type = commands.PurgeEntity if hard else commands.SoftDeleteEntity
            at = self._now()
            below = self._states.newest_of([claim.id for claim in reversed(doomed)])
            steps = [self._step(command_type, entity, caller, at) for entity in below]
            own = self._step(command_type, state, caller, at, checked=True)
            change = Change.DELETED if hard else Change.SOFT_DELETED
            return _Plan(state.id, change if own[2] else Change.NO_CHANGE, [*steps, own])

        return self._write(plan, caller)

    def restore(self, kind: EntityKind, entity_id: str, caller: Caller) -> Outcome:
        """Make a soft-deleted entity live again, with the children deleted by the same request."""

        def plan() -> _Plan:
            state = self._states.existing(kind, entity_id)
            if not state.deleted:
                raise NotFound(f"{kind.name} instance for {entity_id} is not deleted")
            at = self._now()
            own = self._step(commands.RestoreEntity, state, caller, at, checked=True)
            steps = [own, *self._restorations(state, caller, at)]
            return _Plan(entity_id, Change.RESTORED, steps)

        return self._write(plan, caller)

    def _restorations(self, state: Entity, caller: Caller, at: int) -> list[_Step]:
        """What restores the children that were deleted together with a soft-deleted entity."""
        parent = self.store.claim_by_id(state.parent_id) if state.parent_id else None
        if state.parent_id is not None and (parent is None or parent.deleted):
            name = parent.fqn if parent else state.parent_id
            raise Conflict(f"{state.kind} {state.fqn!r} stands under {name!r}, which is deleted")
        below = self._states.newest_of([claim.id for claim in self._states.below(state.id)])
        # Callers choose request ids, so one may come twice; the time tells them apart.
        cause = state.deleted_by, state.updated_at
        return [
            self._step(commands.RestoreEntity, entity, caller, at)
            for entity in below
            if (entity.deleted_by, entity.updated_at) == cause
        ]

    def _creation(self, kind: EntityKind, payload: payloads.Payload, caller: Caller) -> _Plan:
        if caller.expected_version is not None:
            raise StaleVersion(f"{kind.name} {payload.fqn!r} does not exist, so has no version")
        entity_id = self._make_id()
        command = creation(kind, payload, caller, self._now())
        return _Plan(entity_id, Change.CREATED, [(entity_id, None, decide(command, None))])

    def _change(self, state: Entity, body: Body, caller: Caller) -> _Plan:
        at = self._now()
        step = self._step(commands.ChangeEntity, state, caller, at, checked=True, body=body)
        together = self._restorations(state, caller, at) if state.deleted else []
        change = Change.UPDATED if step[2] else Change.NO_CHANGE
        return _Plan(state.id, change, [step, *together])

    def _step(
        self,
        command_type: type[commands.Command],
        state: Entity,
        caller: Caller,
        at: int,
        *,
        checked: bool = False,
        **fields: Any,
    ) -> _Step:
        """What a command means for one entity; `checked` holds it to the caller's version."""
        command = command_type(
            actor=caller.actor,
            at=at,
            request_id=caller.request_id,
            expected_version=caller.expected_version if checked else None,
            **fields,
        )
        return state.id, state, decide(command, state)

    def _write(self, plan: Callable[[], _Plan], caller: Caller) -> Outcome:
        """Carry out a plan, made again when another writer was first."""
        with self._lock:
            for attempt in range(_ATTEMPTS):
                if caller.idempotency_key is not None:
                    remembered = self.store.answer(caller.actor, caller.idempotency_key)
                    if remembered and self._now() - remembered.at < ANSWERS_KEPT_MS:
                        return self._repeat(remembered, caller)
                planned = plan()
                try:
                    return self._append(planned, caller)
                except (ConcurrentChange, AlreadyExists) as error:
                    if isinstance(error, ConcurrentChange):
                        self._states.forget(error.entity_ids)
                    if attempt == _ATTEMPTS - 1:
                        raise
                    time.sleep(_PAUSE_SECONDS * attempt)
        raise AssertionError("unreachable")

    def _append(self, planned: _Plan, caller: Caller) -> Outcome:
        recorded: list[RecordedEvent] = []
        changed: list[tuple[list[Event], Entity]] = []
        for entity_id, before, decided in planned.steps:
            events, after = record(entity_id, before, decided)
            assert after is not None
            recorded += events
            changed.append((decided, after))
        (entity,) = (after for _, after in changed if after.id == planned.entity_id)
        answer = None
        if caller.idempotency_key is not None:
            answer = RememberedAnswer(
                actor=caller.actor,
                key=caller.idempotency_key,
                digest=caller.digest,
                entity_id=entity.id,
                stream_version=entity.stream_version,
                outcome=planned.change.value,
                at=self._now(),
            )
        if recorded or answer is not None:
            position = self.store.append(recorded, answer, expecting=expectations(changed))
        else:
            position = self.store.head()
        for _, after in changed:
            self._states.remember(after)
        return Outcome(entity, planned.change, position)

    def _repeat(self, remembered: RememberedAnswer, caller: Caller) -> Outcome:
        """The outcome of the first write under an idempotency key."""
        if remembered.digest != caller.digest:
            raise KeyReused("this Idempotency-Key was used before for another request")
        entity = history.state(self.store, remembered.entity_id, upto=remembered.stream_version)
        assert entity is not None
        return Outcome(entity, Change(remembered.outcome), self.store.head())
