"""The list of each kind: as it is, as it was, and two moments of it side by side."""

from functools import cache
from typing import Any

from litestar.handlers import HTTPRouteHandler
from litestar.response.base import ASGIResponse

from api.callers.permissions import Access, Action
from api.declaring.declared_query import DeclaredQuery, Parameters, query
from api.declaring.unsupported_parameters import UNSUPPORTED
from api.pages.entities.browse import SHOWN_KEYS
from api.pages.entities.entity_routes import kind_of, of_kind
from api.pages.entities.two_moments import TwoMoments, read_two_moments
from api.pages.frame.addresses import list_address
from api.pages.frame.documents import complete
from api.pages.frame.moments import DATE, date_values, moment_asked, moment_beside
from api.pages.frame.rendering import AnyRequest, Renderer, html
from api.pages.frame.routing import hidden_fields, page
from api.services import Services
from api.use_cases.list_parameters import list_parameters
from api.use_cases.lists import read_list, wanted_list
from domain.errors import InvalidInput
from domain.kinds.entity_kind import EntityKind
from domain.kinds.registry import KINDS
from projections.entities.list_pages import place_asked
from projections.entities.list_port import PastOfList

PAGE_SIZE = 50
MOST_BESIDE = 100
"""Entities of a page that has two moments side by side."""
_CURSORS = ("after", "before")
_MOMENTS: Parameters = {
    **DATE,
    "beside": query(str, "Another moment: a position of the log, a time, or `now`."),
}


def list_pages(services: Services, renderer: Renderer) -> list[HTTPRouteHandler]:
    """The page of each kind's list."""

    async def show(
        request: AnyRequest, at: str | None, as_of: str | None, beside: str | None
    ) -> ASGIResponse:
        kind = kind_of(request.scope)
        given = _given(kind, request)
        if beside is not None:
            return await side_by_side(request, kind, at, as_of, beside, given)
        # Check the cursor before waiting for its position, which may be made up.
        place_asked(wanted_list(kind, request.auth, None, **given))
        cursor = given.get("after") or given.get("before")
        moment = await moment_asked(services, request, at, as_of, cursor)

        def work() -> bytes:
            past = moment.past if moment else None
            page = read_list(services, kind, request.auth, past, **{"limit": PAGE_SIZE} | given)
            kept = _without_cursors(given)
            return renderer.page(
                request,
                "list.html",
                kind=kind.name,
                items=[complete(each) for each in page["data"]],
                total=page["paging"]["total"],
                statuses=_statuses(services, kind, request.auth, past, kept),
                kept=kept,
                paging=page["paging"],
                hidden_fields=hidden_fields(request.auth, Action.LIST, [kind.name], SHOWN_KEYS),
                **date_values(list_address(kind.name), request, moment),
            )

        return html(await services.heavy_read(request, work))

    async def side_by_side(
        request: AnyRequest,
        kind: EntityKind,
        at: str | None,
        as_of: str | None,
        beside: str,
        given: dict[str, Any],
    ) -> ASGIResponse:
        if given.setdefault("limit", PAGE_SIZE) not in range(1, MOST_BESIDE + 1):
            raise InvalidInput(
                f"limit must be from 1 to {MOST_BESIDE} with beside, got {given['limit']}"
            )
        one = await moment_asked(services, request, at, as_of)
        if one is None:
            raise InvalidInput("beside is another moment than that of at or asOf: give one of them")
        other = await moment_beside(services, request, beside)

        def work() -> bytes:
            moments = TwoMoments(one, other)
            found = read_two_moments(services, kind, request.auth, moments, given)
            return renderer.page(
                request,
                "two_moments.html",
                kind=kind.name,
                found=found,
                moments=moments,
                kept=_without_cursors(given),
                hidden_fields=hidden_fields(request.auth, Action.LIST, [kind.name], SHOWN_KEYS),
                **date_values(list_address(kind.name), request, one),
            )

        return html(await services.heavy_read(request, work))

    return [page("/browse/{kind:str}", of_kind(Action.LIST), show, _MOMENTS)]


def _given(kind: EntityKind, request: AnyRequest) -> dict[str, Any]:
    """The parameters of the kind's list that the address of a page has, but for its moments.

    Raises InvalidInput.
    """
    names, declared = _declared(kind.name)
    values = declared.values(request.scope)
    given = request.query_params
    return {name: values[name] for name in names if declared.names[name] in given}


@cache
def _declared(kind: str) -> tuple[tuple[str, ...], DeclaredQuery]:
    """The parameters of a kind's list, and the query of its page, made when it is first asked for.

    Making the type of a query takes longer than reading a list.
    """
    parameters = list_parameters(KINDS[kind])
    declared = DeclaredQuery({**parameters, **_MOMENTS}, UNSUPPORTED.get(kind, {}))
    return tuple(parameters), declared


def _without_cursors(given: dict[str, Any]) -> dict[str, Any]:
    """The parameters that all pages of a list have in common."""
    return {name: value for name, value in given.items() if name not in _CURSORS}


def _statuses(
    services: Services,
    kind: EntityKind,
    access: Access,
    past: PastOfList | None,
    given: dict[str, Any],
) -> list[tuple[str | None, int]]:
    """The statuses of a kind, none first, each with the number of those in a list."""
    shown = []
    for status in (None, *kind.statuses) if kind.statuses else ():
        page = read_list(services, kind, access, past, **given | {"status": status, "limit": 0})
        shown.append((status, page["paging"]["total"]))
    return shown
