"""Reads of the lineage: walks from an entity, and single edges."""

from typing import Any

import msgspec
from litestar.handlers import HTTPRouteHandler
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
from domain.edges import EDGE
from domain.kinds.ids import parse_id
from projections.entities.lineage import find_entity, lineage_json, read_edge, read_lineage
from projections.entities.port import SortedReadModel

Edge = tuple[bytes, dict[str, Any]]
"""The JSON of an edge, and the headers of the answer."""
MAX_DEPTH = 3
"""The most steps of a walk in each direction, as in OpenMetadata."""


def lineage_read_routes(services: Services) -> list[HTTPRouteHandler]:
    """The GET routes below `/v1/lineage`."""

    def walk(
        request: AnyRequest,
        entity_type: str,
        upstream: int,
        downstream: int,
        entity_id: str = "",
        fqn: str | None = None,
    ) -> bytes:
        if fqn is None:
            root = paths.by_id(request.auth, entity_type, entity_id)
        else:
            root = paths.by_name(request.auth, entity_type, name_in_path(request))
        sight = sight_of(request.auth, Action.VIEW)
        with services.stores.entities.use() as entities:
            lineage = read_lineage(entities, root, sight, upstream=upstream, downstream=downstream)
        return lineage_json(lineage, sight)

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
        return msgspec.json.encode({"edge": stored.details}), {"headers": headers}

    viewing = Permission(Action.VIEW, EDGE)
    each = f"{BASE}/{{entity_type:str}}"
    walk_by_name = _WALK_BY_NAME.at(
        "GET", f"{each}/name/{{fqn:path}}", viewing, reading(services, walk), _DEPTHS
    )
    walk_by_name.opt["fits"] = paths.is_entity_path
    single = f"{BASE}/getLineageEdge"
    return [
        walk_by_name,
        _WALK.at("GET", f"{each}/{{entity_id:str}}", viewing, reading(services, walk), _DEPTHS),
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
    " not view are left out, and what lies behind them. `truncated` says that there is more.",
    answer="EntityLineage",
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
