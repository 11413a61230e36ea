"""The impact of a change of any entity, as far as a caller may see the lineage."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from api.callers.permissions import Access, Action, Permission
from api.comparisons import HitEntity, Impact
from api.services import Services
from domain.aggregate.entity import Entity
from domain.contracts.changes.reach import reach_of
from domain.contracts.changes.rules import Change
from domain.edges import EDGE
from domain.errors import NotFound
from domain.events import Body
from domain.impact import Flow, Hit, Reach, Tier, impact_of, with_parts
from domain.kinds.bodies.components import Reference
from domain.kinds.bodies.lineage import ColumnLineage
from domain.kinds.registry import CONTRACT, KINDS
from projections.entities.lineage import BOUNDS, Bounds, Edge, Node, live_entity, walked
from projections.entities.list_port import Include
from projections.entities.port import EntityTooLarge, SortedReadModel
from projections.entities.single_entities import read_one
from projections.visibility.edges import EdgeSight

MOST_HITS = 100
"""Entities that an answer names, the surest hit first."""
MOST_COLUMNS = 50
"""Columns of each that it names."""
_MOST_STEPS = 100
_OWNERS_BYTES = 16_000_000
"""Bytes of entities that are read for their owners."""
_TIERS = tuple(Tier)
_mappings = msgspec.json.Decoder(list[ColumnLineage])


class _Owned(msgspec.Struct):
    owners: list[dict[str, Any]] = []


Reached = tuple[Iterable[str], Collection[Reach]]
"""Qualified names of the columns that change, and the parts that a change is about."""


def impact_on(
    services: Services,
    access: Access,
    entity: Reference,
    reached: Callable[[str], Reached],
    sight: EdgeSight,
    parts: Sequence[Node] = (),
    bounds: Bounds = BOUNDS,
) -> Impact | msgspec.UnsetType:
    """The impact of a change of a live entity; UNSET for who may not view the lineage. Blocks.

    UNSET too where lists have no such entity. `entity` has the type, and the id or the qualified
    name; `reached` gives what changes, for the qualified name of the entity. `parts` are entities
    that go with it: they are not hit, but what is made of them is. Entities behind others that the
    caller may not view are left out with those. A soft-deleted entity is not hit, but entities made
    of it may be.
    """
    seen = (EDGE, entity.type or "")
    if not all(access.may(Permission(Action.VIEW, kind)) for kind in seen):
        return msgspec.UNSET
    with services.stores.entities.use() as entities:
        try:
            changed = live_entity(entities, entity)
        except NotFound:
            # The lists do not have the entity yet.
            return msgspec.UNSET
        columns, reaches = reached(changed.fully_qualified_name)
        depths = 0, _MOST_STEPS
        walk = walked(entities, changed, sight, depths, parts=parts, bounds=bounds)
        flows = [flow_of(edge, sight.details(edge.fields)) for edge in walk.downstream]
        flows = with_parts(changed.id, {part.id for part in parts}, flows)
        hits = impact_of(changed.id, columns, reaches, flows)
        truncated = walk.truncated or any(hit.steps == _MOST_STEPS for hit in hits.values())
        nodes = {node.id: node for node in walk.nodes}
        hits = {each: hit for each, hit in hits.items() if not nodes[each].deleted}
        named = sorted(hits, key=lambda each: (_TIERS.index(hits[each].tier), hits[each].steps))
        shown = [nodes[each] for each in named[:MOST_HITS]]
        owners = owners_of(entities, access, shown)
    contracts = contracts_of(services, access, [node.id for node in shown])
    tiers: dict[Tier, list[HitEntity]] = {tier: [] for tier in Tier}
    for node in shown:
        hit = hits[node.id]
        tiers[hit.tier].append(_hit(node, hit, owners, contracts))
    return Impact(
        breaks=tiers[Tier.BREAKS],
        may_break=tiers[Tier.MAY_BREAK],
        look_again=tiers[Tier.LOOK_AGAIN],
        omitted=len(hits) - len(shown),
        truncated=truncated,
    )


def impact_on_readers(
    services: Services,
    access: Access,
    contract: Entity,
    changes: Sequence[Change],
    sight: EdgeSight,
) -> Impact | msgspec.UnsetType:
    """The impact of changes of a contract on what is made of its entity, as of `impact_on`."""
    about = contract.value("entity")
    entity = Reference(type=about["type"], id=about["id"])
    return impact_on(services, access, entity, partial(reach_of, changes, contract), sight)


def flow_of(edge: Edge, details: Body) -> Flow:
    """The flow of an edge: its ends and its visible mappings of columns."""
    raw = details.get("columnsLineage")
    given = _mappings.decode(raw) if raw is not None else []
    mappings = [(each.from_columns or (), each.to_column) for each in given if each.to_column]
    return Flow(edge.from_id, edge.to_id, mappings)


def owners_of(
    entities: SortedReadModel, access: Access, nodes: Sequence[Node]
) -> dict[str, list[dict[str, Any]]]:
    """Id -> owners, of those entities whose owners the caller may see."""
    owners: dict[str, list[dict[str, Any]]] = {}
    left = _OWNERS_BYTES
    for node in nodes:
        withheld = access.withheld(Action.VIEW, node.type)
        if withheld is not None and withheld.covers("owners"):
            continue
        try:
            entity = read_one(
                entities,
                KINDS[node.type],
                entity_id=node.id,
                fields=("owners",),
                include=Include.ALL,
                most_bytes=left,
            )
        except (NotFound, EntityTooLarge):
            continue
        left -= len(entity.body)
        body = withheld.cut(entity.body) if withheld else entity.body
        owners[node.id] = msgspec.json.decode(body, type=_Owned).owners
    return owners


def contracts_of(
    services: Services, access: Access, entity_ids: Sequence[str]
) -> dict[str, list[dict[str, str]]] | None:
    """Id of an entity -> its contract; None for who may not view contracts."""
    if not access.may(Permission(Action.VIEW, CONTRACT.name)):
        return None
    contracts: dict[str, list[dict[str, str]]] = {}
    for claim in services.stores.log.claims(parents=entity_ids):
        if claim.kind == CONTRACT.name and not claim.deleted and claim.parent_id is not None:
            named = {"id": claim.id, "name": claim.name, "fullyQualifiedName": claim.fqn}
            contracts.setdefault(claim.parent_id, []).append(named)
    return contracts


def _hit(
    node: Node,
    hit: Hit,
    owners: Mapping[str, list[dict[str, Any]]],
    contracts: Mapping[str, list[dict[str, str]]] | None,
) -> HitEntity:
    return HitEntity(
        type=node.type,
        id=node.id,
        name=node.name,
        fully_qualified_name=node.fully_qualified_name,
        steps=hit.steps,
        columns=[*hit.columns][:MOST_COLUMNS],
        column_count=len(hit.columns),
        owners=owners.get(node.id, msgspec.UNSET),
        contracts=msgspec.UNSET if contracts is None else contracts.get(node.id, []),
    )
