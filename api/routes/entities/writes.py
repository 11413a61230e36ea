"""Create, change, delete and restore entities of one kind."""

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
from litestar.handlers import HTTPRouteHandler
from msgspec.structs import replace

from api.answers.bodies import JSON_TYPES, PATCH_TYPES, TEXT_TYPES
from api.answers.responses import Finished
from api.callers.permissions import Action, Permission
from api.declaring.declared_query import Parameters, query
from api.declaring.operation import Write
from api.declaring.signatures import AnyRequest, id_in_path, name_in_path
from api.routes.entities.bulk import OVERRIDE_METADATA, bulk_route, delete_stale_routes
from api.services import Services
from api.use_cases.deletes import check_recursive, purge_beforehand
from api.use_cases.entity_writes import (
    Asked,
    answer_write,
    may_bring,
    plan_delete,
    plan_patch,
    plan_restore,
    refuse_members,
)
from domain.errors import InvalidInput
from domain.kinds.bodies.components import Ref, Reference
from domain.kinds.bodies.profiling import ProfilerConfig
from domain.kinds.entity_kind import EntityKind
from domain.patches.json_input import decode
from domain.writing.bulk_put import MAX_REQUESTS
from domain.writing.entity_cache import ByName
from domain.writing.planning import Planner
from domain.writing.plans import Plan

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

    async def unfollow(request: AnyRequest, entity_id: str, user_id: str) -> Finished:
        do = partial(_unfollow, id_in_path(user_id), planner, kind, id_in_path(entity_id))
        return await answer(request, Action.EDIT, do)

    creating, editing, deleting = (
        Permission(action, kind.name) for action in (Action.CREATE, Action.EDIT, Action.DELETE)
    )
    putting = Permission(Action.EDIT, kind.name, also=Action.CREATE)
    item, own = f"{path}/{{entity_id:str}}", kind.own_paths
    keys = [
        *(("PUT", key, key, _PUT_ALONE, _put_alone) for key in own.put),
        *(("DELETE", key, key, _DELETED_ALONE, _delete_alone) for key in own.deleted),
        *(("PUT", place, key, _PUT_INTO, _put_into) for place, key in own.added_to.items()),
    ]
    put, put_below = by_body(Action.EDIT, _plan_put), by_body(Action.EDIT, _plan_put_below)
    below = [
        _PUT_TEXT[key].at(
            "PUT", f"{item}/{key}", editing, of_one(partial(_put_text, key), TEXT_TYPES)
        )
        for key in own.texts
    ]
    if _FOLLOWERS in kind.keys:
        followers = f"{item}/{_FOLLOWERS}"
        below += [
            _FOLLOW.at("PUT", followers, editing, of_one(_follow)),
            _UNFOLLOW.at("DELETE", f"{followers}/{{user_id:str}}", editing, unfollow),
        ]
    if kind.naming.below:
        executable = f"{path}/executable"
        below.append(_PUT_BELOW.at("PUT", executable, putting, put_below, OVERRIDE_METADATA))
    return [
        _CREATE.at("POST", path, creating, by_body(Action.CREATE, _plan_create)),
        _PUT.at("PUT", path, putting, put, OVERRIDE_METADATA),
        *(
            operations[place].at(method, f"{item}/{place}", editing, of_one(partial(plan_of, key)))
            for method, place, key, operations, plan_of in keys
        ),
        *_PATCH.by_id_and_name("PATCH", path, editing, of_one(plan_patch, PATCH_TYPES)),
        *_DELETE.by_id_and_name("DELETE", path, deleting, delete, _HOW_TO_DELETE),
        _RESTORE.at("PUT", f"{path}/restore", editing, by_body(Action.EDIT, plan_restore)),
        bulk_route(kind, services),
        *delete_stale_routes(kind, services),
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
    "RFC 6902, applied to the entity as it is shown, with absent arrays as [].",
    body="JsonPatch",
)
_DELETE = Write(
    "delete{Kind}",
    "Delete a {kind}",
    "Soft-deleted entities keep their names and can be restored. A purge of more than 1,000"
    " entities and edges is made in several transactions, the entity itself in the last.",
)
_RESTORE = Write(
    "restore{Kind}",
    "Restore a soft-deleted {kind}",
    "With what was deleted by the same request.",
    body="RestoreEntity",
)
_PUT_ALONE = {
    "dataModel": Write(
        "put{Kind}DataModel",
        "Put the data model of a {kind}",
        "Replaces the data model; `rawSql` and `sql` stay where none are given.",
        body="DataModel",
    ),
    "tableProfilerConfig": Write(
        "put{Kind}ProfilerConfig",
        "Put the profiler configuration of a {kind}",
        "Replaces it. Columns that it names have to be there.",
        body=ProfilerConfig,
    ),
}
_DELETED_ALONE = {
    "tableProfilerConfig": Write(
        "delete{Kind}ProfilerConfig", "Remove the profiler configuration of a {kind}"
    )
}
_PUT_INTO = {
    place: Write(
        f"add{{Kind}}{name}",
        f"Add {what} a {{kind}}{end}",
        f"To `{key}`, as far as they are not there yet.",
        body=f"Query{name}",
    )
    for place, name, what, end, key in (
        ("usage", "Usage", "entities that", " was run for", "queryUsedIn"),
        ("users", "Users", "users who ran", "", "users"),
        ("usedBy", "UsedBy", "programs that ran", "", "usedBy"),
    )
}
_PUT_TEXT = {
    "inspectionQuery": Write(
        "put{Kind}InspectionQuery",
        "Put the query that shows the rows which failed a {kind}",
        "The body is the text of the query as it is, also where it is called `application/json`, as"
        " OpenMetadata's client does.",
        body="QueryText",
        body_types=TEXT_TYPES[:1],
    )
}
_FOLLOWERS = "followers"
_FOLLOW = Write("add{Kind}Follower", "Add a follower to a {kind}", body="Follower")
_UNFOLLOW = Write("delete{Kind}Follower", "Remove a follower from a {kind}")
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
    return ByName(kind.spelled(name_in_path(request)))


def _given(kind: EntityKind, action: Action, asked: Asked) -> dict[str, Any]:
    """The body of a request that creates or changes an entity; raises FieldWithheld."""
    values = decode(asked.body, dict[str, Any], "the body")
    if withheld := asked.access.withheld(action, kind.name):
        withheld.refuse_writing(values, replacing=action is Action.EDIT)
    refuse_members(asked.access, kind, values)
    return values


def _refuse_withheld(kind: EntityKind, asked: Asked, operation: dict[str, Any]) -> None:
    """Raise FieldWithheld for a change that `operation` of a JSON Patch would be."""
    if withheld := asked.access.withheld(Action.EDIT, kind.name):
        withheld.refuse_patching([operation])


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
    if not decode(asked.body, dict[str, Any], "the body").get(parent):
        raise InvalidInput(f"{kind.name}: needs its parent in {parent}")
    return _plan_put(planner, kind, asked, override_metadata)


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


def _put_text(
    key: str, planner: Planner, kind: EntityKind, entity_id: str, asked: Asked
) -> Callable[[], Plan]:
    try:
        value = asked.body.decode()
    except UnicodeDecodeError:
        raise InvalidInput(f"the body, the text of {key}, is not UTF-8") from None
    if not value.strip():
        raise InvalidInput(f"the body must be the text of {key}, and is empty")
    operation = {"op": "add", "path": f"/{key}", "value": value}
    _refuse_withheld(kind, asked, operation)
    return partial(planner.patch, kind, entity_id, [operation], asked.context)


def _delete_alone(
    key: str, planner: Planner, kind: EntityKind, entity_id: str, asked: Asked
) -> Callable[[], Plan]:
    _refuse_withheld(kind, asked, {"op": "remove", "path": f"/{key}"})
    emptying = [{"op": "add", "path": f"/{key}", "value": None}]
    return partial(planner.patch, kind, entity_id, emptying, asked.context)


def _follow(planner: Planner, kind: EntityKind, entity_id: str, asked: Asked) -> Callable[[], Plan]:
    user = Reference(id=decode(asked.body, str, "the body, the id of a user,"))
    _refuse_withheld(kind, asked, {"op": "add", "path": f"/{_FOLLOWERS}"})
    return partial(planner.put_into, kind, entity_id, _FOLLOWERS, [user], asked.context)


def _unfollow(
    user_id: str, planner: Planner, kind: EntityKind, entity_id: str, asked: Asked
) -> Callable[[], Plan]:
    _refuse_withheld(kind, asked, {"op": "remove", "path": f"/{_FOLLOWERS}"})
    return partial(planner.take_from, kind, entity_id, _FOLLOWERS, user_id, asked.context)
