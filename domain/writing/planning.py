"""Plans of writes on the state that the log has now: which events, for which entities."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from domain.aggregate import commands
from domain.aggregate.curation import SOURCE_HASH
from domain.aggregate.entity import Entity
from domain.errors import AlreadyExists, InvalidInput, NotFound, NotPermitted, StaleVersion
from domain.event_store.entity_reads import EntityReads
from domain.kinds.bodies.components import Reference
from domain.kinds.bodies.custom_properties import PROPERTIES
from domain.kinds.bodies.property_types import type_id
from domain.kinds.entity_kind import EntityKind
from domain.kinds.registry import KINDS, TYPE
from domain.requests import drafts, payloads
from domain.requests.body_rules import check_sole
from domain.requests.drafts import Draft
from domain.requests.references import find, name_is_taken
from domain.write_context import WriteContext
from domain.writing.changing import ChangePlanner
from domain.writing.entity_cache import EntityCache
from domain.writing.plans import Change, Plan, Step, check_joined, creation
from domain.writing.staged_log import StagedLog


class Planner(ChangePlanner):
    """Plans the writes of entities: what creates and changes them, and deletes."""

    def create(self, kind: EntityKind, values: Mapping[str, Any], context: WriteContext) -> Plan:
        """Create an entity; raises AlreadyExists when its name is taken, even by a deleted one."""
        draft = drafts.draft(kind, values)
        return self.put_draft(kind, draft, context, self.claims(kind, draft), creating=True)

    def put(self, kind: EntityKind, values: Mapping[str, Any], context: WriteContext) -> Plan:
        """Create the entity, or change the keys that are given; restores a soft-deleted one."""
        draft = drafts.draft(kind, values)
        return self.put_draft(kind, draft, context, self.claims(kind, draft))

    def define(self, type_name: str, definition: Mapping[str, Any], context: WriteContext) -> Plan:
        """Add a custom property to those of a kind, or replace the one that has the same name."""
        state = self._entities.holder(TYPE, type_name)
        before = (state.value(PROPERTIES) if state is not None else None) or []
        left = [each for each in before if each["name"] != definition.get("name")]
        draft = drafts.draft(TYPE, {"name": type_name, PROPERTIES: [*left, definition]})
        return self.put_draft(TYPE, replace(draft, id=type_id(type_name)), context, self._store)

    def put_draft(
        self,
        kind: EntityKind,
        draft: Draft,
        context: WriteContext,
        claims: EntityReads,
        *,
        creating: bool = False,
    ) -> Plan:
        """Do as `put` does, or `create`, with a request body that has been read.

        `claims` has what the draft refers to, as the planner's log has it. Raises AlreadyExists,
        too, when a new entity is to have an id that is or was another's.
        """
        brought, planner = self._bringing_parent(draft, context, claims)
        if brought:
            plan = planner.put_draft(kind, draft, context, planner._store, creating=creating)
            return replace(plan, before=brought)

        def holder(fqn: str) -> Entity | None:
            claim = claims.claim(kind.name, fqn)
            return self._entities.newest(claim.id) if claim and not creating else None

        payload = payloads.resolve(kind, draft, claims, self._entities.body, holder)
        if creating and (taken := claims.claim(kind.name, payload.fqn)) is not None:
            raise AlreadyExists(name_is_taken(taken, payload.fqn))
        state = payload.state
        if state is None or state.deleted:
            check_sole(kind, payload.body, payload.parent_id, self._store.having_live)
        body = payload.body if state is None else payload.onto(state)
        self.check(kind, body, state, payload.parent_id, context, ingesting=True)
        joined = context.by_bot and not context.override_metadata
        exclusive = self.exclusive_tags(kind, state, context, claims, joined=joined)
        body = exclusive.settle(body)
        if state is None:
            plan = self._creation(kind, replace(payload, body=body), context, draft.id)
        else:
            ingestion = None
            if context.by_bot:
                ingestion = commands.Ingestion(
                    source_hash=payload.body.get(SOURCE_HASH), override=context.override_metadata
                )
            plan = self.change(state, body, context, ingestion)
        plan = replace(plan, dropped=exclusive.dropped)
        return self._with_members(kind, draft, plan, context)

    def _bringing_parent(
        self, draft: Draft, context: WriteContext, claims: EntityReads
    ) -> tuple[list[Step], "Planner"]:
        """The steps that create the parent that an entity brings, and a planner that knows them.

        No steps where there is nothing to bring, or the parent exists. Raises NotPermitted.
        """
        parent = draft.brings
        if parent is None or claims.claim(parent.kind, parent.fqn) is not None:
            return [], self
        plain = context.plainly
        try:
            steps = self.create(KINDS[parent.kind], parent.values, plain).steps
        except NotFound:
            # What stands above the parent is missing: the refusal of the entity itself says so.
            return [], self
        if not context.may_bring:
            raise NotPermitted(
                f"{parent.kind} {parent.fqn!r} does not exist, and you have no permission to"
                f" create {parent.kind}"
            )
        return steps, self._knowing(steps)

    def without_gate(self) -> "Planner":
        """A planner on the same log without the gate of contracts: its plans are never stored."""
        return Planner(self._store, self._entities, self._now, self._make_id)

    def _knowing(self, steps: Sequence[Step]) -> "Planner":
        """A planner on the log as it will be once it has the events of these steps."""
        staged = StagedLog(self._store)
        for one in steps:
            if one.events:
                staged.stage(one.events, one.after)
        known = EntityCache(staged, self._entities)
        return Planner(staged, known, self._now, self._make_id, self._gate)

    def _with_members(
        self, kind: EntityKind, draft: Draft, plan: Plan, context: WriteContext
    ) -> Plan:
        """The plan, and the steps that have the draft's members refer to its entity.

        Nobody is removed: what refers to the entity already goes on to do so. Raises NotFound, and
        NotPermitted where the caller may not edit the members.
        """
        if not draft.members:
            return plan
        entity, planner = plan.own.after, self._knowing(plan.steps)
        plain = context.plainly
        joined: list[Step] = []
        size = 0
        for field, refs in draft.members.items():
            other = KINDS[kind.members[field].kind]
            key = other.filters[kind.members[field].parameter]
            if context.editable is not None and other.name not in context.editable:
                raise NotPermitted(f"{field} needs the permission to edit {other.name}")
            ids = (find(planner._store, ref, (other.name,), field).id for ref in refs)
            for member_id in dict.fromkeys(ids):
                if member_id == entity.id:
                    raise InvalidInput(f"{field} may not have the {kind.name} itself")
                own = [Reference(type=kind.name, id=entity.id)]
                joined.append(planner.put_into(other, member_id, key, own, plain).own)
                size += joined[-1].size
                check_joined(size)
        return replace(plan, after=[*plan.after, *joined], joined_bytes=size)

    def _creation(
        self,
        kind: EntityKind,
        payload: payloads.Payload,
        context: WriteContext,
        wanted_id: str | None = None,
    ) -> Plan:
        if context.expected_version is not None or context.must_exist:
            raise StaleVersion(f"{kind.name} {payload.fqn!r} does not exist, so has no version")
        if wanted_id is not None and self._is_used(wanted_id):
            raise AlreadyExists(f"id {wanted_id} is the id of another entity")
        entity_id = wanted_id or self._make_id()
        fields = {"name": payload.name, "parent_id": payload.parent_id, "body": payload.body}
        own = creation(entity_id, kind.name, payload.fqn, context, self._now(), **fields)
        return Plan(Change.CREATED, self.admitted(own))

    def _is_used(self, entity_id: str) -> bool:
        """Tell an id that some entity has, or had until it was purged, from a free one."""
        claim = self._store.claim_by_id(entity_id)
        return claim is not None or any(self._store.stream(entity_id, upto=1))
