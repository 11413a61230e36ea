"""Plans of changes to entities that exist: patches, and paths of their own that change one key."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from msgspec.structs import replace

from domain.aggregate import commands
from domain.aggregate.curation import patched_by_bot
from domain.aggregate.entity import STATUS, Entity, check_version
from domain.errors import InvalidInput, NotFound
from domain.event_store.entity_reads import EntityReads
from domain.event_store.stored import Claim
from domain.events import Body
from domain.kinds.bodies.components import Ref
from domain.kinds.entity_kind import EntityKind
from domain.kinds.registry import TYPE
from domain.openmetadata import document
from domain.patches import json_patch
from domain.requests import drafts, payloads
from domain.requests.body_rules import (
    EXTENSION,
    check_body,
    check_circles,
    check_described,
    check_extension,
    check_rules,
)
from domain.requests.drafts import Draft
from domain.requests.exclusive_tags import EXCLUSIVE, Above, ExclusiveTags
from domain.requests.references import Name, add_looked_up, find, recorded_parent
from domain.write_context import WriteContext
from domain.writing.edits import Edit, patch_of
from domain.writing.entity_cache import ByName
from domain.writing.plans import Change, Plan, Step, check_joined, step
from domain.writing.renaming import RenamingPlanner
from domain.writing.staged_log import StagedLog


class ChangePlanner(RenamingPlanner):
    """Plans what changes entities, and what deletes them."""

    def patch(
        self,
        kind: EntityKind,
        which: str | ByName,
        patch: Sequence[Mapping[str, Any]],
        context: WriteContext,
    ) -> Plan:
        """Apply an RFC 6902 patch to the entity's document; raises InvalidInput when it fails."""
        json_patch.check_size(patch)
        return self._patch(kind, self.live(kind, which), patch, context)

    def edit(
        self,
        kind: EntityKind,
        which: str | ByName,
        edits: Sequence[Edit],
        context: WriteContext,
    ) -> Plan:
        """Make edits of the entity, which name things and say what texts and lists hold now.

        Raises what `patch` and `patch_of` raise.
        """
        state = self.live(kind, which)
        check_version(state, context.expected_version)
        return self._patch(kind, state, patch_of(self._store, state, edits), context)

    def put_alone(
        self,
        kind: EntityKind,
        entity_id: str,
        key: str,
        value: Mapping[str, Any],
        context: WriteContext,
    ) -> Plan:
        """Replace one of the keys that `OwnPaths.put` names; raises what `patch` raises."""
        state = self.live(kind, entity_id)
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
        """Add elements that it does not have yet to a list that `OwnPaths.added_to` names.

        The elements are references, or texts where the list is one of texts. Raises what `patch`
        raises.
        """
        state = self.live(kind, entity_id)
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
        """Add to a list of each of these entities, or of none.

        Raises what `put_into` and `check_joined` raise.
        """
        steps: list[Step] = []
        size = 0
        for entity_id in dict.fromkeys(entity_ids):
            steps += self.put_into(kind, entity_id, key, elements, context).steps
            size += steps[-1].size
            check_joined(size)
        return steps

    def take_from(
        self,
        kind: EntityKind,
        entity_id: str,
        key: str,
        element_id: str,
        context: WriteContext,
        *,
        insist: bool = True,
    ) -> Plan:
        """Take the reference to an entity out of a list.

        Raises NotFound where it is not there, unless the caller does not `insist` that it is.
        """
        state = self.live(kind, entity_id)
        before = state.value(key) or []
        left = [each for each in before if each["id"] != element_id]
        if insist and len(left) == len(before):
            raise NotFound(f"{key} of {kind.name} {entity_id} has no {element_id}")
        return self._patch(kind, state, _setting(key, left), context)

    def claims(self, kind: EntityKind, draft: Draft, parent: Claim | None = None) -> EntityReads:
        """Look up together what a draft refers to, but a `parent` whose claim is known already."""
        staged = StagedLog(self._store, parent)
        names, ids = set[Name](), set[str]()
        add_looked_up(kind, draft, names, ids)
        staged.claims(names=names, ids=ids)
        return staged

    def newest(self, entity_id: str) -> Entity | None:
        """The newest state of the entity with an id, deleted or not; None where there is none."""
        return self._entities.newest(entity_id)

    def live(self, kind: EntityKind, which: str | ByName) -> Entity:
        """The newest state of an entity; raises NotFound also for one that is soft-deleted."""
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
        claims = self.claims(kind, draft, recorded_parent(kind, state))
        payload = payloads.resolve(kind, draft, claims, self._entities.body, lambda _: state)
        replaced = changed - kind.apart
        kept = {key: raw for key, raw in state.body.items() if key not in replaced}
        body = {**kept, **payload.body}
        if STATUS in state.body and STATUS not in body:
            raise InvalidInput(f"{STATUS} cannot be removed")
        self.check(kind, body, state, state.parent_id, context)
        if context.by_bot:
            body = patched_by_bot(kind, state.body, body)
        exclusive = self.exclusive_tags(kind, state, context, claims, joined=False)
        body = exclusive.settle(body)
        if payload.fqn == state.fqn:
            plan = self.change(state, body, context)
        else:
            named = commands.NewName(payload.name, payload.fqn)
            plan = self.rename(state, body, named, context)
        return replace(plan, dropped=exclusive.dropped)

    def exclusive_tags(
        self,
        kind: EntityKind,
        state: Entity | None,
        context: WriteContext,
        claims: EntityReads,
        *,
        joined: bool,
    ) -> ExclusiveTags:
        """The rule that holds labels of a write apart; `joined` is as `ExclusiveTags` has it."""

        def is_exclusive(above: Above) -> bool:
            claim = claims.claim(above.kind, above.fqn)
            return claim is not None and self._entities.known(claim.id).value(EXCLUSIVE) is True

        before = {} if state is None else state.body
        return ExclusiveTags(kind, before, is_exclusive, by_bot=context.by_bot, joined=joined)

    def check(
        self,
        kind: EntityKind,
        body: Body,
        state: Entity | None,
        parent_id: str | None,
        context: WriteContext,
        *,
        ingesting: bool = False,
    ) -> None:
        """Hold the body that a write would leave to the rules between entities.

        `ingesting` is for a PUT, in which what a bot says of `extension` gives way. Raises
        InvalidInput and NotPermitted.
        """
        if not context.contract_first:
            check_described(
                kind, body, state, parent_id, self._entities.known, context.sees_columns
            )
        check_rules(kind, body, state, parent_id, self._entities.known, context.sees_whole)
        check_circles(kind, body, state, self._entities.newest)
        check_body(self._store.claim_by_id, kind, body, state, context)
        gives_way = ingesting and context.by_bot and not context.override_metadata
        if state is None or not (gives_way and EXTENSION in state.body):
            check_extension(kind, body, state, partial(self._entities.holder, TYPE))

    def change(
        self,
        state: Entity,
        body: Body,
        context: WriteContext,
        ingestion: commands.Ingestion | None = None,
    ) -> Plan:
        """Give an entity a body, and restore it where it is deleted; raises what `decide` does."""
        at = self._now()
        fields = {"body": body, "ingestion": ingestion}
        own = self.admitted(step(commands.ChangeEntity, state, context, at, checked=True, **fields))
        together = self.restorations(state, context, at) if state.deleted else []
        return Plan(Change.UPDATED if own.events else Change.NO_CHANGE, own, after=together)


def _setting(key: str, value: Any) -> list[json_patch.Operation]:
    """The JSON Patch that gives a key a value."""
    return [{"op": "add", "path": f"/{key}", "value": value}]
