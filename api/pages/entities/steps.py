"""Buttons for a whole entity: undo, delete, restore, and the steps of its status."""

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
from litestar.handlers import HTTPRouteHandler
from litestar.response.base import ASGIResponse

from api.callers.permissions import Permission
from api.callers.sign_in.sessions import Sessions
from api.errors import Forbidden
from api.pages.entities.changing import REFUSALS, change, needed, refusal
from api.pages.entities.editable import may_set_status, sees_all
from api.pages.entities.entity import entity_values
from api.pages.entities.entity_routes import (
    OF_ONE,
    entity_page,
    may_delete,
    may_edit,
    named_in,
    read_decoded,
    show_page,
)
from api.pages.frame.addresses import entity_address
from api.pages.frame.rendering import AnyRequest, Renderer, redirect
from api.pages.frame.routing import form
from api.services import Services
from api.use_cases.deletes import check_recursive
from api.use_cases.entity_writes import PlanOf, plan_delete, plan_patch, plan_restore
from domain.aggregate.entity import STATUS
from domain.errors import NotFound, StaleVersion
from domain.kinds.entity_kind import EntityKind
from domain.kinds.registry import ATTACHED, kinds_below
from domain.reading import history

_MOST_CHANGES = 50
_STALE = "Somebody changed this meanwhile, and nothing is done yet: look again, and decide anew."

Done = tuple[PlanOf, Callable[[], bytes]]
"""The write that a button asks for, and the body that a program would send for it; that blocks."""


def step_pages(
    services: Services, sessions: Sessions, renderer: Renderer
) -> list[HTTPRouteHandler]:
    """The pages that ask before something is done, and where all forms of the kind are sent."""
    planner = services.catalog.planner

    def deletion(request: AnyRequest, kind: EntityKind, name: str) -> dict[str, Any]:
        entity, tag = read_decoded(services, request, kind, name)
        if entity["deleted"]:
            raise NotFound(f"{kind.name} {name} is deleted already")
        below = _may_delete_below(request, kind)
        return {"kind": kind.name, "entity": entity, "etag": tag, "below": below, "problem": None}

    def undoing(request: AnyRequest, kind: EntityKind, name: str) -> dict[str, Any]:
        entity, tag, last = _last_step(services, request, kind, name)
        last.undoing()
        made = last.description
        changes = (*made.fields_added, *made.fields_updated, *made.fields_deleted) if made else ()
        return {
            "kind": kind.name,
            "entity": entity,
            "etag": tag,
            "changes": changes[:_MOST_CHANGES],
            "more": len(changes[_MOST_CHANGES:]),
            "before": made and bytes(made.previous_version).decode(),
            "problem": None,
        }

    def button(
        step: str,
        permission: Callable[[Any], Permission],
        done: Callable[[AnyRequest, EntityKind, str, dict[str, str]], Done],
        view: str,
        values: Callable[[AnyRequest, EntityKind, str], dict[str, Any]],
    ) -> HTTPRouteHandler:
        """The route of a form: it goes to the entity, or shows a page with the error."""

        async def take(request: AnyRequest, fields: dict[str, str]) -> ASGIResponse:
            kind, name = named_in(request)
            plan_of, body = done(request, kind, name, fields)
            try:
                given = await services.heavy_read(request, body)
                await change(services, request, plan_of, given, needed(fields, "etag"))
            except StaleVersion:
                status, problem = 200, _STALE
            except REFUSALS as error:
                status, problem = refusal(error)
            else:
                return redirect(entity_address(kind.name, name))
            again = partial(values, request, kind, name)
            return await show_page(
                services, renderer, request, view, again, status=status, problem=problem
            )

        return form(f"/{step}{OF_ONE}", permission, take, sessions)

    def delete(_: AnyRequest, kind: EntityKind, name: str, fields: dict[str, str]) -> Done:
        recursive = "below" in fields
        return partial(plan_delete, planner, kind, needed(fields, "id"), False, recursive), bytes

    def restore(_: AnyRequest, kind: EntityKind, name: str, fields: dict[str, str]) -> Done:
        body = msgspec.json.encode({"id": needed(fields, "id")})
        return partial(plan_restore, planner, kind), lambda: body

    def undo(request: AnyRequest, kind: EntityKind, name: str, fields: dict[str, str]) -> Done:
        def body() -> bytes:
            return msgspec.json.encode(_last_step(services, request, kind, name)[2].undoing())

        return partial(plan_patch, planner, kind, needed(fields, "id")), body

    def set_status(request: AnyRequest, kind: EntityKind, _: str, fields: dict[str, str]) -> Done:
        operation = {"op": "add", "path": f"/{STATUS}", "value": needed(fields, "to")}
        if not may_set_status(kind, request.auth):
            raise Forbidden(f"you cannot change the status of {kind.name}")
        plan = partial(plan_patch, planner, kind, needed(fields, "id"))
        return plan, lambda: msgspec.json.encode([operation])

    whole = partial(entity_values, services)
    return [
        entity_page(services, renderer, "delete", may_delete, deletion),
        button("delete", may_delete, delete, "delete", deletion),
        entity_page(services, renderer, "undo", may_edit, undoing),
        button("undo", may_edit, undo, "undo", undoing),
        button("restore", may_edit, restore, "entity", whole),
        button("status", may_edit, set_status, "entity", whole),
    ]


def _last_step(
    services: Services, request: AnyRequest, kind: EntityKind, name: str
) -> tuple[dict[str, Any], str, history.Revision]:
    """A shown entity, its ETag, and its last step; raises Forbidden and NotFound.

    Callers who do not see all of the kind may not even know whether the last step touched withheld
    fields.
    """
    if not sees_all(kind, request.auth):
        raise Forbidden(f"fields of {kind.name} are withheld from you, so you cannot undo a step")
    entity, tag = read_decoded(services, request, kind, name)
    version = f"{entity['version']:.1f}"
    return entity, tag, history.version(services.stores.log, kind, entity["id"], version)


def _may_delete_below(request: AnyRequest, kind: EntityKind) -> bool:
    """True if there may be anything below an entity that stays without being asked to go along,
    and that the caller may delete."""
    if kinds_below(kind.name) <= ATTACHED:
        return False
    try:
        check_recursive(request.auth, kind)
    except Forbidden:
        return False
    return True
