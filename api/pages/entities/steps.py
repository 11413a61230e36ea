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
from api.pages.entities.dependents import HITS_SHOWN, dependents_of, parts_of
from api.pages.entities.editable import may_set_status, sees_all
from api.pages.entities.entity import entity_values
from api.pages.entities.entity_routes import (
    OF_ONE,
    REFUSALS,
    EntityPages,
    EntityRequest,
    change,
    may_delete,
    may_edit,
    needed,
    refusal,
)
from api.pages.frame.rendering import AnyRequest, Renderer, redirect
from api.pages.frame.routing import form
from api.services import Services
from api.use_cases.deletes import check_recursive
from api.use_cases.entity_writes import PlanOf, plan_delete, plan_patch, plan_restore
from domain.aggregate.entity import STATUS
from domain.errors import NotFound, StaleVersion
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
    planner, pages = services.catalog.planner, EntityPages(services, renderer)

    def deletion(at: EntityRequest) -> dict[str, Any]:
        entity, tag = at.decoded()
        if entity["deleted"]:
            raise NotFound(f"{at.kind.name} {at.name} is deleted already")
        parts = parts_of(at, entity["id"])
        return {
            "kind": at.kind.name,
            "entity": entity,
            "etag": tag,
            "below": _may_delete_below(at),
            "dependents": dependents_of(at, parts),
            "parts": len(parts),
            **HITS_SHOWN,
            "problem": None,
        }

    def undoing(at: EntityRequest) -> dict[str, Any]:
        entity, tag, last = _last_step(at)
        last.undoing()
        made = last.description
        changes = (*made.fields_added, *made.fields_updated, *made.fields_deleted) if made else ()
        return {
            "kind": at.kind.name,
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
        done: Callable[[EntityRequest, dict[str, str]], Done],
        view: str,
        values: Callable[[EntityRequest], dict[str, Any]],
    ) -> HTTPRouteHandler:
        """The route of a form: it goes to the entity, or shows a page with the error."""

        async def take(request: AnyRequest, fields: dict[str, str]) -> ASGIResponse:
            at = pages.asked(request)
            plan_of, body = done(at, fields)
            try:
                given = await services.heavy_read(request, body)
                await change(at, plan_of, given, needed(fields, "etag"))
            except StaleVersion:
                status, problem = 200, _STALE
            except REFUSALS as error:
                status, problem = refusal(error)
            else:
                return redirect(at.address(at.name))
            return await pages.answer(at, view, values, status=status, problem=problem)

        return form(f"/{step}{OF_ONE}", permission, take, sessions)

    def delete(at: EntityRequest, fields: dict[str, str]) -> Done:
        named, recursive = needed(fields, "id"), "below" in fields
        return partial(plan_delete, planner, at.kind, named, False, recursive), bytes

    def restore(at: EntityRequest, fields: dict[str, str]) -> Done:
        body = msgspec.json.encode({"id": needed(fields, "id")})
        return partial(plan_restore, planner, at.kind), lambda: body

    def undo(at: EntityRequest, fields: dict[str, str]) -> Done:
        def body() -> bytes:
            return msgspec.json.encode(_last_step(at)[2].undoing())

        return partial(plan_patch, planner, at.kind, needed(fields, "id")), body

    def set_status(at: EntityRequest, fields: dict[str, str]) -> Done:
        operation = {"op": "add", "path": f"/{STATUS}", "value": needed(fields, "to")}
        if not may_set_status(at.kind, at.access):
            raise Forbidden(f"you cannot change the status of {at.kind.name}")
        plan = partial(plan_patch, planner, at.kind, needed(fields, "id"))
        return plan, lambda: msgspec.json.encode([operation])

    return [
        pages.page("delete", may_delete, deletion),
        button("delete", may_delete, delete, "delete", deletion),
        pages.page("undo", may_edit, undoing),
        button("undo", may_edit, undo, "undo", undoing),
        button("restore", may_edit, restore, "entity", entity_values),
        button("status", may_edit, set_status, "entity", entity_values),
    ]


def _last_step(at: EntityRequest) -> tuple[dict[str, Any], str, history.Revision]:
    """A shown entity, its ETag, and its last step; raises Forbidden and NotFound.

    Callers who do not see all of the kind may not even know whether the last step touched withheld
    fields.
    """
    if not sees_all(at.kind, at.access):
        raise Forbidden(
            f"fields of {at.kind.name} are withheld from you, so you cannot undo a step"
        )
    entity, tag = at.decoded()
    version = f"{entity['version']:.1f}"
    return entity, tag, history.version(at.services.stores.log, at.kind, entity["id"], version)


def _may_delete_below(at: EntityRequest) -> bool:
    """True if there may be anything below an entity that stays without being asked to go along,
    and that the caller may delete."""
    if kinds_below(at.kind.name) <= ATTACHED:
        return False
    try:
        check_recursive(at.access, at.kind)
    except Forbidden:
        return False
    return True
