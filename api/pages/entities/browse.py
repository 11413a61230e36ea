"""The first page, and the lists of entities by kind: what there is, without a search."""

from typing import Annotated, Any

import msgspec
from litestar.handlers import HTTPRouteHandler
from litestar.params import PathParameter
from litestar.response.base import ASGIResponse

from api.answers.responses import Finished
from api.callers.permissions import PUBLIC, SIGNED_IN, Access, Action, Permission
from api.declaring.declared_query import DeclaredQuery, Parameters
from api.declaring.unsupported_parameters import unsupported_parameters
from api.pages.entities.entity_routes import kind_of
from api.pages.entities.relations import read_list
from api.pages.frame.addresses import kind_named, list_address
from api.pages.frame.documents import complete
from api.pages.frame.rendering import AnyRequest, Renderer, html
from api.pages.frame.routing import accepts_html, hidden_fields, page
from api.services import Services
from api.use_cases.list_parameters import list_parameters
from domain.kinds.entity_kind import EntityKind
from domain.kinds.rows import assets, databases, people, promises, vocabularies
from domain.kinds.rows import services as service_rows

PAGE_SIZE = 50
_SHOWN = ("displayName", "description")
"""Keys that a list shows and that can be withheld."""
FAMILIES: tuple[tuple[str, tuple[EntityKind, ...]], ...] = (
    ("Services", service_rows.ROWS),
    ("Databases", databases.ROWS),
    ("Assets", assets.ROWS),
    ("Promises", promises.ROWS),
    ("Vocabulary", vocabularies.ROWS),
    ("People", people.ROWS),
)
"""The families of the registry, in the order in which people look for them."""
_FOR_PROGRAMS = msgspec.json.encode(
    {"documentation": "/docs", "openapi": "/docs/openapi.json", "health": "/readyz"}
)


def for_people(scope: Any) -> str:
    """The permission of the first page: none for a program, which only gets a pointer."""
    return SIGNED_IN if accepts_html(scope) else PUBLIC


def may_list(scope: Any) -> Permission:
    """The permission that a list demands."""
    return Permission(Action.LIST, kind_of(scope).name)


def browse_pages(services: Services, renderer: Renderer) -> list[HTTPRouteHandler]:
    """The first page, and a page for the list of each kind."""

    async def first(request: AnyRequest) -> ASGIResponse:
        if not accepts_html(request.scope):
            return Finished(_FOR_PROGRAMS, headers={"Vary": "Accept"})

        def work() -> bytes:
            families = _families(services, request.auth)
            return renderer.page(request, "home.html", families=families)

        return html(await services.light_read(request, work))

    async def show(request: AnyRequest, kind: str) -> ASGIResponse:
        row = kind_named(kind)
        given = _given(row, request)

        def work() -> bytes:
            page = read_list(services, row, request.auth, **({"limit": PAGE_SIZE} | given))
            kept = {name: value for name, value in given.items() if name not in ("after", "before")}
            turned = {
                way: list_address(kind, **{way: page["paging"][way]}, **kept)
                if page["paging"].get(way)
                else None
                for way in ("before", "after")
            }
            return renderer.page(
                request,
                "list.html",
                kind=kind,
                items=[complete(each) for each in page["data"]],
                total=page["paging"]["total"],
                narrowed={name: value for name, value in kept.items() if name != "status"},
                statuses=_statuses(services, row, request.auth, kept),
                turned=turned,
                hidden_fields=hidden_fields(request.auth, Action.LIST, [kind], _SHOWN),
            )

        return html(await services.heavy_read(request, work))

    kind_in_path: Parameters = {
        "kind": (Annotated[str, PathParameter(description="Kind of entity.")], ...)
    }
    return [page("/", for_people, first), page("/browse/{kind:str}", may_list, show, kind_in_path)]


def _given(kind: EntityKind, request: AnyRequest) -> dict[str, Any]:
    """The parameters of the kind's list that the address of a page has; raises InvalidInput."""
    query = DeclaredQuery(list_parameters(kind), unsupported_parameters(kind.name))
    values = query.values(request.scope)
    return {name: values[name] for name in values if query.names[name] in request.query_params}


def _statuses(
    services: Services, kind: EntityKind, access: Access, given: dict[str, Any]
) -> list[dict[str, Any]]:
    """The statuses of a kind, each with its number in a list and the address of that part."""
    other_filters = {name: value for name, value in given.items() if name != "status"}
    shown = []
    for status in (None, *kind.statuses) if kind.statuses else ():
        narrowed = other_filters | ({"status": status} if status else {})
        page = read_list(services, kind, access, **narrowed | {"limit": 0})
        shown.append(
            {
                "name": status or "All",
                "total": page["paging"]["total"],
                "address": list_address(kind.name, **narrowed),
                "chosen": given.get("status") == status,
            }
        )
    return shown


def _families(services: Services, access: Access) -> list[dict[str, Any]]:
    """The kinds that the caller may list and that have entities, by family, with their totals."""
    shown = []
    for title, rows in FAMILIES:
        kinds = []
        for row in rows:
            if access.may(Permission(Action.LIST, row.name)):
                total = read_list(services, row, access, limit=0)["paging"]["total"]
                if total:
                    kinds.append({"name": row.name, "total": total})
        if kinds:
            shown.append({"title": title, "kinds": kinds})
    return shown
