"""Plans of writes on the state that the log has now: which events, for which entities."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from domain.aggregate import commands
from domain.aggregate.curation import SOURCE_HASH, patched
from domain.aggregate.entity import STATUS, Entity
from domain.errors import AlreadyExists, InvalidInput, NotFound, NotPermitted, StaleVersion
from domain.event_store.entity_reads import EntityReads
from domain.event_store.stored import Claim
from domain.events import Body
from domain.kinds.bodies.components import Ref, Reference
from domain.kinds.entity_kind import EntityKind
from domain.kinds.registry import KINDS
from domain.openmetadata import document
from domain.patches import json_patch
from domain.requests import drafts, payloads
from domain.requests.body_rules import check_body, check_described, check_sole
from domain.requests.drafts import Draft
from domain.requests.references import Name, add_looked_up, find, recorded_parent
from domain.write_context import WriteContext
from domain.writing.deletion import DeletionPlanner
from domain.writing.entity_cache import ByName, EntityCache
from domain.writing.plans import Change, Plan, Step, creation, step
from domain.writing.staged_log import StagedLog


class Planner(DeletionPlanner):
    """Plans the writes of entities: what creates and changes them, and deletes."""

    def create(self, kind: EntityKind, values: Mapping[str, Any], context: WriteContext) -> Plan:
        """Create an entity; raises AlreadyExists when its name is taken, even by a deleted one."""
        draft = drafts.draft(kind, values)
        return self.put_draft(kind, draft, context, self._claims(kind, draft), creating=True)

    def put(self, kind: EntityKind, values: Mapping[str, Any], context: WriteContext) -> Plan:
        """Create the entity, or change the keys that are given; restores a soft-deleted one."""
        draft = drafts.draft(kind, values)
        return self.put_draft(kind, draft, context, self._claims(kind, draft))

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
            holder_is = "a soft-deleted" if taken.deleted else "a"
            raise AlreadyExists(f"{holder_is} {kind.name} named {payload.fqn!r} exists already")
        check_described(kind, payload.body, payload.state, payload.parent_id, self._entities.known)
        if payload.state is None or payload.state.deleted:
            check_sole(kind, payload.body, payload.parent_id, self._store.having_live)
        state = payload.state
        body = payload.body if state is None else payload.onto(state)
        check_body(self._store.claim_by_id, kind, body, state, context)
        if state is None:
            plan = self._creation(kind, payload, context, draft.id)
            return self._with_members(kind, draft, plan, context)
        ingestion = None
        if context.by_bot:
            ingestion = commands.Ingestion(
                source_hash=payload.body.get(SOURCE_HASH), override=context.override_metadata
            )
        plan = self._change(state, body, context, ingestion)
        return self._with_members(kind, draft, plan, context)

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
        """Replace one of the keys that `OwnPaths.put` names; raises what `patch` raises."""
        state = self._live(kind, entity_id)
        before = state.value(key) or {}
        kept = {
            inner: before[inner]
            for inner in kind.own_paths.put[key]
            if before.get(inner) and not value.get(inner)
        }
        return self._patch(kind, state, _setting(key, {**value, **kept}), context)

    def put_into(
        self,
        kind: EntityKind,
        entity_id: str,
        key: str,
        elements: Sequence[Ref],
        context: WriteContext,
    ) -> Plan:
        """Add to a list that `OwnPaths.added_to` names what it does not have yet.

        The elements are references, or texts where the list is one of texts. Raises what `patch`
        raises.
        """
        state = self._live(kind, entity_id)
        before = state.value(key) or []
        added: list[Any]
        if key not in kind.refers_to:
            held = frozenset(before)
            added = [each for each in dict.fromkeys(elements) if each not in held]
        else:
            claims, held = StagedLog(self._store), frozenset(each["id"] for each in before)
            ids = (find(claims, each, kind.refers_to[key], key).id for each in elements)
            added = [{"id": each} for each in dict.fromkeys(ids) if each not in held]
        return self._patch(kind, state, _setting(key, [*before, *added]), context)

    def put_into_each(
        self,
        kind: EntityKind,
        entity_ids: Sequence[str],
        key: str,
        elements: Sequence[Ref],
        context: WriteContext,
    ) -> list[Step]:
        """Add to a list of each of these entities, or of none; raises what `put_into` raises."""
        return [
            one
            for entity_id in dict.fromkeys(entity_ids)
            for one in self.put_into(kind, entity_id, key, elements, context).steps
        ]

    def take_from(
        self, kind: EntityKind, entity_id: str, key: str, element_id: str, context: WriteContext
    ) -> Plan:
        """Take the reference to an entity out of a list; raises NotFound where it is not there."""
        state = self._live(kind, entity_id)
        before = state.value(key) or []
        left = [each for each in before if each["id"] != element_id]
        if len(left) == len(before):
            raise NotFound(f"{key} of {kind.name} {entity_id} has no {element_id}")
        return self._patch(kind, state, _setting(key, left), context)

    def _claims(self, kind: EntityKind, draft: Draft, parent: Claim | None = None) -> EntityReads:
        """Look up together what a draft refers to, but a `parent` whose claim is known already."""
        staged = StagedLog(self._store, parent)
        names, ids = set[Name](), set[str]()
        add_looked_up(kind, draft, names, ids)
        staged.claims(names=names, ids=ids)
        return staged

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
        draft = drafts.draft(kind, values, changed)
        for field in draft.members:
            other = kind.members[field].kind
            raise InvalidInput(f"{field} follows from what is said of each {other}: patch that")
        claims = self._claims(kind, draft, recorded_parent(kind, state))
        payload = payloads.resolve(kind, draft, claims, self._entities.body, lambda _: state)
        kept = {key: raw for key, raw in state.body.items() if key not in changed}
        body = {**kept, **payload.body}
        if STATUS in state.body and STATUS not in body:
            raise InvalidInput(f"{STATUS} cannot be removed")
        check_described(kind, body, state, state.parent_id, self._entities.known)
        check_body(self._store.claim_by_id, kind, body, state, context)
        if context.by_bot:
            body = patched(kind, state.body, body)
        return self._change(state, body, context)

    def _bringing_parent(
        self, draft: Draft, context: WriteContext, claims: EntityReads
    ) -> tuple[list[Step], "Planner"]:
        """The steps that create the parent of an entity, where the entity brings one and there is
        none, and a planner that knows them."""
        parent = draft.brings
        if parent is None or claims.claim(parent.kind, parent.fqn) is not None:
            return [], self
        plain = WriteContext(actor=context.actor, request_id=context.request_id)
        try:
            steps = self.create(KINDS[parent.kind], parent.values, plain).steps
        except NotFound:
            # Of what stands above the parent; the entity cannot be, and says so in its own words.
            return [], self
        if not context.may_bring:
            raise NotPermitted(
                f"{parent.kind} {parent.fqn!r} does not exist, and you have no permission to"
                f" create {parent.kind}"
            )
        return steps, self._knowing(steps)

    def _knowing(self, steps: Sequence[Step]) -> "Planner":
        """A planner on the log as it will be once it has the events of these steps."""
        staged = StagedLog(self._store)
        for one in steps:
            if one.events:
                staged.stage(one.events, one.after)
        return Planner(staged, EntityCache(staged), self._now, self._make_id)

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
        plain = WriteContext(actor=context.actor, request_id=context.request_id)
        joined: list[Step] = []
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
        return replace(plan, after=[*plan.after, *joined])

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
        return Plan(Change.CREATED, own)

    def _is_used(self, entity_id: str) -> bool:
        """Tell an id that some entity has, or had until it was purged, from a free one."""
        claim = self._store.claim_by_id(entity_id)
        return claim is not None or any(self._store.stream(entity_id, upto=1))

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
        together = self.restorations(state, context, at) if state.deleted else []
        return Plan(Change.UPDATED if own.events else Change.NO_CHANGE, own, after=together)


def _setting(key: str, value: Any) -> list[json_patch.Operation]:
    """The JSON Patch that gives a key a value."""
    return [{"op": "add", "path": f"/{key}", "value": value}]
