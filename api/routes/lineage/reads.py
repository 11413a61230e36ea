"""Reads of the lineage: walks from an entity, and single edges."""

from collections.abc import Callable
from typing import Annotated, Any

import msgspec
from litestar import Request
from litestar.handlers import HTTPRouteHandler

from api.answers.responses import Large
from api.callers.permissions import Action, Permission
from api.declaring.declared_query import Parameters, QueryParameter
from api.declaring.signatures import ENTITY_ID, FQN, name_in_path, route
from api.routes.lineage import paths as paths
from api.routes.lineage.paths import BASE, TYPE, path_text, sight_of
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

    async def by_id(
        request: AnyRequest,
        entity_type: str,
        entity_id: str,
        upstream_depth: int,
        downstream_depth: int,
    ) -> Large:
        root = paths.by_id(request.auth, entity_type, entity_id)
        return await walk(request, root, upstream_depth, downstream_depth)

    async def by_name(
        request: AnyRequest, entity_type: str, fqn: str, upstream_depth: int, downstream_depth: int
    ) -> Large:
        root = paths.by_name(request.auth, entity_type, name_in_path(request))
        return await walk(request, root, upstream_depth, downstream_depth)

    async def walk(request: AnyRequest, root: Reference, up: int, down: int) -> Large:
        sight = sight_of(request.auth, Action.VIEW)

        def body() -> tuple[bytes, dict[str, str]]:
            with services.stores.entities.use() as entities:
                found = read_lineage(entities, root, sight, upstream=up, downstream=down)
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
    walked = {**TYPE, **_DEPTHS}
    single = f"{BASE}/getLineageEdge"
    by_its_name = route(
        "GET",
        f"{BASE}/{{entity_type:str}}/name/{{fqn:path}}",
        viewing,
        by_name,
        {**walked, **FQN},
    )
    by_its_name.opt["fits"] = paths.is_entity_path
    return [
        by_its_name,
        route(
            "GET",
            f"{BASE}/{{entity_type:str}}/{{entity_id:str}}",
            viewing,
            by_id,
            {**walked, **ENTITY_ID},
        ),
        route(
            "GET",
            f"{single}/{{from_id:str}}/{{to_id:str}}",
            viewing,
            edge_by_id,
            _IDS,
        ),
        route(
            "GET",
            f"{single}/{{entity_type:str}}/name/{{fqn:path}}",
            viewing,
            edge_by_name,
            {**TYPE, **FQN},
        ),
    ]


def _depth(name: str) -> tuple[Any, int]:
    about = f"How many steps {name.removesuffix('Depth')}."
    return Annotated[int, QueryParameter(name=name, ge=0, le=MAX_DEPTH, description=about)], 1


_IDS: Parameters = {
    "from_id": path_text("UUID of the entity at the beginning of the edge."),
    "to_id": path_text("UUID of the entity at the end of the edge."),
}
_DEPTHS: Parameters = {
    "upstream_depth": _depth("upstreamDepth"),
    "downstream_depth": _depth("downstreamDepth"),
}
