"""Reads of the lineage: walks from an entity, and single edges."""

from functools import partial
from typing import Any

import msgspec
from litestar.handlers import HTTPRouteHandler
from litestar.response.base import ASGIResponse
from msgspec.structs import replace

from api.callers.permissions import Action, Permission
from api.declaring.declared_query import Parameters, query
from api.declaring.operation import ENTITY_HEADERS, Operation
from api.declaring.signatures import AnyRequest, name_in_path
from api.routes.lineage import paths as paths
from api.routes.lineage.paths import BASE
from api.services import Services
from api.use_cases.edge_sight import sight_of
from api.use_cases.entity_reads import etag
from api.use_cases.measured import reading
from api.use_cases.past import HEADER, PAST, node_of_then, past_of, position_asked
from domain.edges import EDGE, edge_name
from domain.kinds.bodies.components import Reference
from domain.kinds.ids import parse_id
from domain.openlineage.edge_changes import last_seen
from domain.openlineage.keeping import Keeping
from projections.entities.lineage import (
    find_entity,
    lineage_json,
    read_edge,
    read_lineage,
    walked,
)
from projections.entities.port import SortedReadModel

Edge = tuple[bytes, dict[str, Any]]
"""The JSON of an edge, and the headers of the answer."""
MAX_DEPTH = 3
"""The most steps of a walk in each direction, as in OpenMetadata."""


def lineage_read_routes(services: Services) -> list[HTTPRouteHandler]:
    """The GET routes below `/v1/lineage`."""

    def root_of(
        request: AnyRequest, entity_type: str, entity_id: str = "", fqn: str | None = None
    ) -> Reference:
        if fqn is None:
            return paths.by_id(request.auth, entity_type, entity_id)
        return paths.by_name(request.auth, entity_type, name_in_path(request.scope))

    def walk(request: AnyRequest, upstream: int, downstream: int, **where: Any) -> bytes:
        root, sight = root_of(request, **where), sight_of(request.auth, Action.VIEW)
        with services.stores.entities.use() as entities:
            lineage = read_lineage(entities, root, sight, upstream=upstream, downstream=downstream)
        return lineage_json(lineage, sight)

    def walk_of_then(
        request: AnyRequest, position: int, upstream: int, downstream: int, **where: Any
    ) -> bytes:
        root, sight = root_of(request, **where), sight_of(request.auth, Action.VIEW)
        entity, past = node_of_then(services, root, position), past_of(services, position)
        with services.stores.entities.use() as entities:
            lineage = walked(entities, entity, sight, (upstream, downstream), past=past)
        return lineage_json(lineage, sight)

    keeping, of_now = Keeping(services.measurements), reading(services, walk)

    async def walk_at(
        request: AnyRequest, at: str | None, as_of: str | None, **given: Any
    ) -> ASGIResponse:
        if at is None and as_of is None:
            return await of_now(request, **given)
        position = await position_asked(services, request, at, as_of)
        work = partial(walk_of_then, request, position, **given)
        headers = {HEADER: str(position)}
        return services.large(request, await services.heavy_read(request, work), headers=headers)

    def edge_by_id(request: AnyRequest, from_id: str, to_id: str) -> Edge:
        ids = parse_id(from_id, "id"), parse_id(to_id, "id")
        with services.stores.entities.use() as entities:
            return edge(request, entities, *ids)

    def edge_by_name(request: AnyRequest, entity_type: str, fqn: str) -> Edge:
        segments = paths.segments_after(request, f"{BASE}/getLineageEdge/")
        ends = paths.named_ends(request.auth, segments)
        with services.stores.entities.use() as entities:
            ids = (find_entity(entities, each).id for each in (ends.beginning, ends.end))
            return edge(request, entities, *ids)

    def edge(request: AnyRequest, entities: SortedReadModel, from_id: str, to_id: str) -> Edge:
        stored = read_edge(entities, from_id, to_id, sight_of(request.auth, Action.VIEW))
        tag, position = etag(stored.version, stored.last_event), str(stored.position)
        headers = {"ETag": tag, "X-Catalog-Position": position}
        answer: dict[str, Any] = {"edge": stored.details}
        if (seen := last_seen(keeping, edge_name(from_id, to_id))) is not None:
            answer["lastSeen"] = seen
        return msgspec.json.encode(answer), {"headers": headers}

    viewing = Permission(Action.VIEW, EDGE)
    each, parameters = f"{BASE}/{{entity_type:str}}", {**_DEPTHS, **PAST}
    walk_by_name = _WALK_BY_NAME.at(
        "GET", f"{each}/name/{{fqn:path}}", viewing, walk_at, parameters
    )
    walk_by_name.opt["fits"] = paths.is_entity_path
    single = f"{BASE}/getLineageEdge"
    return [
        walk_by_name,
        _WALK.at("GET", f"{each}/{{entity_id:str}}", viewing, walk_at, parameters),
        _EDGE.at(
            "GET", f"{single}/{{from_id:str}}/{{to_id:str}}", viewing, reading(services, edge_by_id)
        ),
        replace(
            _EDGE,
            id="getLineageEdgeByName",
            summary="Get an edge by the names of its entities",
            path=f"{single}/{paths.BOTH_NAMED}",
        ).at(
            "GET",
            f"{single}/{{entity_type:str}}/name/{{fqn:path}}",
            viewing,
            reading(services, edge_by_name),
        ),
    ]


_WALK = Operation(
    "getLineage",
    "Get the lineage of an entity",
    "Breadth first, each entity and each edge once. A pipeline or stored procedure has the edges"
    " that name it too. Soft-deleted entities are there, with `deleted`; kinds that the caller may"
    " not view are left out, and what lies behind them. `truncated` says that there is more. With"
    " `at` or `asOf` it is the lineage as it was, and `X-Catalog-At` says at which position: edges"
    " that were removed since are there, as long as both of their ends are not purged.",
    answer="EntityLineage",
    errors=(404, 410, 503),
)
_WALK_BY_NAME = replace(
    _WALK, id="getLineageByFQN", summary="Get the lineage of an entity by its name"
)
_EDGE = Operation("getLineageEdge", "Get an edge", answer="LineageEdge", headers=ENTITY_HEADERS)
_DEPTHS: Parameters = {
    direction: query(
        int, f"How many steps {direction}.", 1, name=f"{direction}Depth", ge=0, le=MAX_DEPTH
    )
    for direction in ("upstream", "downstream")
}
