"""The pages of one entity: who may open them, what their address names, reads and changes."""

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

import msgspec
from litestar.handlers import HTTPRouteHandler
from litestar.response.base import ASGIResponse

from api.callers.permissions import Access, Action, Permission
from api.declaring.declared_query import Parameters
from api.declaring.signatures import name_in_path
from api.errors import Forbidden, status_of
from api.pages.frame.documents import complete
from api.pages.frame.moments import DATE, Moment, date_values, moment_asked
from api.pages.frame.rendering import AnyRequest, Renderer, html
from api.pages.frame.routing import page
from api.paths.entity_pages import entity_address
from api.services import Services
from api.use_cases.entity_reads import entity_form, read_entity
from api.use_cases.entity_writes import Asked, PlanOf, context_of, write_entity
from api.use_cases.past import read_past_entity
from domain.errors import CatalogError, InvalidInput, NotEmpty, NotFound, StaleVersion
from domain.kinds.entity_kind import EntityKind
from domain.kinds.registry import KINDS
from projections.entities.list_port import Include, PastOfList

REFUSALS = (CatalogError, Forbidden)
"""Errors that are shown beside the form that was sent."""
OF_ONE = "/{kind:str}/{fqn:path}"
"""Ending of the address of a page of an entity."""


def kind_of(scope: Any) -> EntityKind:
    """The kind in the path of a request for a page of an entity; raises NotFound."""
    name = scope["path_params"]["kind"]
    if name not in KINDS:
        raise NotFound(f"there is no kind {name[:80]!r}")
    return KINDS[name]


def of_kind(action: Action, also: Action | None = None) -> Callable[[Any], Permission]:
    """A function that gives the permission for the kind in the path of a request for a page."""
    return lambda scope: Permission(action, kind_of(scope).name, also)


def of_contracts(action: Action, also: Action | None = None) -> Callable[[Any], Permission]:
    """The function of `of_kind` for pages of contracts; it raises NotFound for other kinds."""

    def needed(scope: Any) -> Permission:
        kind = kind_of(scope)
        if kind.agreement is None:
            raise NotFound(f"only contracts have this page, and {kind.name} is none")
        return Permission(action, kind.name, also)

    return needed


may_view = of_kind(Action.VIEW)
may_edit, may_delete = of_kind(Action.EDIT, Action.VIEW), of_kind(Action.DELETE, Action.VIEW)
"""Permissions of the pages that change, or delete, an entity and show it."""


class EntityRequest(msgspec.Struct, frozen=True):
    """A request for a page of an entity, and the entity that its address names."""

    services: Services
    request: AnyRequest
    kind: EntityKind
    name: str
    """The qualified name as it is recorded."""
    moment: Moment | None = None
    """The moment of the past that the page is of; None for the present."""

    @property
    def past(self) -> PastOfList | None:
        """The past that lists of the page are of."""
        return self.moment.past if self.moment else None

    def dated(self, address: str) -> str:
        """The address of another page as of the moment of this one."""
        return address if self.moment is None else self.moment.dated(address)

    def address(self, fqn: str, view: str = "entity") -> str:
        """The page of an entity of the kind, or another view of it, as of the same moment."""
        return self.dated(entity_address(self.kind.name, fqn, view))

    @property
    def access(self) -> Access:
        """The rights of the caller."""
        granted: Access = self.request.auth
        return granted

    def read(self, fields: str | None = "*") -> tuple[bytes, str]:
        """The JSON of the entity as far as the caller may see it, and its entity tag.

        Blocks. Raises NotFound, and Purged for the past of an entity.
        """
        given = {"fields": fields, "include": Include.ALL}
        services, kind, access = self.services, self.kind, self.access
        if self.moment is None:
            form = entity_form(kind, access, given)
            body, more = read_entity(services, kind, form, None, fqn=self.name)
        else:
            position = self.moment.position
            body, more = read_past_entity(services, kind, access, given, position, fqn=self.name)
        return body, more["headers"]["ETag"]

    def decoded(self, fields: str | None = "*") -> tuple[dict[str, Any], str]:
        """The entity that `read` gives as JSON, decoded and complete, and its entity tag."""
        body, tag = self.read(fields)
        return complete(msgspec.json.decode(body)), tag


class EntityPages:
    """Makes the pages of entities, each of a template and of what reads the values for it."""

    def __init__(self, services: Services, renderer: Renderer) -> None:
        self._services = services
        self._renderer = renderer

    def asked(self, request: AnyRequest) -> EntityRequest:
        """The entity that the path of a page names, by kind and name; raises NotFound."""
        kind = kind_of(request.scope)
        name = name_in_path(request.scope, f"/{kind.name}/".encode())
        return EntityRequest(self._services, request, kind, kind.spelled(name))

    async def asked_as_of(
        self, request: AnyRequest, at: str | None, as_of: str | None
    ) -> EntityRequest:
        """The request that `asked` gives, as of the moment that the parameters DATE name.

        Raises what `asked` and `moment_asked` raise.
        """
        moment = await moment_asked(self._services, request, at, as_of)
        return msgspec.structs.replace(self.asked(request), moment=moment)

    async def answer(
        self,
        at: EntityRequest,
        view: str,
        values: Callable[[EntityRequest], dict[str, Any]],
        *,
        status: int = 200,
        **more: Any,
    ) -> ASGIResponse:
        """The answer with the page of a template, which is filled in as a heavy read.

        The template names what `values` gives, over which goes what is given as `more`.
        """

        def work() -> bytes:
            return self._renderer.page(at.request, f"{view}.html", **values(at) | more)

        return html(await self._services.heavy_read(at.request, work), status=status)

    def page(
        self,
        view: str,
        permission: Callable[[Any], Permission],
        values: Callable[..., dict[str, Any]],
        parameters: Parameters = MappingProxyType({}),
        *,
        has_past: bool = False,
    ) -> HTTPRouteHandler:
        """The page that the template `view` shows of an entity at `/view/kind/name`.

        `values` is called in a thread with the request and the parameters. A page that `has_past`
        is shown as of a date, too.
        """

        async def show(request: AnyRequest, **given: Any) -> ASGIResponse:
            return await self.answer(self.asked(request), view, partial(values, **given))

        async def show_dated(
            request: AnyRequest, at: str | None, as_of: str | None, **given: Any
        ) -> ASGIResponse:
            asked = await self.asked_as_of(request, at, as_of)
            shown = partial(values, **given)
            return await self.answer(asked, view, shown, **self.date_values(asked, view))

        path = f"/{view}{OF_ONE}"
        if has_past:
            return page(path, permission, show_dated, {**parameters, **DATE})
        return page(path, permission, show, parameters)

    def date_values(self, at: EntityRequest, view: str) -> dict[str, Any]:
        """The values by which a view of an entity shows its date."""
        return date_values(entity_address(at.kind.name, at.name, view), at.request, at.moment)


def needed(fields: Mapping[str, str], name: str) -> str:
    """A field that a form must have; raises InvalidInput."""
    if name not in fields:
        raise InvalidInput(f"the form has no {name}")
    return fields[name]


async def change(at: EntityRequest, plan_of: PlanOf, body: bytes, tag: str) -> None:
    """Do a write with the body that a program would send, if the entity still has an ETag.

    Raises what `write_entity` raises. Where the entity has another state by now, that state is
    what pages show from then on.
    """
    services, target = at.services, at.request.scope["raw_path"]
    asked = Asked(target, body, context_of(at.request, tag), at.access)
    try:
        await write_entity(services, at.request, asked, plan_of, lambda _: None)
    except StaleVersion:
        head = await services.heavy_read(at.request, services.catalog.store.head)
        await services.listed.until(head)
        raise


def refusal(error: Exception) -> tuple[int, str]:
    """The status and the words of one of REFUSALS."""
    if isinstance(error, NotEmpty):
        # The message of the error is for programs: it names the parameter that deletes all.
        return status_of(error)[0], "It is not empty: it goes only with everything below it."
    if isinstance(error, CatalogError):
        return status_of(error)[0], error.message
    return 403, str(error)
