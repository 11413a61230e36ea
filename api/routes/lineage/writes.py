"""Writes of the lineage: edges drawn, changed and removed one by one, or those of a source."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, get_args

import msgspec
from litestar import Request
from litestar.handlers import HTTPRouteHandler

from api.answers.bodies import JSON_TYPES, PATCH_TYPES, has_left
from api.answers.responses import Finished
from api.callers.permissions import Access, Action, Permission
from api.declaring.declared_query import Parameters
from api.declaring.signatures import ENTITY_ID, FQN, route
from api.routes.lineage import paths as paths
from api.routes.lineage.paths import BASE, TYPE, path_text, sight_of
from api.services import Services
from api.use_cases.asked import Asked, read_asked, refuse_headers_of_one, with_digest
from api.use_cases.entity_reads import etag
from domain.aggregate.lifecycle import format_version
from domain.edges import EDGE
from domain.errors import InvalidInput, NotFound, shown
from domain.kinds.bodies.components import Reference
from domain.kinds.bodies.lineage import RUNNING_KINDS, Source
from domain.openmetadata import document
from domain.patches.json_input import decode
from domain.writing.catalog import MAX_EVENTS, NOTHING, EntityProposal, Proposal
from domain.writing.lineage import Ends
from domain.writing.plans import Plan
from projections.entities.lineage import edges_over, find_entity
from projections.visibility.withholding import Withheld

SOURCES = get_args(Source)
_OF_PIPELINES = frozenset({"PipelineLineage", "OpenLineage"})
"""Sources whose edges are removed with the pipeline that they name, as in OpenMetadata."""

AnyRequest = Request[Any, Any, Any]


def lineage_write_routes(services: Services) -> list[HTTPRouteHandler]:
    """The PUT, PATCH and DELETE routes below `/v1/lineage`."""
    answer = partial(_answer, services)
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

    async def put(request: AnyRequest) -> Finished:
        return await answer(request, put_body)

    async def put_by_name(request: AnyRequest, entity_type: str, fqn: str) -> Finished:
        return await answer(request, partial(put_named, named(request)))

    async def patch_by_name(request: AnyRequest, entity_type: str, fqn: str) -> Finished:
        return await answer(request, partial(patching, named(request)), PATCH_TYPES)

    async def delete_by_name(request: AnyRequest, entity_type: str, fqn: str) -> Finished:
        return await answer(request, partial(deleting, named(request)))

    async def patch(request: AnyRequest, **ends: str) -> Finished:
        return await answer(request, partial(patching, identified(request, **ends)), PATCH_TYPES)

    async def delete(request: AnyRequest, **ends: str) -> Finished:
        return await answer(request, partial(deleting, identified(request, **ends)))

    def named(request: AnyRequest) -> Ends:
        return paths.named_ends(request.auth, paths.segments_after(request, f"{BASE}/"))

    def identified(
        request: AnyRequest, entity_type: str, entity_id: str, to_type: str, to_id: str
    ) -> Ends:
        access: Access = request.auth
        return Ends(
            paths.by_id(access, entity_type, entity_id), paths.by_id(access, to_type, to_id)
        )

    async def delete_source(
        request: AnyRequest, entity_type: str, entity_id: str, source: str
    ) -> Finished:
        which = paths.by_id(request.auth, entity_type, entity_id)
        return await delete_of(request, which, source)

    async def delete_source_by_name(request: AnyRequest, entity_type: str, fqn: str) -> Finished:
        segments = paths.segments_after(request, f"{BASE}/source/name/")
        which, source = paths.of_source(request.auth, segments)
        return await delete_of(request, which, source)

    async def delete_of(request: AnyRequest, which: Reference, source: str) -> Finished:
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

        write = partial(services.write, request.user.name)
        left = partial(has_left, request.receive)
        written, (target_id, edge_ids) = await write(find, left)
        deleted = 0
        # Once at least, for the position. Where the client leaves, what was removed stays removed.
        for start in range(0, len(edge_ids) or 1, MAX_EVENTS):
            some = edge_ids[start : start + MAX_EVENTS]
            written, number = await write(partial(remove, some), left)
            deleted += number
        return Finished(msgspec.json.encode({"deleted": deleted}), headers=written.headers)

    drawing = Permission(Action.EDIT, EDGE, also=Action.CREATE)
    editing, removing = Permission(Action.EDIT, EDGE), Permission(Action.DELETE, EDGE)
    by_names, both_named = (
        f"{BASE}/{{entity_type:str}}/name/{{fqn:path}}",
        {
            **TYPE,
            **FQN,
        },
    )
    item = f"{BASE}/{{entity_type:str}}/{{entity_id:str}}"
    one = {**TYPE, **ENTITY_ID}
    of_names = [
        route("PUT", by_names, drawing, put_by_name, both_named),
        route("PATCH", by_names, editing, patch_by_name, both_named),
        route("DELETE", by_names, removing, delete_by_name, both_named),
    ]
    for handler in of_names:
        handler.opt["fits"] = paths.is_edge_path
    return [
        *of_names,
        route("PUT", BASE, drawing, put, {}),
        route("PATCH", f"{item}/{{to_type:str}}/{{to_id:str}}", editing, patch, {**one, **_TO}),
        route("DELETE", f"{item}/{{to_type:str}}/{{to_id:str}}", removing, delete, {**one, **_TO}),
        route("DELETE", f"{item}/type/{{source:str}}", removing, delete_source, {**one, **_SOURCE}),
        route(
            "DELETE",
            f"{BASE}/source/name/{{entity_type:str}}/{{fqn:path}}",
            removing,
            delete_source_by_name,
            both_named,
        ),
    ]


def _unseen(access: Access, ends: Ends) -> Withheld | None:
    """The details that a writer of an edge between such entities does not see, whatever it has."""
    kinds = (ends.beginning.type or "", ends.end.type or "", *RUNNING_KINDS)
    return sight_of(access, Action.EDIT).withheld(kinds)


def _via(services: Services, which: Reference, source: str) -> list[str]:
    """The edges over a pipeline, as lists have them: the log finds edges by their ends alone."""
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

    def propose() -> tuple[EntityProposal, tuple[EntityProposal, bytes]]:
        whole = with_digest(asked)
        proposal = services.catalog.propose(plan_of(whole), whole.context)
        details = {}
        if asked.access.may(Permission(Action.VIEW, EDGE)):
            sight = sight_of(asked.access, Action.VIEW)
            details = sight.details(document.fields(proposal.entity))
        return proposal, (proposal, msgspec.json.encode(details))

    left = partial(has_left, request.receive)
    written, (proposal, body) = await services.write(request.user.name, propose, left)
    headers = {
        "ETag": etag(format_version(proposal.entity.version), proposal.entity.last_event),
        "X-OpenMetadata-Change": proposal.change.value,
    }
    return Finished(body, headers=headers | written.headers)


_TO: Parameters = {
    "to_type": path_text("Kind of the entity at the end of the edge."),
    "to_id": path_text("UUID of the entity at the end of the edge."),
}
_SOURCE: Parameters = {"source": path_text("Source of the edges, as ViewLineage.")}
