"""Create, change, delete and restore entities of one kind."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Annotated, Any

import msgspec
from litestar import Request
from litestar.handlers import HTTPRouteHandler
from msgspec.structs import replace

from api.bodies import JSON_TYPES, PATCH_TYPES, has_left
from api.permissions import Access, Action, Permission
from api.responses import Finished
from api.routes.asked import Asked, may_bring, read_asked, with_digest
from api.routes.bulk import bulk_route
from api.routes.declared_query import Parameters, QueryParameter
from api.routes.delete_stale import delete_stale_routes
from api.routes.deletes import check_recursive, may_delete_attached, purge_beforehand
from api.routes.entity_reads import etag
from api.routes.signatures import (
    ENTITY_ID,
    FQN,
    OVERRIDE_METADATA,
    REQUEST,
    id_in_path,
    name_in_path,
    route,
)
from api.services import Services
from domain import changes
from domain.bodies.components import Ref
from domain.bulk_put import MAX_REQUESTS
from domain.catalog import EntityProposal
from domain.entity_cache import ByName
from domain.errors import InvalidInput
from domain.ids import parse_id
from domain.json_input import decode
from domain.kinds import EntityKind
from domain.lifecycle import format_version
from domain.openmetadata import document
from domain.planning import Planner
from domain.plans import Change, Plan

_IDENTITY_ONLY = "00000000"
"""In place of the digest of what is withheld: all but what identifies the entity."""
_IDENTITY = frozenset({"id", "name", "fullyQualifiedName", "version", "deleted"})
_STATUS = {Change.CREATED: 201}

AnyRequest = Request[Any, Any, Any]


def write_routes(kind: EntityKind, services: Services) -> list[HTTPRouteHandler]:
    """The POST, PUT, PATCH and DELETE routes of a kind."""
    path = f"/v1/{kind.collection}"
    planner = services.catalog.planner
    answer = partial(answer_write, services, kind)

    async def create(request: AnyRequest) -> Finished:
        return await answer(request, Action.CREATE, partial(_create, planner, kind))

    async def put(request: AnyRequest, override_metadata: bool) -> Finished:
        return await answer(request, Action.EDIT, partial(_put, planner, kind, override_metadata))

    async def put_below(request: AnyRequest, override_metadata: bool) -> Finished:
        do = partial(_put_below, planner, kind, override_metadata)
        return await answer(request, Action.EDIT, do)

    async def patch(request: AnyRequest, entity_id: str) -> Finished:
        do = partial(_patch, planner, kind, id_in_path(entity_id))
        return await answer(request, Action.EDIT, do, PATCH_TYPES)

    async def patch_by_name(request: AnyRequest, fqn: str) -> Finished:
        do = partial(_patch, planner, kind, _named_in(request, kind))
        return await answer(request, Action.EDIT, do, PATCH_TYPES)

    def put_alone(key: str) -> Callable[..., Any]:
        async def put_key(request: AnyRequest, entity_id: str) -> Finished:
            do = partial(_put_alone, planner, kind, id_in_path(entity_id), key)
            return await answer(request, Action.EDIT, do)

        return put_key

    def put_into(key: str) -> Callable[..., Any]:
        async def put_elements(request: AnyRequest, entity_id: str) -> Finished:
            do = partial(_put_into, planner, kind, id_in_path(entity_id), key)
            return await answer(request, Action.EDIT, do)

        return put_elements

    def delete_alone(key: str) -> Callable[..., Any]:
        async def delete_key(request: AnyRequest, entity_id: str) -> Finished:
            do = partial(_delete_alone, planner, kind, id_in_path(entity_id), key)
            return await answer(request, Action.EDIT, do)

        return delete_key

    async def delete(
        request: AnyRequest, entity_id: str, hard_delete: bool, recursive: bool
    ) -> Finished:
        return await delete_one(request, id_in_path(entity_id), hard_delete, recursive)

    async def delete_by_name(
        request: AnyRequest, fqn: str, hard_delete: bool, recursive: bool
    ) -> Finished:
        return await delete_one(request, _named_in(request, kind), hard_delete, recursive)

    async def delete_one(
        request: AnyRequest, which: str | ByName, hard: bool, recursive: bool
    ) -> Finished:
        async def clear(asked: Asked) -> None:
            if recursive:
                check_recursive(asked.access, kind)
            await purge_beforehand(
                services, request, kind, [which], asked.context, recursive=recursive
            )

        do = partial(_delete, planner, kind, which, hard, recursive)
        return await answer(request, Action.DELETE, do, before=clear if hard else None)

    async def restore(request: AnyRequest) -> Finished:
        return await answer(request, Action.EDIT, partial(_restore, planner, kind))

    creating, editing, deleting = (
        Permission(action, kind.name) for action in (Action.CREATE, Action.EDIT, Action.DELETE)
    )
    putting = Permission(Action.EDIT, kind.name, also=Action.CREATE)
    named = f"{path}/name/{{fqn:path}}"
    name: Parameters = {**REQUEST, **FQN}
    item = f"{path}/{{entity_id:str}}"
    one: Parameters = {**REQUEST, **ENTITY_ID}
    below = []
    if kind.name_below:
        of_parent = {**REQUEST, **OVERRIDE_METADATA}
        below = [route("PUT", f"{path}/executable", putting, put_below, of_parent)]
    return [
        route("POST", path, creating, create, REQUEST, status=201),
        route("PUT", path, putting, put, {**REQUEST, **OVERRIDE_METADATA}),
        *(route("PUT", f"{item}/{key}", editing, put_alone(key), one) for key in kind.put_alone),
        *(
            route("DELETE", f"{item}/{key}", editing, delete_alone(key), one)
            for key in kind.deleted_alone
        ),
        *(
            route("PUT", f"{item}/{place}", editing, put_into(key), one)
            for place, key in kind.put_into.items()
        ),
        route("PATCH", item, editing, patch, one),
        route("PATCH", named, editing, patch_by_name, name),
        route("DELETE", item, deleting, delete, {**one, **_DELETE}),
        route("DELETE", named, deleting, delete_by_name, {**name, **_DELETE}),
        route("PUT", f"{path}/restore", editing, restore, REQUEST),
        bulk_route(kind, services),
        *delete_stale_routes(kind, services),
        *below,
    ]


def _named_in(request: AnyRequest, kind: EntityKind) -> ByName:
    return ByName(kind.spelled(name_in_path(request)))


def _create(planner: Planner, kind: EntityKind, asked: Asked) -> Callable[[], Plan]:
    values = decode(asked.body, dict[str, Any], "the body")
    if withheld := asked.access.withheld(Action.CREATE, kind.name):
        withheld.refuse_writing(values, replacing=False)
    context = replace(asked.context, may_bring=may_bring(asked.access, kind))
    return partial(planner.create, kind, values, context)


def _put(
    planner: Planner, kind: EntityKind, override_metadata: bool, asked: Asked
) -> Callable[[], Plan]:
    values = decode(asked.body, dict[str, Any], "the body")
    if withheld := asked.access.withheld(Action.EDIT, kind.name):
        withheld.refuse_writing(values, replacing=True)
    context = replace(
        asked.context,
        override_metadata=override_metadata,
        may_bring=may_bring(asked.access, kind),
    )
    return partial(planner.put, kind, values, context)


def _put_below(
    planner: Planner, kind: EntityKind, override_metadata: bool, asked: Asked
) -> Callable[[], Plan]:
    """A PUT of the one entity of a kind below its parent, which the body has to name."""
    parent = kind.parents[0]
    if not decode(asked.body, dict[str, Any], "the body").get(parent):
        raise InvalidInput(f"{kind.name}: needs its parent in {parent}")
    return _put(planner, kind, override_metadata, asked)


def _patch(
    planner: Planner, kind: EntityKind, which: str | ByName, asked: Asked
) -> Callable[[], Plan]:
    operations = decode(asked.body, list[dict[str, Any]], "a JSON Patch")
    if withheld := asked.access.withheld(Action.EDIT, kind.name):
        withheld.refuse_patching(operations)
    return partial(planner.patch, kind, which, operations, asked.context)


def _put_alone(
    planner: Planner, kind: EntityKind, entity_id: str, key: str, asked: Asked
) -> Callable[[], Plan]:
    value = decode(asked.body, dict[str, Any], "the body")
    if withheld := asked.access.withheld(Action.EDIT, kind.name):
        withheld.refuse_patching([{"op": "add", "path": f"/{key}", "value": value}])
    return partial(planner.put_alone, kind, entity_id, key, value, asked.context)


def _put_into(
    planner: Planner, kind: EntityKind, entity_id: str, key: str, asked: Asked
) -> Callable[[], Plan]:
    given = decode(asked.body, list[Any], "the body")
    expected: Any = list[Ref] if key in kind.refers_to else list[str]
    try:
        elements: list[Ref] = msgspec.convert(given, expected)
    except msgspec.ValidationError as error:
        raise InvalidInput(f"the body: {error}") from None
    if len(elements) > MAX_REQUESTS:
        raise InvalidInput(f"a request may add {MAX_REQUESTS} elements, got {len(elements)}")
    if withheld := asked.access.withheld(Action.EDIT, kind.name):
        withheld.refuse_patching([{"op": "add", "path": f"/{key}"}])
    return partial(planner.put_into, kind, entity_id, key, elements, asked.context)


def _delete_alone(
    planner: Planner, kind: EntityKind, entity_id: str, key: str, asked: Asked
) -> Callable[[], Plan]:
    if withheld := asked.access.withheld(Action.EDIT, kind.name):
        withheld.refuse_patching([{"op": "remove", "path": f"/{key}"}])
    return partial(planner.remove_alone, kind, entity_id, key, asked.context)


def _delete(
    planner: Planner,
    kind: EntityKind,
    which: str | ByName,
    hard: bool,
    recursive: bool,
    asked: Asked,
) -> Callable[[], Plan]:
    if recursive:
        check_recursive(asked.access, kind)
    return partial(
        planner.delete,
        kind,
        which,
        asked.context,
        hard=hard,
        recursive=recursive,
        attached=may_delete_attached(asked.access),
    )


def _restore(planner: Planner, kind: EntityKind, asked: Asked) -> Callable[[], Plan]:
    entity_id = parse_id(decode(asked.body, _Restore, "the body").id, "id")
    return partial(planner.restore, kind, entity_id, asked.context)


_DELETE: Parameters = {
    "hard_delete": (
        Annotated[
            bool,
            QueryParameter(name="hardDelete", description="Delete for good, freeing the name."),
        ],
        False,
    ),
    "recursive": (
        Annotated[
            bool,
            QueryParameter(
                description="With everything below it. The contract of an entity goes with a soft"
                " delete of the entity all the same, and comes back with it."
            ),
        ],
        False,
    ),
}


class _Restore(msgspec.Struct, forbid_unknown_fields=True):
    id: str


async def answer_write(
    services: Services,
    kind: EntityKind,
    request: AnyRequest,
    action: Action,
    plan_of: Callable[[Asked], Callable[[], Plan]],
    media_types: tuple[str, ...] = JSON_TYPES,
    before: Callable[[Asked], Awaitable[None]] | None = None,
) -> Finished:
    """Do a write, and answer with the entity once lists have it.

    All that takes long runs in threads: decode, plan and encode in the caller's turn, the append
    together with those of others. `before` does what has to be stored before the write.
    """
    asked = await read_asked(request, media_types)
    if before is not None:
        await before(asked)

    def propose() -> tuple[EntityProposal, Callable[[int], Finished]]:
        whole = with_digest(asked)
        proposal = services.catalog.propose(plan_of(whole), whole.context)
        return proposal, _shown(kind, action, asked.access, proposal)

    left = partial(has_left, request.receive)
    position, shown_at = await services.write(request.user.name, len(asked.body), propose, left)
    return shown_at(position)


def _shown(
    kind: EntityKind, action: Action, access: Access, proposal: EntityProposal
) -> Callable[[int], Finished]:
    """Makes the answer, once the position is known: the entity as far as the caller may see it.

    The answer has what both the action and `view` show; a caller without `view` gets no more than
    what identifies the entity.
    """
    entity = proposal.entity
    headers = {"X-OpenMetadata-Change": proposal.change.value}
    if proposal.change is Change.CREATED:
        headers["Location"] = f"/v1/{kind.collection}/{entity.id}"
    fields = document.fields(entity)
    hidden = None
    if not access.may(Permission(Action.VIEW, kind.name)):
        fields = {key: raw for key, raw in fields.items() if key in _IDENTITY}
        hidden = _IDENTITY_ONLY
    everywhere = (
        access.withheld(action, kind.name),
        access.withheld(Action.VIEW, kind.name),
    )
    if proposal.change is Change.UPDATED and proposal.before and not (hidden or any(everywhere)):
        # What is withheld in any place is left out: it has old and new values of any field.
        description = changes.describe(proposal.before, entity)
        fields["changeDescription"] = msgspec.Raw(msgspec.json.encode(description))
    shown = document.encode(fields)
    for withheld in everywhere:
        if withheld:
            shown, hidden = withheld.cut(shown), withheld.digest
    headers["ETag"] = etag(format_version(entity.version), hidden)

    def at(position: int) -> Finished:
        return Finished(
            body=shown,
            status_code=_STATUS.get(proposal.change, 200),
            headers={**headers, "X-Catalog-Position": str(position)},
        )

    return at
