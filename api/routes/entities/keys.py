"""Write one key of an entity by a path of its own, such as its followers."""

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
from litestar.handlers import HTTPRouteHandler

from api.answers.bodies import JSON_TYPES, TEXT_TYPES
from api.answers.responses import Finished
from api.callers.permissions import Action, Permission
from api.declaring.operation import Write
from api.declaring.signatures import AnyRequest, id_in_path
from api.services import Services
from api.use_cases.entity_writes import Asked, answer_write
from domain.errors import InvalidInput
from domain.kinds.bodies.components import Ref, Reference
from domain.kinds.bodies.profiling import ProfilerConfig
from domain.kinds.entity_kind import EntityKind
from domain.patches.json_input import decode
from domain.writing.bulk_put import MAX_REQUESTS
from domain.writing.planning import Planner
from domain.writing.plans import Plan

_PlanOf = Callable[..., Callable[[], Plan]]


def key_routes(kind: EntityKind, services: Services) -> list[HTTPRouteHandler]:
    """The routes that `EntityKind.own_paths` of a kind names, and those of its followers."""
    planner, own = services.catalog.planner, kind.own_paths
    answer = partial(answer_write, services, kind)

    def of_one(plan_of: _PlanOf, media_types: tuple[str, ...] = JSON_TYPES) -> Callable[..., Any]:
        async def write(request: AnyRequest, entity_id: str) -> Finished:
            do = partial(plan_of, planner, kind, id_in_path(entity_id))
            return await answer(request, Action.EDIT, do, media_types)

        return write

    async def unfollow(request: AnyRequest, entity_id: str, user_id: str) -> Finished:
        do = partial(_unfollow, id_in_path(user_id), planner, kind, id_in_path(entity_id))
        return await answer(request, Action.EDIT, do)

    editing = Permission(Action.EDIT, kind.name)
    item = f"/v1/{kind.collection}/{{entity_id:str}}"
    keys = [
        *(("PUT", key, key, _PUT_ALONE, _put_alone) for key in own.put),
        *(("DELETE", key, key, _DELETED_ALONE, _delete_alone) for key in own.deleted),
        *(("PUT", place, key, _PUT_INTO, _put_into) for place, key in own.added_to.items()),
    ]
    routes = [
        *(
            operations[place].at(method, f"{item}/{place}", editing, of_one(partial(plan_of, key)))
            for method, place, key, operations, plan_of in keys
        ),
        *(
            _PUT_TEXT[key].at(
                "PUT", f"{item}/{key}", editing, of_one(partial(_put_text, key), TEXT_TYPES)
            )
            for key in own.texts
        ),
    ]
    if FOLLOWERS in kind.keys:
        followers = f"{item}/{FOLLOWERS}"
        routes += [
            _FOLLOW.at("PUT", followers, editing, of_one(_follow)),
            _UNFOLLOW.at("DELETE", f"{followers}/{{user_id:str}}", editing, unfollow),
        ]
    return routes


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
FOLLOWERS = "followers"
_FOLLOW = Write("add{Kind}Follower", "Add a follower to a {kind}", body="Follower")
_UNFOLLOW = Write("delete{Kind}Follower", "Remove a follower from a {kind}")


def _refuse_withheld(kind: EntityKind, asked: Asked, operation: dict[str, Any]) -> None:
    """Raise FieldWithheld for a change that `operation` of a JSON Patch would be."""
    if withheld := asked.access.withheld(Action.EDIT, kind.name):
        withheld.refuse_patching([operation])


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
    _refuse_withheld(kind, asked, {"op": "add", "path": f"/{FOLLOWERS}"})
    return partial(planner.put_into, kind, entity_id, FOLLOWERS, [user], asked.context)


def _unfollow(
    user_id: str, planner: Planner, kind: EntityKind, entity_id: str, asked: Asked
) -> Callable[[], Plan]:
    _refuse_withheld(kind, asked, {"op": "remove", "path": f"/{FOLLOWERS}"})
    return partial(planner.take_from, kind, entity_id, FOLLOWERS, user_id, asked.context)
