"""Decides writes of the lineage, whose edges join entities, on the present state of the log."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import msgspec

from domain.aggregate import commands
from domain.aggregate.entity import Entity
from domain.edges import DETAIL_KEYS, EDGE, SET_HERE, details_of, edge_ends, edge_name
from domain.errors import InvalidInput, NotFound, StaleVersion, shown
from domain.event_store.entity_reads import EntityReads
from domain.event_store.stored import Claim
from domain.events import Body, values_by_key
from domain.kinds.bodies.components import Reference
from domain.kinds.bodies.lineage import DBT, MANUAL, MAX_MAPPINGS, ColumnLineage, LineageEdge
from domain.kinds.registry import KINDS, LINEAGE_EDGE
from domain.openmetadata import document
from domain.patches import json_patch
from domain.patches.payload_bounds import check_entity_bytes
from domain.requests import drafts
from domain.requests.references import find, resolve_references
from domain.write_context import WriteContext
from domain.writing.edge_columns import fitting_mappings, identity, joined_mappings, placed_mappings
from domain.writing.plans import Change, Plan, PlannerBase, Step, creation, step
from domain.writing.staged_log import StagedLog

_COLUMNS, _DRAWN = "columnsLineage", "drawnColumns"
_creates_table = re.compile(r"\s*create\s+table\s", re.IGNORECASE).match
_mappings = msgspec.json.Decoder(list[ColumnLineage])


class Ends(msgspec.Struct, frozen=True):
    """The entities that an edge begins and ends at, each by its kind and its id or its name."""

    beginning: Reference
    end: Reference


class LineagePlanner(PlannerBase):
    """Plans writes of edges."""

    def put(
        self,
        ends: Ends,
        details: Mapping[str, Any],
        context: WriteContext,
        unseen: Collection[str] = (),
    ) -> Plan:
        """Draw the edge, or make its details read as given; what is not given is removed.

        `unseen` are keys that the caller may not see: they stay as they are.
        A bot's write keeps a description, and the column mappings that a person patched in; of an
        edge that a person drew, also its source and all of its mappings. Raises InvalidInput and
        EntityOverLimit, NotFound unless both ends and the pipeline are live, and StaleVersion.
        """
        claims = StagedLog(self._store)
        beginning, end = self._live_ends(claims, ends)
        state = self._entities.holder(LINEAGE_EDGE, edge_name(beginning.id, end.id))
        return self._put(claims, (beginning, end), details, state, context, unseen)

    def add_to(
        self,
        beginning: Claim,
        end: Claim,
        change: Callable[[Mapping[str, Any] | None], Mapping[str, Any] | None],
        context: WriteContext,
        unseen: Collection[str] = (),
    ) -> Plan | None:
        """Draw an edge, or give it the details that `change` makes of those that it has.

        `change` is given the details, None for an edge that is new, and gives back None to leave
        the edge alone. Otherwise this does, and raises, what `put` does.
        """
        claims = StagedLog(self._store)
        state = self._entities.holder(LINEAGE_EDGE, edge_name(beginning.id, end.id))
        before = None if state is None else details_of(document.fields(state))
        known = before and {key: msgspec.json.decode(raw) for key, raw in before.items()}
        details = change(known)
        if details is None:
            return None
        return self._put(claims, (beginning, end), details, state, context, unseen)

    def _put(
        self,
        claims: EntityReads,
        ends: tuple[Claim, Claim],
        details: Mapping[str, Any],
        state: Entity | None,
        context: WriteContext,
        unseen: Collection[str],
    ) -> Plan:
        beginning, end = ends
        at = self._now()
        edge = self._edge(claims, beginning, end, details, state)
        if state is None:
            if context.expected_version is not None or context.must_exist:
                raise StaleVersion(f"{_between(beginning, end)} does not exist, so has no version")
            return self._creation(beginning, end, edge, context, at)
        ingestion = None
        if context.by_bot:
            ingestion = commands.Ingestion()
            _keep_drawn(edge, state)
            _keep_model(edge, state)
        edge.drawn_columns = _drawn(edge, state, by_person=False)
        return self._change(edge, state, context, at, ingestion, unseen)

    def patch(
        self,
        ends: Ends,
        operations: Sequence[Mapping[str, Any]],
        context: WriteContext,
    ) -> Plan:
        """Apply an RFC 6902 patch to the edge's `lineageDetails`; raises what `put` raises.

        A bot's patch keeps the text of a dbt model, see `_keep_model`.
        """
        json_patch.check_size(operations)
        claims = StagedLog(self._store)
        beginning, end = self._live_ends(claims, ends)
        state = self._existing(beginning, end)
        present = details_of(document.fields(state))
        before = {key: msgspec.json.decode(raw) for key, raw in present.items()}
        kept = {key: before[key] for key in SET_HERE}
        details = json_patch.apply(before, operations)
        if not isinstance(details, dict):
            raise InvalidInput("a patch cannot replace the details by something else")
        for key, value in kept.items():
            if not json_patch.same(details.get(key), value):
                raise InvalidInput(f"{key} is set by the catalog and cannot be patched")
        edge = self._edge(claims, beginning, end, details, state)
        if context.by_bot:
            _keep_model(edge, state)
        edge.drawn_columns = _drawn(edge, state, by_person=not context.by_bot)
        return self._change(edge, state, context, self._now())

    def delete(self, ends: Ends, context: WriteContext) -> Plan:
        """Remove the edge, whose ends may be soft-deleted; raises NotFound and StaleVersion."""
        claims = StagedLog(self._store)
        beginning = _end(claims, ends.beginning, "fromEntity")
        state = self._existing(beginning, _end(claims, ends.end, "toEntity"))
        own = step(commands.PurgeEntity, state, context, self._now(), checked=True)
        return Plan(Change.DELETED, own)

    def edges_ending(self, which: Reference) -> tuple[str, list[str]]:
        """The id of an entity, and those of the edges that end there; raises NotFound."""
        target = _end(StagedLog(self._store), which, "the entity")
        ending = [
            claim.id
            for claim in self._store.claims(ends=[target.id])
            if edge_ends(claim.fqn)[1] == target.id
        ]
        return target.id, ending

    def delete_by_source(
        self,
        target_id: str,
        source: str,
        edge_ids: Sequence[str],
        context: WriteContext,
        kinds: Collection[str] = KINDS,
    ) -> list[Step]:
        """Remove the edges of a source that end at an entity or name it as their pipeline.

        Edges with an end of a kind that is not among `kinds` stay.
        """
        at = self._now()
        return [
            step(commands.PurgeEntity, edge, context, at)
            for edge in self._entities.newest_of(edge_ids)
            if not edge.purged
            and edge.value("source") == source
            and target_id in (edge_ends(edge.fqn)[1], (edge.value("pipeline") or {}).get("id"))
            and all(edge.value(key)["type"] in kinds for key in ("fromEntity", "toEntity"))
        ]

    def _live_ends(self, claims: EntityReads, ends: Ends) -> tuple[Claim, Claim]:
        beginning, end = ends.beginning, ends.end
        return (
            find(claims, beginning, _kinds(beginning), "fromEntity"),
            find(claims, end, _kinds(end), "toEntity"),
        )

    def _existing(self, beginning: Claim, end: Claim) -> Entity:
        state = self._entities.holder(LINEAGE_EDGE, edge_name(beginning.id, end.id))
        if state is None:
            raise NotFound(f"{_between(beginning, end)} not found")
        return state

    def _edge(
        self,
        claims: EntityReads,
        beginning: Claim,
        end: Claim,
        details: Mapping[str, Any],
        state: Entity | None,
    ) -> LineageEdge:
        """The edge with these details, checked, its mappings held to the columns of its ends."""
        for key in details:
            if key not in DETAIL_KEYS:
                raise InvalidInput(
                    f"lineageDetails has no key {shown(key)}; it has {', '.join(DETAIL_KEYS)}"
                )
        given = {key: value for key, value in details.items() if value is not None}
        values = {
            "source": MANUAL,
            # Both are set once it is decided whether the edge is new: `_creation`, `_change`.
            "createdAt": 0,
            "createdBy": "",
            **given,
            "name": end.id,
            "fromEntity": {"id": beginning.id, "type": beginning.kind},
            "toEntity": {"id": end.id, "type": end.kind},
        }
        draft = drafts.draft(LINEAGE_EDGE, values)
        edge = draft.struct
        assert isinstance(edge, LineageEdge)
        known = _pipelines(state)
        resolved = resolve_references(claims, LINEAGE_EDGE, draft, (), known)
        for key, reference in resolved.items():
            setattr(edge, LINEAGE_EDGE.attribute_of[key], reference)
        if edge.columns_lineage:
            entities = self._entities.newest_of([beginning.id, end.id])
            edge.columns_lineage = fitting_mappings(edge.columns_lineage, entities[0], entities[-1])
        edge.complete(edge_name(beginning.id, end.id))
        return edge

    def _creation(
        self, beginning: Claim, end: Claim, edge: LineageEdge, context: WriteContext, at: int
    ) -> Plan:
        edge.created_at, edge.created_by = at, context.actor
        fqn = edge_name(beginning.id, end.id)
        fields = {"name": end.id, "body": _recorded(edge)}
        return Plan(Change.CREATED, creation(self._make_id(), EDGE, fqn, context, at, **fields))

    def _change(
        self,
        edge: LineageEdge,
        state: Entity,
        context: WriteContext,
        at: int,
        ingestion: commands.Ingestion | None = None,
        unseen: Collection[str] = (),
    ) -> Plan:
        edge.created_at, edge.created_by = state.value("createdAt"), state.value("createdBy")
        if _COLUMNS in unseen:
            unseen = {*unseen, _DRAWN}
        seen = {key: raw for key, raw in _recorded(edge).items() if key not in unseen}
        kept = {key: raw for key, raw in state.body.items() if key in unseen}
        fields = {"body": {**seen, **kept}, "ingestion": ingestion}
        own = step(commands.ChangeEntity, state, context, at, checked=True, **fields)
        return Plan(Change.UPDATED if own.events else Change.NO_CHANGE, own)


def _kinds(ref: Reference) -> tuple[str, ...]:
    return () if ref.type is None else (ref.type,)


def _end(claims: EntityReads, ref: Reference, where: str) -> Claim:
    """The entity, live or soft-deleted, of a reference with a type; raises NotFound."""
    if ref.id is not None:
        claim = claims.claim_by_id(ref.id)
    else:
        claim = claims.claim(ref.type or "", ref.fully_qualified_name or "")
    if claim is None or claim.kind != ref.type:
        sought = shown(ref.id or ref.fully_qualified_name)
        raise NotFound(f"{where}: {ref.type} instance for {sought} not found")
    return claim


def _between(beginning: Claim, end: Claim) -> str:
    return f"lineage edge from {beginning.kind} {beginning.id} to {end.kind} {end.id}"


def _pipelines(state: Entity | None) -> dict[str, Reference]:
    """The reference to the edge's pipeline by its id; unchanged where the pipeline is gone."""
    raw = state.body.get("pipeline") if state is not None else None
    if raw is None:
        return {}
    reference = msgspec.json.decode(raw, type=Reference)
    return {reference.id or "": reference}


def _keep_drawn(edge: LineageEdge, state: Entity) -> None:
    """Let a bot's write keep the mappings that a person patched in, and all that a person drew."""
    drawn = _drawn_before(state)
    if state.value("source") == MANUAL:
        edge.source = MANUAL
    if not drawn:
        return
    joined = joined_mappings(drawn, edge.columns_lineage or ())
    edge.columns_lineage = placed_mappings(_mappings_of(state, _COLUMNS), joined)
    if len(edge.columns_lineage) > MAX_MAPPINGS:
        raise InvalidInput(
            f"columnsLineage: with the {len(drawn)} mappings that a person drew, which a bot's"
            f" write keeps, there are more than {MAX_MAPPINGS:,}"
        )


def _keep_model(edge: LineageEdge, state: Entity) -> None:
    """Let the query of an edge of dbt stay the text of the model, as dbt has it.

    OpenMetadata's dbt workflow sends of an edge first the model, then the statement that it parses
    for the columns: `create table ... as`, the model, and `?` for what is literal.
    """
    before, given = state.value("sqlQuery"), edge.sql_query
    if edge.source == DBT and before and given and not _creates_table(before):
        edge.sql_query = before if _creates_table(given) else given


def _drawn(edge: LineageEdge, state: Entity, *, by_person: bool) -> list[ColumnLineage] | None:
    """The mappings of an edge that a person patched in, by this write or before it.

    None of an edge of the source `Manual`, all of whose mappings count as drawn.
    """
    if edge.source == MANUAL:
        return None
    before = {*map(identity, _mappings_of(state, _COLUMNS))}
    drawn = {*map(identity, _drawn_before(state))}
    return [
        mapping
        for mapping in edge.columns_lineage or ()
        if (said := identity(mapping)) in drawn or (by_person and said not in before)
    ]


def _drawn_before(state: Entity) -> list[ColumnLineage]:
    """The mappings of an edge that a bot's write keeps."""
    return _mappings_of(state, _COLUMNS if state.value("source") == MANUAL else _DRAWN)


def _mappings_of(state: Entity, key: str) -> list[ColumnLineage]:
    return _mappings.decode(state.body[key]) if key in state.body else []


def _recorded(edge: LineageEdge) -> Body:
    """The keys of an edge that hold something; raises EntityOverLimit."""
    values = values_by_key(msgspec.json.encode(edge))
    body = {key: raw for key, raw in values.items() if key != "name" and bytes(raw) != b"[]"}
    check_entity_bytes(sum(map(len, body.values())))
    return body
