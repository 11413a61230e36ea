"""Buttons for a whole entity: undo, delete, restore, and the steps of its status."""

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
from litestar.handlers import HTTPRouteHandler
from litestar.response.base import ASGIResponse

from api.callers.sign_in.sessions import Sessions
from api.declaring.signatures import FQN
from api.errors import Forbidden
from api.pages.entities.changing import REFUSALS, change, may_delete, may_edit, needed, refusal
from api.pages.entities.editable import may_set_status, sees_all
from api.pages.entities.entity import entity_values, kind_of, name_of, read_shown
from api.pages.frame.addresses import entity_address
from api.pages.frame.documents import complete
from api.pages.frame.rendering import AnyRequest, Renderer, html, redirect
from api.pages.frame.routing import form, page
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

Body = Callable[[], bytes]


def step_pages(
    services: Services, sessions: Sessions, renderer: Renderer
) -> list[HTTPRouteHandler]:
    """The pages that ask before something is done, and where all forms of the kind are sent."""
    planner = services.catalog.planner

    def deletion(request: AnyRequest, problem: str | None = None) -> bytes:
        kind, name = kind_of(request.scope), name_of(request, "delete")
        body, tag = read_shown(services, request, kind, name)
        entity = complete(msgspec.json.decode(body))
        if entity["deleted"]:
            raise NotFound(f"{kind.name} {name} is deleted already")
        return renderer.page(
            request,
            "delete.html",
            kind=kind.name,
            entity=entity,
            etag=tag,
            below=_may_delete_below(request, kind),
            problem=problem,
        )

    def undoing(request: AnyRequest, problem: str | None = None) -> bytes:
        kind, name = kind_of(request.scope), name_of(request, "undo")
        entity, tag, last = _last_step(services, request, kind, name)
        last.undoing()
        made = last.description
        changes = (*made.fields_added, *made.fields_updated, *made.fields_deleted) if made else ()
        return renderer.page(
            request,
            "undo.html",
            kind=kind.name,
            entity=entity,
            etag=tag,
            changes=changes[:_MOST_CHANGES],
            more=len(changes[_MOST_CHANGES:]),
            before=made and bytes(made.previous_version).decode(),
            problem=problem,
        )

    def again(view: str, request: AnyRequest, problem: str | None = None) -> bytes:
        """The page of the entity after one of its buttons."""
        kind, name = kind_of(request.scope), name_of(request, view)
        values = entity_values(services, request, kind, name)
        return renderer.page(request, "entity.html", **values | {"problem": problem})

    async def act(
        request: AnyRequest,
        view: str,
        fields: dict[str, str],
        plan_of: PlanOf,
        body: Body,
        back: Callable[..., bytes],
    ) -> ASGIResponse:
        """Do the action of a form, and go to the entity; or show `back` with the error."""
        kind, name = kind_of(request.scope), name_of(request, view)
        try:
            given = await services.heavy_read(request, body)
            await change(services, request, plan_of, given, needed(fields, "etag"))
        except StaleVersion:
            return html(await services.heavy_read(request, partial(back, request, _STALE)))
        except REFUSALS as error:
            status, problem = refusal(error)
            return html(
                await services.heavy_read(request, partial(back, request, problem)), status=status
            )
        return redirect(entity_address(kind.name, name))

    async def show_deletion(request: AnyRequest, fqn: str) -> ASGIResponse:
        return html(await services.heavy_read(request, partial(deletion, request)))

    async def show_undoing(request: AnyRequest, fqn: str) -> ASGIResponse:
        return html(await services.heavy_read(request, partial(undoing, request)))

    async def delete(request: AnyRequest, fields: dict[str, str]) -> ASGIResponse:
        kind, recursive = kind_of(request.scope), "below" in fields
        plan = partial(plan_delete, planner, kind, needed(fields, "id"), False, recursive)
        return await act(request, "delete", fields, plan, lambda: b"", deletion)

    async def restore(request: AnyRequest, fields: dict[str, str]) -> ASGIResponse:
        plan = partial(plan_restore, planner, kind_of(request.scope))
        body = msgspec.json.encode({"id": needed(fields, "id")})
        return await act(request, "restore", fields, plan, lambda: body, partial(again, "restore"))

    async def undo(request: AnyRequest, fields: dict[str, str]) -> ASGIResponse:
        kind, name = kind_of(request.scope), name_of(request, "undo")

        def body() -> bytes:
            _, _, last = _last_step(services, request, kind, name)
            return msgspec.json.encode(last.undoing())

        plan = partial(plan_patch, planner, kind, needed(fields, "id"))
        return await act(request, "undo", fields, plan, body, undoing)

    async def set_status(request: AnyRequest, fields: dict[str, str]) -> ASGIResponse:
        kind, target = kind_of(request.scope), needed(fields, "to")
        if not may_set_status(kind, request.auth):
            raise Forbidden(f"you cannot change the status of {kind.name}")
        operation = {"op": "add", "path": f"/{STATUS}", "value": target}
        plan = partial(plan_patch, planner, kind, needed(fields, "id"))
        return await act(
            request,
            "status",
            fields,
            plan,
            lambda: msgspec.json.encode([operation]),
            partial(again, "status"),
        )

    of_one = "/{kind:str}/{fqn:path}"
    return [
        page(f"/delete{of_one}", may_delete, show_deletion, FQN),
        form(f"/delete{of_one}", may_delete, delete, sessions),
        page(f"/undo{of_one}", may_edit, show_undoing, FQN),
        form(f"/undo{of_one}", may_edit, undo, sessions),
        form(f"/restore{of_one}", may_edit, restore, sessions),
        form(f"/status{of_one}", may_edit, set_status, sessions),
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
    body, tag = read_shown(services, request, kind, name)
    entity = complete(msgspec.json.decode(body))
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
