"""The pages of one entity: who may open them, what their address names, and what they read."""

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
from litestar.handlers import HTTPRouteHandler
from litestar.response.base import ASGIResponse

from api.callers.permissions import Action, Permission
from api.declaring.declared_query import Parameters
from api.declaring.signatures import FQN, name_in_path
from api.pages.frame.addresses import kind_named
from api.pages.frame.documents import complete
from api.pages.frame.rendering import AnyRequest, Renderer, html
from api.pages.frame.routing import page
from api.services import Services
from api.use_cases.entity_reads import read_entity
from domain.kinds.entity_kind import EntityKind
from projections.entities.port import Include

OF_ONE = "/{kind:str}/{fqn:path}"
"""What the address of a page of an entity ends in."""


def kind_of(scope: Any) -> EntityKind:
    """The kind in the path of a request for a page of an entity; raises NotFound."""
    return kind_named(scope["path_params"]["kind"])


def may_view(scope: Any) -> Permission:
    """The permission that the page of an entity demands."""
    return Permission(Action.VIEW, kind_of(scope).name)


def may_edit(scope: Any) -> Permission:
    """The permission of a page that changes an entity and shows it."""
    return Permission(Action.EDIT, kind_of(scope).name, also=Action.VIEW)


def may_delete(scope: Any) -> Permission:
    """The permission of a page that deletes an entity and shows it."""
    return Permission(Action.DELETE, kind_of(scope).name, also=Action.VIEW)


def named_in(request: AnyRequest) -> tuple[EntityKind, str]:
    """The kind and the qualified name in the path of a page, the name as it is recorded."""
    kind = kind_of(request.scope)
    name = name_in_path(request, f"/{kind.name}/".encode())
    return kind, kind.spelled(name)


def read_shown(
    services: Services, request: AnyRequest, kind: EntityKind, fqn: str, fields: str | None = "*"
) -> tuple[bytes, str]:
    """The JSON of an entity as the caller of a page may see it, and its entity tag.

    Blocks. Raises NotFound.
    """
    given = {"fields": fields, "include": Include.ALL}
    body, more = read_entity(services, kind, request.auth, given, None, fqn=fqn)
    return body, more["headers"]["ETag"]


def read_decoded(
    services: Services, request: AnyRequest, kind: EntityKind, fqn: str, fields: str | None = "*"
) -> tuple[dict[str, Any], str]:
    """The entity that `read_shown` gives as JSON, decoded and complete, and its entity tag."""
    body, tag = read_shown(services, request, kind, fqn, fields)
    return complete(msgspec.json.decode(body)), tag


async def show_page(
    services: Services,
    renderer: Renderer,
    request: AnyRequest,
    view: str,
    values: Callable[[], dict[str, Any]],
    *,
    status: int = 200,
    **more: Any,
) -> ASGIResponse:
    """The answer with the page of a template, which is filled in as a heavy read.

    The template names what `values` gives, over which goes what is given as `more`.
    """

    def work() -> bytes:
        return renderer.page(request, f"{view}.html", **values() | more)

    return html(await services.heavy_read(request, work), status=status)


def entity_page(
    services: Services,
    renderer: Renderer,
    view: str,
    permission: Callable[[Any], Permission],
    values: Callable[..., dict[str, Any]],
    parameters: Parameters | None = None,
) -> HTTPRouteHandler:
    """The page that the template `view` shows of an entity at `/view/kind/name`.

    `values` is called in a thread with the request, the kind, the name and the parameters.
    """

    async def show(request: AnyRequest, fqn: str, **given: Any) -> ASGIResponse:
        kind, name = named_in(request)
        shown = partial(values, request, kind, name, **given)
        return await show_page(services, renderer, request, view, shown)

    return page(f"/{view}{OF_ONE}", permission, show, {**FQN, **(parameters or {})})
