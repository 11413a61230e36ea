"""The page of the datasets that pipelines name and the catalog does not have."""

from typing import Any

from litestar.handlers import HTTPRouteHandler
from litestar.response.base import ASGIResponse

from api.callers.permissions import Action, Permission
from api.declaring.declared_query import Parameters, query
from api.openlineage.unresolved import UnresolvedPage, check_list, unresolved_page
from api.pages.frame.addresses import with_query
from api.pages.frame.rendering import AnyRequest, Renderer, html
from api.pages.frame.routing import page
from api.services import Services
from domain.edges import EDGE

ADDRESS = "/unresolved"
SHOWN, NAMESPACES = 100, 30
"""Datasets of a page, and namespaces that it names, those with most datasets first."""
_PARAMETERS: Parameters = {
    "namespace": query(str, "The datasets of this namespace alone."),
    "after": query(str, "The cursor of the page before this one."),
}


def unresolved_pages(services: Services, renderer: Renderer) -> list[HTTPRouteHandler]:
    """The page of the datasets without an entity."""

    async def show(request: AnyRequest, namespace: str | None, after: str | None) -> ASGIResponse:
        check_list(request.auth)

        def work() -> bytes:
            found = unresolved_page(services.measurements, namespace or None, SHOWN, after or None)
            return renderer.page(request, "unresolved.html", **_values(found, namespace or ""))

        return html(await services.heavy_read(request, work))

    return [page(ADDRESS, Permission(Action.VIEW, EDGE), show, _PARAMETERS)]


def _values(found: UnresolvedPage, namespace: str) -> dict[str, Any]:
    """The values of the template."""
    following = found.paging.after
    return {
        "datasets": found.data,
        "total": found.paging.total,
        "namespaces": [
            (each, with_query(ADDRESS, {"namespace": each.namespace}))
            for each in found.namespaces[:NAMESPACES]
        ],
        "namespace": namespace,
        "all": ADDRESS,
        "next": following and with_query(ADDRESS, {"namespace": namespace, "after": following}),
    }
