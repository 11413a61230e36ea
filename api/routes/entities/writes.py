"""Create, change, delete and restore entities of one kind."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import msgspec
from litestar.handlers import HTTPRouteHandler
from msgspec.structs import replace

from api.answers.bodies import JSON_TYPES, PATCH_TYPES, YAML_TYPES
from api.answers.responses import Finished
from api.callers.permissions import Action, Permission
from api.declaring.declared_query import Parameters, query
from api.declaring.operation import Write
from api.declaring.signatures import AnyRequest, id_in_path, name_in_path
from api.routes.entities.bulk import OVERRIDE_METADATA, bulk_route
from api.routes.entities.keys import key_routes
from api.routes.entities.offered import offered_routes
from api.routes.entities.stale import delete_stale_routes
from api.services import Services
from api.use_cases.deletes import check_recursive, purge_beforehand
from api.use_cases.entity_writes import (
    Asked,
    answer_write,
    may_bring,
    plan_delete,
    plan_patch,
    plan_restore,
    taken_values,
)
from domain.errors import InvalidInput
from domain.kinds.entity_kind import EntityKind
from domain.writing.entity_cache import ByName
from domain.writing.planning import Planner
from domain.writing.plans import Plan

_PlanOf = Callable[..., Callable[[], Plan]]


def write_routes(kind: EntityKind, services: Services) -> list[HTTPRouteHandler]:
    """The POST, PUT, PATCH and DELETE routes of a kind."""
    path = f"/v1/{kind.collection}"
    planner = services.catalog.planner
    answer = partial(answer_write, services, kind)

    # OpenMetadata takes YAML for contracts too, and for nothing else.
    body_types = (*JSON_TYPES, *YAML_TYPES) if kind.agreement is not None else JSON_TYPES

    def by_body(action: Action, plan_of: _PlanOf) -> Callable[..., Any]:
        async def write(request: AnyRequest, **given: bool) -> Finished:
            do = partial(plan_of, planner, kind, **given)
            return await answer(request, action, do, body_types)

        return write

    def of_one(plan_of: _PlanOf, media_types: tuple[str, ...] = JSON_TYPES) -> Callable[..., Any]:
        async def write(request: AnyRequest, **where: str) -> Finished:
            do = partial(plan_of, planner, kind, _wanted(request, kind, **where))
            return await answer(request, Action.EDIT, do, media_types)

        return write

    async def delete(
        request: AnyRequest, hard_delete: bool, recursive: bool, **where: str
    ) -> Finished:
        which = _wanted(request, kind, **where)

        async def clear(asked: Asked) -> None:
            if recursive:
                check_recursive(asked.access, kind)
            await purge_beforehand(
                services, request, kind, [which], asked.context, recursive=recursive
            )

        do = partial(plan_delete, planner, kind, which, hard_delete, recursive)
        return await answer(request, Action.DELETE, do, before=clear if hard_delete else None)

    async def delete_accepted(request: AnyRequest, **given: Any) -> Finished:
        done = await delete(request, **given)
        job = {"jobId": request.scope["state"]["request_id"], "message": f"{kind.name} is deleted"}
        kept = {
            name.decode(): value.decode()
            for name, value in done.raw_headers
            if not name.startswith(b"content-")
        }
        return Finished(msgspec.json.encode(job), status_code=202, headers=kept)

    creating, editing, deleting = (
        Permission(action, kind.name) for action in (Action.CREATE, Action.EDIT, Action.DELETE)
    )
    putting = Permission(Action.EDIT, kind.name, also=Action.CREATE)
    put, put_below = by_body(Action.EDIT, _plan_put), by_body(Action.EDIT, _plan_put_below)
    below = []
    if kind.naming.below:
        executable = f"{path}/executable"
        below.append(_PUT_BELOW.at("PUT", executable, putting, put_below, OVERRIDE_METADATA))
    return [
        replace(_CREATE, body_types=body_types).at(
            "POST", path, creating, by_body(Action.CREATE, _plan_create)
        ),
        replace(_PUT, body_types=body_types).at("PUT", path, putting, put, OVERRIDE_METADATA),
        *_PATCH.by_id_and_name("PATCH", path, editing, of_one(plan_patch, PATCH_TYPES)),
        *_DELETE.by_id_and_name("DELETE", path, deleting, delete, _HOW_TO_DELETE),
        _DELETE_ASYNC.at(
            "DELETE",
            f"{path}/async/{{entity_id:str}}",
            deleting,
            delete_accepted,
            _HOW_TO_DELETE,
        ),
        _RESTORE.at("PUT", f"{path}/restore", editing, by_body(Action.EDIT, plan_restore)),
        bulk_route(kind, services),
        *delete_stale_routes(kind, services),
        *key_routes(kind, services),
        *offered_routes(kind, services),
        *below,
    ]


_CREATE = Write(
    "create{Kind}",
    "Create a new {kind}",
    "409 when the name is taken.",
    body="Create{Kind}",
    statuses=(201,),
    takes=("Idempotency-Key", "X-Request-Id"),
)
_PUT = Write(
    "createOrUpdate{Kind}",
    "Create or update a {kind}",
    "Keys given as null or empty are removed, keys not given stay.",
    body="Create{Kind}",
    statuses=(200, 201),
)
_PUT_BELOW = replace(
    _PUT,
    id="createOrUpdateExecutable{Kind}",
    summary="Create or update the {kind} of a table",
    about="A PUT of a test suite whose `basicEntityReference` is there: a table has one.",
)
_PATCH = Write(
    "patch{Kind}",
    "Patch a {kind}",
    "RFC 6902, applied to the entity as it is shown, with absent arrays as []. A patch of `name`"
    " renames, where the kind may be renamed: what is below it, and every reference, follows.",
    body="JsonPatch",
)
_DELETE = Write(
    "delete{Kind}",
    "Delete a {kind}",
    "Soft-deleted entities keep their names and can be restored. A purge of more than 1,000"
    " entities and edges is made in several transactions, the entity itself in the last.",
)
_DELETE_ASYNC = Write(
    "delete{Kind}Async",
    "Delete a {kind} as a job",
    "Taken for the sake of OpenMetadata's clients: the delete is done when it is answered. `jobId`"
    " is the id of the request, by which the audit finds what it did.",
    answer="DeleteJob",
    statuses=(202,),
)
_RESTORE = Write(
    "restore{Kind}",
    "Restore a soft-deleted {kind}",
    "With what was deleted by the same request.",
    body="RestoreEntity",
)
_HOW_TO_DELETE: Parameters = {
    "hard_delete": query(bool, "Delete for good, freeing the name.", False),
    "recursive": query(
        bool,
        "With everything below it. The contract of an entity goes with a soft delete of the entity"
        " all the same, and comes back with it.",
        False,
    ),
}


def _wanted(
    request: AnyRequest, kind: EntityKind, entity_id: str | None = None, fqn: str = ""
) -> str | ByName:
    """The entity that a path names, by `entity_id` or by the name that `fqn` is a part of."""
    if entity_id is not None:
        return id_in_path(entity_id)
    return ByName(kind.spelled(name_in_path(request.scope)))


def _given(kind: EntityKind, action: Action, asked: Asked) -> Mapping[str, Any]:
    """The body of a request that creates or changes an entity; raises as `taken_values` does."""
    return taken_values(kind, action, asked.access, asked.values())


def _plan_create(planner: Planner, kind: EntityKind, asked: Asked) -> Callable[[], Plan]:
    context = replace(asked.context, may_bring=may_bring(asked.access, kind))
    return partial(planner.create, kind, _given(kind, Action.CREATE, asked), context)


def _plan_put(
    planner: Planner, kind: EntityKind, asked: Asked, override_metadata: bool
) -> Callable[[], Plan]:
    bring = may_bring(asked.access, kind)
    context = replace(asked.context, override_metadata=override_metadata, may_bring=bring)
    return partial(planner.put, kind, _given(kind, Action.EDIT, asked), context)


def _plan_put_below(
    planner: Planner, kind: EntityKind, asked: Asked, override_metadata: bool
) -> Callable[[], Plan]:
    """A PUT of the one entity of a kind below its parent, which the body has to name."""
    parent = kind.parents[0]
    if not asked.values().get(parent):
        raise InvalidInput(f"{kind.name}: needs its parent in {parent}")
    return _plan_put(planner, kind, asked, override_metadata)
