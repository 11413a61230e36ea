"""Routes of pages, for browsers with a session in place of a bearer token."""

from collections.abc import Awaitable, Callable
from typing import Any

from litestar.handlers import HTTPRouteHandler
from litestar.response.base import ASGIResponse

from api.callers.permissions import PUBLIC, Permission
from api.callers.sign_in.sessions import Sessions
from api.declaring.declared_query import Parameters
from api.declaring.signatures import route
from api.pages.frame.forms import read_form
from api.pages.frame.rendering import AnyRequest

Needed = Permission | str | Callable[[Any], Permission | str]
"""The permission that a page demands; a function derives it from the scope of a request."""
Show = Callable[..., Awaitable[ASGIResponse]]
Take = Callable[[AnyRequest, dict[str, str]], Awaitable[ASGIResponse]]


def page(
    path: str, permission: Needed, show: Show, parameters: Parameters | None = None
) -> HTTPRouteHandler:
    """A page at a path; `show` is called with the request and the parameters declared."""
    return _of_pages("GET", path, permission, show, parameters or {})


def form(path: str, permission: Needed, take: Take, sessions: Sessions) -> HTTPRouteHandler:
    """The route of a form; `take` gets its fields after the check that a page of ours has sent it.

    There is no other way to take a POST of a page, so that none goes unchecked.
    """

    async def checked(request: AnyRequest) -> ASGIResponse:
        fields = await read_form(request, sessions, signed_in=permission != PUBLIC)
        return await take(request, fields)

    return _of_pages("POST", path, permission, checked, {})


def _of_pages(
    method: str, path: str, permission: Needed, function: Any, parameters: Parameters
) -> HTTPRouteHandler:
    handler = route(method, path, permission, function, parameters)  # type: ignore[arg-type]
    handler.opt["page"] = True
    return handler


def wants_page(scope: Any) -> bool:
    """True if the answer to a request, also to one without a route, is a page.

    Whoever asks for a page is answered with one; so is a browser that no other route knows.
    """
    handler = scope.get("route_handler")
    if handler is not None and "permission" in handler.opt:
        return bool(handler.opt.get("page")) and accepts_html(scope)
    return accepts_html(scope) and not scope["path"].startswith(("/v1/", "/docs/"))


def accepts_html(scope: Any) -> bool:
    """True if the Accept header of a client names HTML, as browsers do and programs do not."""
    return any(b"text/html" in value for name, value in scope["headers"] if name == b"accept")
