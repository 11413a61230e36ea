"""The writer: plans what is asked for, appends the plan to the log, and plans anew if it must.

Threads and processes write at the same time. A plan is made from the newest state and held to it by
the log, which refuses what was planned on another: the loser plans again on what the winner left.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from domain import history, json_patch
from domain.entity import Entity
from domain.entity_cache import ByName, EntityCache
from domain.errors import AlreadyExists, ConcurrentChange, KeyReused
from domain.event_store.port import (
    ANSWERS_KEPT_MS,
    EventStore,
    RecordedEvent,
    RememberedAnswer,
)
from domain.events import Event
from domain.hierarchy import expectations
from domain.ids import new_id
from domain.kinds import EntityKind
from domain.planning import Change, Plan, Planner, record
from domain.write_context import WriteContext

_ATTEMPTS = 20
_PAUSE_SECONDS = 0.001


class Outcome(msgspec.Struct, frozen=True):
    """What came of a write."""

    entity: Entity
    """The entity as the write left it."""
    change: Change
    position: int
    """Position in the log that includes the write."""


class Catalog:
    """Create, change, delete and restore entities; threads may share it.

    Each method raises the errors of `Planner`'s method of the same name, KeyReused for an
    idempotency key that came with another request, ConcurrentChange when other writers were first
    again and again, and StoreUnavailable.
    """

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
        self._entities = EntityCache(store)
        self._planner = Planner(store, self._entities, now, make_id)

    def create(self, kind: EntityKind, values: Mapping[str, Any], context: WriteContext) -> Outcome:
        """Create an entity."""
        return self._write(context, partial(self._planner.create, kind, values, context))

    def put(self, kind: EntityKind, values: Mapping[str, Any], context: WriteContext) -> Outcome:
        """Create the entity, or change the keys given; keys given as null or empty are removed.

        A soft-deleted entity is restored first.
        """
        return self._write(context, partial(self._planner.put, kind, values, context))

    def patch(
        self,
        kind: EntityKind,
        which: str | ByName,
        patch: Sequence[Mapping[str, Any]],
        context: WriteContext,
    ) -> Outcome:
        """Apply an RFC 6902 patch to the entity's document, with absent arrays shown as []."""
        json_patch.check_size(patch)
        return self._write(context, partial(self._planner.patch, kind, which, patch, context))

    def delete(
        self,
        kind: EntityKind,
        which: str | ByName,
        context: WriteContext,
        *,
        hard: bool,
        recursive: bool,
    ) -> Outcome:
        """Soft-delete the entity, or purge it when `hard`; with its children when `recursive`."""
        plan = partial(self._planner.delete, kind, which, context, hard=hard, recursive=recursive)
        return self._write(context, plan)

    def restore(self, kind: EntityKind, entity_id: str, context: WriteContext) -> Outcome:
        """Make a soft-deleted entity live again, with the children deleted by the same request."""
        return self._write(context, partial(self._planner.restore, kind, entity_id, context))

    def _write(self, context: WriteContext, plan: Callable[[], Plan]) -> Outcome:
        """Append a plan, made again when another writer was first."""
        for attempt in range(_ATTEMPTS):
            if context.idempotency_key is not None:
                remembered = self.store.answer(context.actor, context.idempotency_key)
                if remembered and self._now() - remembered.at < ANSWERS_KEPT_MS:
                    return self._repeat(remembered, context)
            planned = plan()
            try:
                return self._append(planned, context)
            except (ConcurrentChange, AlreadyExists) as error:
                if isinstance(error, ConcurrentChange):
                    self._entities.forget(error.entity_ids)
                if attempt == _ATTEMPTS - 1:
                    raise
                time.sleep(_PAUSE_SECONDS * attempt)
        raise AssertionError("unreachable")

    def _append(self, planned: Plan, context: WriteContext) -> Outcome:
        recorded: list[RecordedEvent] = []
        changed: list[tuple[list[Event], Entity]] = []
        for step in planned.steps:
            events, after = record(step.entity_id, step.before, step.events)
            assert after is not None
            recorded += events
            changed.append((step.events, after))
        (entity,) = (after for _, after in changed if after.id == planned.entity_id)
        answer = None
        if context.idempotency_key is not None:
            answer = RememberedAnswer(
                actor=context.actor,
                key=context.idempotency_key,
                digest=context.digest,
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
            self._entities.remember(after)
        return Outcome(entity, planned.change, position)

    def _repeat(self, remembered: RememberedAnswer, context: WriteContext) -> Outcome:
        """The outcome of the first write under an idempotency key."""
        if remembered.digest != context.digest:
            raise KeyReused("this Idempotency-Key was used before for another request")
        entity = history.state(self.store, remembered.entity_id, upto=remembered.stream_version)
        assert entity is not None
        return Outcome(entity, Change(remembered.outcome), self.store.head())
