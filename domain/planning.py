"""What a write means on the state that the log has now: which events, for which entities."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any

import msgspec

from domain import commands, json_patch, payloads
from domain.attachments import HeldColumns, check_sole, named_columns
from domain.curation import patched
from domain.entity import STATUS, Entity, decide, evolve
from domain.entity_cache import ByName, EntityCache
from domain.errors import AlreadyExists, Conflict, InvalidInput, NotEmpty, NotFound, StaleVersion
from domain.event_store.port import EntityReads, RecordedEvent
from domain.events import Body, Event
from domain.kinds import EntityKind
from domain.openmetadata import document
from domain.references import StoredClaims
from domain.registry import ATTACHED, KINDS
from domain.staged_log import StagedLog
from domain.write_context import WriteContext


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


class Planner:
    """Plans writes; threads may share it, and it holds nothing between two plans.

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

    def create(self, kind: EntityKind, values: Mapping[str, Any], context: WriteContext) -> Plan:
        """Create an entity; raises AlreadyExists when its name is taken, even by a deleted one."""
        brought, planner = self._bringing_parent(kind, values, context)
        if brought:
            return _after(brought, planner.create(kind, values, context))
        payload = payloads.read(
            kind, values, StoredClaims(self._store), self._entities.body, lambda _: None
        )
        taken = self._store.claim(kind.name, payload.fqn)
        if taken is not None:
            state = "a soft-deleted" if taken.deleted else "a"
            raise AlreadyExists(f"{state} {kind.name} named {payload.fqn!r} exists already")
        self._check_columns(kind, payload.body, None, payload.parent_id)
        check_sole(kind, payload.body, payload.parent_id, self._store.having_live)
        return self._creation(kind, payload, context)

    def put(self, kind: EntityKind, values: Mapping[str, Any], context: WriteContext) -> Plan:
        """Create the entity, or change the keys that are given; restores a soft-deleted one."""
        brought, planner = self._bringing_parent(kind, values, context)
        if brought:
            return _after(brought, planner.put(kind, values, context))

        def holder(fqn: str) -> Entity | None:
            return self._entities.holder(kind, fqn)

        payload = payloads.read(
            kind, values, StoredClaims(self._store), self._entities.body, holder
        )
        self._check_columns(kind, payload.body, payload.state, payload.parent_id)
        if payload.state is None or payload.state.deleted:
            check_sole(kind, payload.body, payload.parent_id, self._store.having_live)
        if payload.state is None:
            return self._creation(kind, payload, context)
        body, ingestion = payload.onto(payload.state), payload.ingestion(context)
        return self._change(payload.state, body, context, ingestion)

    def patch(
        self,
        kind: EntityKind,
        which: str | ByName,
        patch: Sequence[Mapping[str, Any]],
        context: WriteContext,
    ) -> Plan:
        """Apply an RFC 6902 patch to the entity's document; raises InvalidInput when it fails."""
        json_patch.check_size(patch)
        return self._patch(kind, self._live(kind, which), patch, context)

    def put_alone(
        self,
        kind: EntityKind,
        entity_id: str,
        key: str,
        value: Mapping[str, Any],
        context: WriteContext,
    ) -> Plan:
        """Replace one of the keys that `EntityKind.put_alone` names; raises what `patch` raises."""
        state = self._live(kind, entity_id)
        before = state.value(key) or {}
        kept = {
            inner: before[inner]
            for inner in kind.put_alone[key]
            if before.get(inner) and not value.get(inner)
        }
        operation = {"op": "add", "path": f"/{key}", "value": {**value, **kept}}
        return self._patch(kind, state, [operation], context)

    def _live(self, kind: EntityKind, which: str | ByName) -> Entity:
        """The entity, which must not be soft-deleted."""
        state = self._entities.existing(kind, which)
        if state.deleted:
            raise NotFound(f"{kind.name} instance for {state.id} not found: it is deleted")
        return state

    def _patch(
        self,
        kind: EntityKind,
        state: Entity,
        patch: Sequence[Mapping[str, Any]],
        context: WriteContext,
    ) -> Plan:
        values = document.patched(state, patch)
        changed = json_patch.changed_keys(patch, values.keys() | state.body.keys())
        payload = payloads.read(
            kind,
            values,
            StoredClaims(self._store),
            self._entities.body,
            lambda _: state,
            changed,
        )
        kept = {key: raw for key, raw in state.body.items() if key not in changed}
        body = {**kept, **payload.body}
        if STATUS in state.body and STATUS not in body:
            raise InvalidInput(f"{STATUS} cannot be removed")
        self._check_columns(kind, body, state, state.parent_id)
        if context.by_bot:
            body = patched(kind, state.body, body)
        return self._change(state, body, context)

    def delete(
        self,
        kind: EntityKind,
        which: str | ByName,
        context: WriteContext,
        *,
        hard: bool,
        recursive: bool,
        attached: bool = True,
    ) -> Plan:
        """Soft-delete the entity, or purge it when `hard`; with its children when `recursive`.

        A soft delete takes along what is attached to the entity, such as its contract, unless
        `attached` is false. Raises NotEmpty when there are other children and `recursive` is false.
        """
        state = self._entities.existing(kind, which)
        doomed = [claim for claim in self._entities.below(state.id) if hard or not claim.deleted]
        goes_along = frozenset() if hard or not attached else ATTACHED
        stays = any(claim.kind not in goes_along for claim in doomed)
        if stays and not recursive and (hard or not state.deleted):
            raise NotEmpty(
                # Not what: the caller may see this kind and none of those below.
                f"{kind.name} {state.fqn!r} is not empty:"
                " recursive=true deletes what is below it too"
            )
        command_type = commands.PurgeEntity if hard else commands.SoftDeleteEntity
        at = self._now()
        concerned = [*(claim.id for claim in reversed(doomed)), state.id]
        # What is gone for good takes its edges along, whoever may delete edges.
        edges = self._store.claims(ends=concerned) if hard else []
        ids = [*(edge.id for edge in edges), *concerned[:-1]]
        steps = [
            step(command_type, one, context, at)
            for one in self._entities.newest_of(ids)
            if not one.purged
        ]
        own = step(command_type, state, context, at, checked=True)
        change = Change.DELETED if hard else Change.SOFT_DELETED
        return Plan(state.id, change if own.events else Change.NO_CHANGE, [*steps, own])

    def restore(self, kind: EntityKind, entity_id: str, context: WriteContext) -> Plan:
        """Make a soft-deleted entity live again, with the children deleted by the same request."""
        state = self._entities.existing(kind, entity_id)
        if not state.deleted:
            raise NotFound(f"{kind.name} instance for {entity_id} is not deleted")
        check_sole(kind, state.body, state.parent_id, self._store.having_live)
        at = self._now()
        own = step(commands.RestoreEntity, state, context, at, checked=True)
        steps = [own, *self._restorations(state, context, at)]
        return Plan(entity_id, Change.RESTORED, steps)

    def _check_columns(
        self, kind: EntityKind, body: Body, before: Entity | None, parent_id: str | None
    ) -> None:
        """Raise InvalidInput when a body describes columns that its entity does not have."""
        named = named_columns(kind, body, before)
        if named and parent_id is not None:
            HeldColumns.of(self._entities.known(parent_id)).check(named)

    def _bringing_parent(
        self, kind: EntityKind, values: Mapping[str, Any], context: WriteContext
    ) -> tuple[list[Step], "Planner"]:
        """The steps that create the parent of an entity, where the entity brings one and there is
        none, and a planner that knows them."""
        parent = kind.brings_parent(values) if kind.brings_parent is not None else None
        if parent is None or self._store.claim(parent.kind, parent.fqn) is not None:
            return [], self
        plain = WriteContext(actor=context.actor, request_id=context.request_id)
        try:
            steps = self.create(KINDS[parent.kind], parent.values, plain).steps
        except NotFound:
            # Of what stands above the parent; the entity cannot be, and says so in its own words.
            return [], self
        staged = StagedLog(self._store)
        for one in steps:
            events, after = record(one.entity_id, one.before, one.events)
            assert after is not None
            staged.stage(events, after)
        return steps, Planner(staged, EntityCache(staged), self._now, self._make_id)

    def _creation(self, kind: EntityKind, payload: payloads.Payload, context: WriteContext) -> Plan:
        if context.expected_version is not None or context.must_exist:
            raise StaleVersion(f"{kind.name} {payload.fqn!r} does not exist, so has no version")
        entity_id = self._make_id()
        command = payload.creation(kind, context, self._now())
        return Plan(entity_id, Change.CREATED, [Step(entity_id, None, decide(command, None))])

    def _change(
        self,
        state: Entity,
        body: Body,
        context: WriteContext,
        ingestion: commands.Ingestion | None = None,
    ) -> Plan:
        at = self._now()
        fields = {"body": body, "ingestion": ingestion}
        own = step(commands.ChangeEntity, state, context, at, checked=True, **fields)
        together = self._restorations(state, context, at) if state.deleted else []
        change = Change.UPDATED if own.events else Change.NO_CHANGE
        return Plan(state.id, change, [own, *together])

    def _restorations(self, state: Entity, context: WriteContext, at: int) -> list[Step]:
        """What restores the children that were deleted together with a soft-deleted entity."""
        parent = self._store.claim_by_id(state.parent_id) if state.parent_id else None
        if state.parent_id is not None and (parent is None or parent.deleted):
            name = parent.fqn if parent else state.parent_id
            raise Conflict(f"{state.kind} {state.fqn!r} stands under {name!r}, which is deleted")
        below = self._entities.newest_of([claim.id for claim in self._entities.below(state.id)])
        # Callers choose request ids, so one may come twice; the time tells them apart.
        cause = state.deleted_by, state.updated_at
        return [
            step(commands.RestoreEntity, entity, context, at)
            for entity in below
            if (entity.deleted_by, entity.updated_at) == cause
        ]


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
        **fields,
    )
    return Step(state.id, state, decide(command, state))


def _after(steps: list[Step], plan: Plan) -> Plan:
    """A plan with steps before its own."""
    return Plan(plan.entity_id, plan.change, [*steps, *plan.steps])


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
