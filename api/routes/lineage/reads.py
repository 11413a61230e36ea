"""Reads of the lineage: walks from an entity, and single edges."""

from collections.abc import Callable
from typing import Any

import msgspec
from litestar import Request
from litestar.handlers import HTTPRouteHandler
from msgspec.structs import replace

from api.answers.responses import Large
from api.callers.permissions import Action, Permission
from api.declaring.declared_query import Parameters, query
from api.declaring.operation import ENTITY_HEADERS, Operation
from api.declaring.signatures import name_in_path
from api.routes.lineage import paths as paths
from api.routes.lineage.paths import BASE, sight_of
from api.services import Services
from api.use_cases.entity_reads import etag
from domain.edges import EDGE
from domain.kinds.bodies.components import Reference
from domain.kinds.ids import parse_id
from projections.entities.lineage import find_entity, lineage_json, read_edge, read_lineage

MAX_DEPTH = 3
"""How many steps a walk goes at most in each direction, as in OpenMetadata."""

AnyRequest = Request[Any, Any, Any]


def lineage_read_routes(services: Services) -> list[HTTPRouteHandler]:
    """The GET routes below `/v1/lineage`."""

    async def by_id(request: AnyRequest, entity_type: str, entity_id: str, **depths: int) -> Large:
        return await walk(request, paths.by_id(request.auth, entity_type, entity_id), **depths)

    async def by_name(request: AnyRequest, entity_type: str, fqn: str, **depths: int) -> Large:
        root = paths.by_name(request.auth, entity_type, name_in_path(request))
        return await walk(request, root, **depths)

    async def walk(request: AnyRequest, root: Reference, **depths: Any) -> Large:
        sight = sight_of(request.auth, Action.VIEW)

        def body() -> tuple[bytes, dict[str, str]]:
            with services.stores.entities.use() as entities:
                found = read_lineage(entities, root, sight, **depths)
            return lineage_json(found, sight), {}

        return await heavy(request, body)

    async def edge_by_id(request: AnyRequest, from_id: str, to_id: str) -> Large:
        beginning, end = (parse_id(each, "id") for each in (from_id, to_id))
        return await edge(request, lambda entities: (beginning, end))

    async def edge_by_name(request: AnyRequest, entity_type: str, fqn: str) -> Large:
        segments = paths.segments_after(request, f"{BASE}/getLineageEdge/")
        ends = paths.named_ends(request.auth, segments)
        return await edge(
            request,
            lambda entities: (
                find_entity(entities, ends.beginning).id,
                find_entity(entities, ends.end).id,
            ),
        )

    async def edge(request: AnyRequest, ids: Callable[[Any], tuple[str, str]]) -> Large:
        sight = sight_of(request.auth, Action.VIEW)

        def body() -> tuple[bytes, dict[str, str]]:
            with services.stores.entities.use() as entities:
                found = read_edge(entities, *ids(entities), sight)
            headers = {
                "ETag": etag(found.version, found.last_event),
                "X-Catalog-Position": str(found.position),
            }
            return msgspec.json.encode({"edge": found.details}), headers

        return await heavy(request, body)

    async def heavy(request: AnyRequest, body: Callable[[], tuple[bytes, dict[str, str]]]) -> Large:
        caller: str = request.user.name

        def answer() -> Large:
            made, headers = body()
            return Large(made, caller, services.streams, headers=headers)

        return await services.heavy_read(request, answer)

    viewing = Permission(Action.VIEW, EDGE)
    walk_by_name = _WALK_BY_NAME.at(
        "GET", f"{BASE}/{{entity_type:str}}/name/{{fqn:path}}", viewing, by_name, _DEPTHS
    )
    walk_by_name.opt["fits"] = paths.is_entity_path
    single = f"{BASE}/getLineageEdge"
    return [
        walk_by_name,
        _WALK.at("GET", f"{BASE}/{{entity_type:str}}/{{entity_id:str}}", viewing, by_id, _DEPTHS),
        _EDGE.at("GET", f"{single}/{{from_id:str}}/{{to_id:str}}", viewing, edge_by_id),
        replace(
            _EDGE,
            id="getLineageEdgeByName",
            summary="Get an edge by the names of its entities",
            path=f"{single}/{paths.BOTH_NAMED}",
        ).at("GET", f"{single}/{{entity_type:str}}/name/{{fqn:path}}", viewing, edge_by_name),
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
