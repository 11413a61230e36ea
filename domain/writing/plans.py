"""Planned writes: which events, for which entities, on the state that the log has now."""

from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Any

import msgspec

from domain.aggregate import commands
from domain.aggregate.entity import Entity, decide, evolve
from domain.errors import StaleVersion
from domain.event_store.port import EntityReads, RecordedEvent
from domain.events import Event
from domain.write_context import WriteContext
from domain.writing.entity_cache import EntityCache


class Change(StrEnum):
    """What a write did to the entity that was asked about; the log remembers answers by these."""

    CREATED = "entityCreated"
    UPDATED = "entityUpdated"
    NO_CHANGE = "entityNoChange"
    SOFT_DELETED = "entitySoftDeleted"
    DELETED = "entityDeleted"
    RESTORED = "entityRestored"


class Step(msgspec.Struct, frozen=True):
    """What happens to one entity."""

    entity_id: str
    before: Entity | None
    """None for an entity that is to be created."""
    events: list[Event]


class Plan(msgspec.Struct, frozen=True):
    """The events of a write, and what they amount to for the entity that was asked about."""

    entity_id: str
    change: Change
    steps: list[Step]
    """One for every entity concerned."""


class PlannerBase:
    """What every planner plans from; threads may share it, and it holds nothing between two plans.

    A plan is right for the state that it was made from. Whether that still is the newest, the log
    decides when the plan is appended.
    """

    def __init__(
        self,
        store: EntityReads,
        entities: EntityCache,
        now: Callable[[], int],
        make_id: Callable[[], str],
    ) -> None:
        self._store = store
        self._entities = entities
        self._now = now
        self._make_id = make_id


def step(
    command_type: type[commands.Command],
    state: Entity,
    context: WriteContext,
    at: int,
    *,
    checked: bool = False,
    **fields: Any,
) -> Step:
    """What a command means for one entity; `checked` holds it to the conditions of the write."""
    if checked and context.must_not_exist:
        raise StaleVersion(f"{state.kind} {state.fqn!r} exists already")
    command = command_type(
        actor=context.actor,
        at=at,
        request_id=context.request_id,
        expected_version=context.expected_version if checked else None,
        expected_event=context.expected_event if checked else None,
        **fields,
    )
    return Step(state.id, state, decide(command, state))


def record(
    entity_id: str, before: Entity | None, events: Iterable[Event]
) -> tuple[list[RecordedEvent], Entity | None]:
    """Decided events with their places in the entity's stream, and the state after them."""
    recorded = []
    state = before
    for event in events:
        state = evolve(state, event, entity_id)
        recorded.append(RecordedEvent(entity_id, state.stream_version, event))
    return recorded, state
