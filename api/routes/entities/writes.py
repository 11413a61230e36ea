"""Create, change, delete and restore entities of one kind."""

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

import msgspec
from litestar import Request
from litestar.handlers import HTTPRouteHandler
from msgspec.structs import replace

from api.answers.bodies import JSON_TYPES, PATCH_TYPES
from api.answers.responses import Finished
from api.callers.permissions import Action, Permission
from api.declaring.declared_query import Parameters, QueryParameter
from api.declaring.signatures import (
    ENTITY_ID,
    FQN,
    OVERRIDE_METADATA,
    id_in_path,
    name_in_path,
    route,
)
from api.routes.entities.bulk import bulk_route
from api.routes.entities.delete_stale import delete_stale_routes
from api.services import Services
from api.use_cases.asked import Asked, may_bring
from api.use_cases.deletes import check_recursive, purge_beforehand
from api.use_cases.entity_writes import answer_write, plan_delete, plan_patch, plan_restore
from domain.errors import InvalidInput
from domain.kinds.bodies.components import Ref
from domain.kinds.entity_kind import EntityKind
from domain.patches.json_input import decode
from domain.writing.bulk_put import MAX_REQUESTS
from domain.writing.entity_cache import ByName
from domain.writing.planning import Planner
from domain.writing.plans import Plan

AnyRequest = Request[Any, Any, Any]
_PlanOf = Callable[..., Callable[[], Plan]]


def write_routes(kind: EntityKind, services: Services) -> list[HTTPRouteHandler]:
    """The POST, PUT, PATCH and DELETE routes of a kind."""
    path = f"/v1/{kind.collection}"
    planner = services.catalog.planner
    answer = partial(answer_write, services, kind)

    def by_body(action: Action, plan_of: _PlanOf) -> Callable[..., Any]:
        async def write(request: AnyRequest, **given: bool) -> Finished:
            return await answer(request, action, partial(plan_of, planner, kind, **given))

        return write

    def which_of(request: AnyRequest, entity_id: str | None) -> str | ByName:
        if entity_id is not None:
            return id_in_path(entity_id)
        return ByName(kind.spelled(name_in_path(request)))

    def of_one(plan_of: _PlanOf, media_types: tuple[str, ...] = JSON_TYPES) -> Callable[..., Any]:
        async def write(
            request: AnyRequest, entity_id: str | None = None, fqn: str | None = None
        ) -> Finished:
            do = partial(plan_of, planner, kind, which_of(request, entity_id))
            return await answer(request, Action.EDIT, do, media_types)

        return write

    async def delete(
        request: AnyRequest,
        hard_delete: bool,
        recursive: bool,
        entity_id: str | None = None,
        fqn: str | None = None,
    ) -> Finished:
        which = which_of(request, entity_id)

        async def clear(asked: Asked) -> None:
            if recursive:
                check_recursive(asked.access, kind)
            await purge_beforehand(
                services, request, kind, [which], asked.context, recursive=recursive
            )

        do = partial(plan_delete, planner, kind, which, hard_delete, recursive)
        return await answer(request, Action.DELETE, do, before=clear if hard_delete else None)

    creating, editing, deleting = (
        Permission(action, kind.name) for action in (Action.CREATE, Action.EDIT, Action.DELETE)
    )
    putting = Permission(Action.EDIT, kind.name, also=Action.CREATE)
    named = f"{path}/name/{{fqn:path}}"
    name: Parameters = FQN
    item = f"{path}/{{entity_id:str}}"
    one: Parameters = ENTITY_ID
    patch = of_one(plan_patch, PATCH_TYPES)
    put, put_below = by_body(Action.EDIT, _put), by_body(Action.EDIT, _put_below)
    below = []
    if kind.naming.below:
        of_parent = OVERRIDE_METADATA
        below = [route("PUT", f"{path}/executable", putting, put_below, of_parent)]
    return [
        route("POST", path, creating, by_body(Action.CREATE, _create), {}),
        route("PUT", path, putting, put, OVERRIDE_METADATA),
        *(
            route("PUT", f"{item}/{key}", editing, of_one(partial(_put_alone, key)), one)
            for key in kind.own_paths.put
        ),
        *(
            route("DELETE", f"{item}/{key}", editing, of_one(partial(_delete_alone, key)), one)
            for key in kind.own_paths.deleted
        ),
        *(
            route("PUT", f"{item}/{place}", editing, of_one(partial(_put_into, key)), one)
            for place, key in kind.own_paths.added_to.items()
        ),
        route("PATCH", item, editing, patch, one),
        route("PATCH", named, editing, patch, name),
        route("DELETE", item, deleting, delete, {**one, **_DELETE}),
        route("DELETE", named, deleting, delete, {**name, **_DELETE}),
        route("PUT", f"{path}/restore", editing, by_body(Action.EDIT, plan_restore), {}),
        bulk_route(kind, services),
        *delete_stale_routes(kind, services),
        *below,
    ]


def _given(kind: EntityKind, action: Action, asked: Asked) -> dict[str, Any]:
    """The body of a request that creates or changes an entity; raises FieldWithheld."""
    values = decode(asked.body, dict[str, Any], "the body")
    if withheld := asked.access.withheld(action, kind.name):
        withheld.refuse_writing(values, replacing=action is Action.EDIT)
    return values


def _refuse_withheld(kind: EntityKind, asked: Asked, operation: dict[str, Any]) -> None:
    """Raise FieldWithheld for a change that `operation` of a JSON Patch would be."""
    if withheld := asked.access.withheld(Action.EDIT, kind.name):
        withheld.refuse_patching([operation])


def _create(planner: Planner, kind: EntityKind, asked: Asked) -> Callable[[], Plan]:
    context = replace(asked.context, may_bring=may_bring(asked.access, kind))
    return partial(planner.create, kind, _given(kind, Action.CREATE, asked), context)


def _put(
    planner: Planner, kind: EntityKind, asked: Asked, override_metadata: bool
) -> Callable[[], Plan]:
    context = replace(
        asked.context,
        override_metadata=override_metadata,
        may_bring=may_bring(asked.access, kind),
    )
    return partial(planner.put, kind, _given(kind, Action.EDIT, asked), context)


def _put_below(
    planner: Planner, kind: EntityKind, asked: Asked, override_metadata: bool
) -> Callable[[], Plan]:
    """A PUT of the one entity of a kind below its parent, which the body has to name."""
    parent = kind.parents[0]
    if not decode(asked.body, dict[str, Any], "the body").get(parent):
        raise InvalidInput(f"{kind.name}: needs its parent in {parent}")
    return _put(planner, kind, asked, override_metadata)


def _put_alone(
    key: str, planner: Planner, kind: EntityKind, entity_id: str, asked: Asked
) -> Callable[[], Plan]:
    value = decode(asked.body, dict[str, Any], "the body")
    _refuse_withheld(kind, asked, {"op": "add", "path": f"/{key}", "value": value})
    return partial(planner.put_alone, kind, entity_id, key, value, asked.context)


def _put_into(
    key: str, planner: Planner, kind: EntityKind, entity_id: str, asked: Asked
) -> Callable[[], Plan]:
    given = decode(asked.body, list[Any], "the body")
    expected: Any = list[Ref] if key in kind.refers_to else list[str]
    try:
        elements: list[Ref] = msgspec.convert(given, expected)
    except msgspec.ValidationError as error:
        raise InvalidInput(f"the body: {error}") from None
    if len(elements) > MAX_REQUESTS:
        raise InvalidInput(f"a request may add {MAX_REQUESTS} elements, got {len(elements)}")
    _refuse_withheld(kind, asked, {"op": "add", "path": f"/{key}"})
    return partial(planner.put_into, kind, entity_id, key, elements, asked.context)


def _delete_alone(
    key: str, planner: Planner, kind: EntityKind, entity_id: str, asked: Asked
) -> Callable[[], Plan]:
    _refuse_withheld(kind, asked, {"op": "remove", "path": f"/{key}"})
    emptying = [{"op": "add", "path": f"/{key}", "value": None}]
    return partial(planner.patch, kind, entity_id, emptying, asked.context)


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
