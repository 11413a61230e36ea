"""Routes of pages and forms, for browsers with a session in place of a bearer token."""

from collections.abc import Awaitable, Callable, Collection, Iterable
from functools import partial
from hmac import compare_digest
from typing import Any
from urllib.parse import parse_qsl

from litestar.exceptions import NotFoundException
from litestar.handlers import HTTPRouteHandler
from litestar.response.base import ASGIResponse

from api.answers.bodies import check_media_type, read_body
from api.answers.responses import Finished
from api.callers.permissions import PUBLIC, Access, Action, Permission
from api.callers.sign_in.sessions import Sessions
from api.callers.work_queue import WorkQueue
from api.declaring.declared_query import Parameters
from api.declaring.signatures import route
from api.errors import Forbidden
from api.pages.frame.addresses import ASSETS, asset_address, read_asset
from api.pages.frame.rendering import HEADERS, TYPED, AnyRequest
from domain.errors import InvalidInput

FORM = "application/x-www-form-urlencoded"
TOKEN_FIELD = "form_token"
_MOST_FIELDS = 200
MOST_BYTES, _MOST_BYTES_OF_ANYBODY = 500_000, 16_384
"""Most bytes of a form, and of one that needs no session. To read a form with escapes takes memory
of 80 times its size.
"""
_SMALL = 16_384
"""Bytes of a form that is read on the event loop; only signed-in callers may send more."""
turns = WorkQueue(1)
"""Large forms are read one at a time, for the memory that each takes meanwhile."""
_TEXT = "value"
"""The field with the text of a person, which must not be lost."""


async def read_form(request: AnyRequest, sessions: Sessions, *, signed_in: bool) -> dict[str, str]:
    """The fields of a form, each once, without the token that shows where the form comes from.

    A caller who is not signed in has no such token: the origin that the browser names must do.
    Raises Forbidden for a form of another site, and InvalidInput for what is none.
    """
    refuse_other_sites(request, sessions)
    check_media_type(request.headers.get("content-type"), (FORM,))
    body = await read_body(request, MOST_BYTES if signed_in else _MOST_BYTES_OF_ANYBODY)
    read = partial(_fields, body)
    form = read() if len(body) <= _SMALL else await turns.go_on(request.user.name, read)
    request.scope["state"][TYPED] = form.get(_TEXT)
    given = form.pop(TOKEN_FIELD, "")
    if signed_in:
        wanted = sessions.form_token(request.scope["headers"])
        if not compare_digest(given.encode(), wanted.encode()):
            raise Forbidden("this form is not of your session any more: load its page again")
    return form


def _fields(body: bytes) -> dict[str, str]:
    """The fields of a form, each once; raises InvalidInput for a malformed form."""
    try:
        pairs = parse_qsl(
            body.decode(),
            keep_blank_values=True,
            strict_parsing=True,
            errors="strict",
            max_num_fields=_MOST_FIELDS,
        )
    except ValueError:
        raise InvalidInput("the body is not a form") from None
    form = dict(pairs)
    if len(form) < len(pairs):
        raise InvalidInput("the form has a field twice")
    return form


def refuse_other_sites(request: AnyRequest, sessions: Sessions) -> None:
    """Raise Forbidden for a request that no page of ours has made a browser send.

    Browsers say in one header or both where a form comes from, in each once.
    """
    sites = request.headers.getall("sec-fetch-site", [])
    origins = request.headers.getall("origin", [])
    if (
        not (sites or origins)
        or any(site != "same-origin" for site in sites)
        or not all(sessions.is_own_host(origin, request.scope) for origin in origins)
    ):
        raise Forbidden("only pages of this catalog may send this")


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


async def show_asset(request: AnyRequest) -> Finished:
    """The answer with a file that pages load."""
    name = request.path_params["name"]
    # Another digest is that of another version: it may not be kept as this one.
    if name not in ASSETS or asset_address(name) != request.scope["path"]:
        raise NotFoundException
    kept = {**HEADERS, "Cache-Control": "public, max-age=31536000, immutable"}
    return Finished(read_asset(name), media_type=ASSETS[name], headers=kept)


def wants_page(scope: Any) -> bool:
    """True if the answer to a request, also to one without a route, is a page.

    Requests for pages are answered with one, and so are requests of browsers without a route.
    """
    handler = scope.get("route_handler")
    if handler is not None and "permission" in handler.opt:
        return bool(handler.opt.get("page")) and accepts_html(scope)
    return accepts_html(scope) and not scope["path"].startswith(("/v1/", "/docs/"))


def accepts_html(scope: Any) -> bool:
    """True if the Accept header of a client names HTML, as browsers do and programs do not."""
    return any(b"text/html" in value for name, value in scope["headers"] if name == b"accept")


def hidden_fields(
    access: Access, action: Action, kinds: Iterable[str], shown: Collection[str] | None = None
) -> list[str]:
    """The paths of some kinds that an action withholds, in order.

    `shown` are the keys that a page has a place for; without it the page shows all keys. The result
    follows from the policies alone, never from stored values.
    """
    return sorted(
        {
            path
            for kind in kinds
            if (withheld := access.withheld(action, kind)) is not None
            for path in withheld.paths
            if shown is None or path.partition(".")[0] in shown
        }
    )
