"""Writes of the lineage: edges drawn, changed and removed one by one, or those of a source."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, get_args

import msgspec
from litestar.handlers import HTTPRouteHandler
from msgspec.structs import replace

from api.answers.bodies import JSON_TYPES, PATCH_TYPES
from api.answers.responses import Finished
from api.callers.permissions import Access, Action, Permission
from api.declaring.operation import Write, WriteOfMany
from api.declaring.signatures import AnyRequest
from api.routes.lineage import paths as paths
from api.routes.lineage.paths import BASE
from api.services import Services
from api.use_cases.edge_sight import may_see_lineage, sight_of
from api.use_cases.entity_reads import etag
from api.use_cases.entity_writes import Asked, read_asked, refuse_headers_of_one, write_entity
from domain.aggregate.lifecycle import format_version
from domain.edges import EDGE
from domain.errors import InvalidInput, NotFound, shown
from domain.kinds.bodies.components import Reference
from domain.kinds.bodies.lineage import RUNNING_KINDS, Source
from domain.openmetadata import document
from domain.patches.json_input import decode
from domain.writing.catalog import NOTHING, EntityProposal, Proposal
from domain.writing.lineage import Ends
from domain.writing.plans import Plan
from projections.entities.lineage import edges_over, find_entity
from projections.visibility.withholding import Withheld

SOURCES = get_args(Source)
_OF_PIPELINES = frozenset({"PipelineLineage", "OpenLineage"})
"""Sources whose edges are removed with the pipeline that they name, as in OpenMetadata."""


def lineage_write_routes(services: Services) -> list[HTTPRouteHandler]:
    """The PUT, PATCH and DELETE routes below `/v1/lineage`."""
    planner = services.catalog.lineage

    def putting(ends: Ends, details: dict[str, Any], asked: Asked) -> Callable[[], Plan]:
        given = {key: value for key, value in details.items() if value is not None}
        withheld = _unseen(asked.access, ends)
        unseen: set[str] = set()
        if withheld is not None:
            withheld.refuse_writing(given, replacing=True)
            unseen = {path.partition(".")[0] for path in withheld.paths}
        return partial(planner.put, ends, given, asked.context, unseen)

    def put_body(asked: Asked) -> Callable[[], Plan]:
        ends, details = paths.edge_in_body(asked.access, asked.body)
        return putting(ends, details, asked)

    def put_named(ends: Ends, asked: Asked) -> Callable[[], Plan]:
        return putting(ends, decode(asked.body, dict[str, Any], "the body"), asked)

    def patching(ends: Ends, asked: Asked) -> Callable[[], Plan]:
        operations = decode(asked.body, list[dict[str, Any]], "a JSON Patch")
        if withheld := _unseen(asked.access, ends):
            withheld.refuse_patching(operations)
        return partial(planner.patch, ends, operations, asked.context)

    def deleting(ends: Ends, asked: Asked) -> Callable[[], Plan]:
        return partial(planner.delete, ends, asked.context)

    def of_edge(plan_of: Any, media_types: tuple[str, ...] = JSON_TYPES) -> Callable[..., Any]:
        async def write(request: AnyRequest, **where: str) -> Finished:
            ends = _ends(request, **where)
            return await _answer(services, request, partial(plan_of, ends), media_types)

        return write

    async def put(request: AnyRequest) -> Finished:
        return await _answer(services, request, put_body)

    async def delete_source(request: AnyRequest, **where: str) -> Finished:
        access: Access = request.auth
        if "fqn" in where:
            segments = paths.segments_after(request, f"{BASE}/source/name/")
            which, source = paths.of_source(access, segments)
        else:
            which = paths.by_id(access, where["entity_type"], where["entity_id"])
            source = where["source"]
        if source not in SOURCES:
            raise InvalidInput(f"the source is one of {', '.join(SOURCES)}, got {shown(source)}")
        refuse_headers_of_one(request, "a request by source")
        asked = await read_asked(request, JSON_TYPES)

        kinds = asked.access.kinds(Action.VIEW)

        def find() -> tuple[Proposal, tuple[str, list[str]]]:
            target_id, ending = planner.edges_ending(which)
            via = _via(services, which, source)
            return NOTHING, (target_id, [*dict.fromkeys((*ending, *via))])

        def remove(some: Sequence[str]) -> tuple[Proposal, int]:
            context = asked.context
            plan = partial(planner.delete_by_source, target_id, source, some, context, kinds)
            return services.catalog.propose_steps(plan)

        written, (target_id, edge_ids) = await services.write(request, find)
        deleted = 0
        # Once at least, for the position. Where the client leaves, what was removed stays removed.
        most = services.catalog.most_events
        for start in range(0, len(edge_ids) or 1, most):
            some = edge_ids[start : start + most]
            written, number = await services.write(request, partial(remove, some))
            deleted += number
        return Finished(msgspec.json.encode({"deleted": deleted}), headers=written.headers)

    drawing = Permission(Action.EDIT, EDGE, also=Action.CREATE)
    editing, removing = Permission(Action.EDIT, EDGE), Permission(Action.DELETE, EDGE)
    by_names = f"{BASE}/{{entity_type:str}}/name/{{fqn:path}}"
    item = f"{BASE}/{{entity_type:str}}/{{entity_id:str}}"
    ends = f"{item}/{{to_type:str}}/{{to_id:str}}"
    of_source = f"{BASE}/source/name/{{entity_type:str}}/{{fqn:path}}"
    of_names = [
        _named(
            _PUT, "Draw an edge between entities by their names", body="CreateLineageDetails"
        ).at("PUT", by_names, drawing, of_edge(put_named)),
        _named(_PATCH, "Patch the details of an edge by the names of its entities").at(
            "PATCH", by_names, editing, of_edge(patching, PATCH_TYPES)
        ),
        _named(_DELETE, "Remove an edge by the names of its entities").at(
            "DELETE", by_names, removing, of_edge(deleting)
        ),
    ]
    for handler in of_names:
        handler.opt["fits"] = paths.is_edge_path
    return [
        *of_names,
        _PUT.at("PUT", BASE, drawing, put),
        _PATCH.at("PATCH", ends, editing, of_edge(patching, PATCH_TYPES)),
        _DELETE.at("DELETE", ends, removing, of_edge(deleting)),
        _DELETE_SOURCE.at("DELETE", f"{item}/type/{{source:str}}", removing, delete_source),
        replace(
            _DELETE_SOURCE,
            id="deleteLineageEdgeByTypeAndName",
            summary="Remove the edges of a source by the entity's name",
            path=f"{BASE}/source/name/{{entity_type}}/{{fqn}}/type/{{source}}",
        ).at("DELETE", of_source, removing, delete_source),
    ]


_DETAILS = "LineageDetails"
_PUT = Write(
    "addLineageEdge",
    "Draw an edge",
    "What is not given of the details is removed. Columns that the entities do not have are left"
    " out. A bot's write keeps a description and the mappings that a person patched in, and of an"
    " edge of the source `Manual` also the source and all of its mappings.",
    answer=_DETAILS,
    body="AddLineage",
)
_PATCH = Write(
    "patchLineageEdge",
    "Patch the details of an edge",
    "RFC 6902, applied to the details as they are shown.",
    answer=_DETAILS,
    body="JsonPatch",
)
_DELETE = Write("deleteLineageEdge", "Remove an edge", answer=_DETAILS)
_DELETE_SOURCE = WriteOfMany(
    "deleteLineageEdgeByType",
    "Remove the edges of a source",
    "Those that end at the entity; of `PipelineLineage` and `OpenLineage` also those that name it"
    " as their pipeline.",
    answer="Deleted",
    errors=(400, 404, 408, 409, 413, 415, 503),
)


def _named(operation: Write, summary: str, **changed: str) -> Write:
    """The form of an operation on an edge that takes the names of the edge's ends."""
    path = f"{BASE}/{paths.BOTH_NAMED}"
    return replace(operation, id=f"{operation.id}ByName", summary=summary, path=path, **changed)


def _ends(request: AnyRequest, **where: str) -> Ends:
    """The ends of the edge in a path: by ids, or by names if these are one part of the path."""
    access: Access = request.auth
    if "fqn" in where:
        return paths.named_ends(access, paths.segments_after(request, f"{BASE}/"))
    return Ends(
        paths.by_id(access, where["entity_type"], where["entity_id"]),
        paths.by_id(access, where["to_type"], where["to_id"]),
    )


def _unseen(access: Access, ends: Ends) -> Withheld | None:
    """The details of an edge between entities of these kinds that its writer does not see."""
    kinds = (ends.beginning.type or "", ends.end.type or "", *RUNNING_KINDS)
    return sight_of(access, Action.EDIT).withheld(kinds)


def _via(services: Services, which: Reference, source: str) -> list[str]:
    """The ids of edges over a pipeline, from the lists: the log finds edges by their ends alone."""
    if which.type not in RUNNING_KINDS or source not in _OF_PIPELINES:
        return []
    with services.stores.entities.use() as entities:
        try:
            return edges_over(entities, find_entity(entities, which).id, source)
        except NotFound:
            return []


async def _answer(
    services: Services,
    request: AnyRequest,
    plan_of: Callable[[Asked], Callable[[], Plan]],
    media_types: tuple[str, ...] = JSON_TYPES,
) -> Finished:
    """Do a write, and answer with the details of the edge once lists have it."""
    asked = await read_asked(request, media_types)

    def encode(proposal: EntityProposal) -> tuple[EntityProposal, bytes]:
        details = {}
        if may_see_lineage(asked.access):
            sight = sight_of(asked.access, Action.VIEW)
            details = sight.details(document.fields(proposal.entity))
        return proposal, msgspec.json.encode(details)

    written, (proposal, body) = await write_entity(services, request, asked, plan_of, encode)
    headers = {
        "ETag": etag(format_version(proposal.entity.version), proposal.entity.last_event),
        "X-OpenMetadata-Change": proposal.change.value,
    }
    return Finished(body, headers=headers | written.headers)
