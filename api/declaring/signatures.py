"""Makes route handlers whose parameters come from data, such as the registry of kinds."""

import re
from collections.abc import Callable, Hashable, Mapping
from functools import cache, partial
from inspect import iscoroutinefunction
from typing import Any
from urllib.parse import unquote_to_bytes

from litestar import HttpMethod, Request
from litestar.handlers import HTTPRouteHandler
from litestar.response.base import ASGIResponse
from litestar.types import HTTPScope
from litestar.utils.signature import ParsedSignature

from api.answers.responses import Deferred
from api.callers.permissions import Permission
from api.declaring.declared_query import DeclaredQuery, Parameters, in_path
from domain.errors import InvalidInput, NotFound
from domain.kinds.ids import parse_id

AnyRequest = Request[Any, Any, Any]
Revision = Callable[[], Hashable]
"""Tells what an answer is made from: it stays good until the result is another one."""

_TYPE_IN_PATH = re.compile(r":[a-z]+\}")
"""The type of a parameter in a path, which the template of the path does not show."""

FQN: Parameters = {"fqn": in_path(str)}


class JsonRoute:
    """A route, declared once: Litestar mounts it, and `api.edge.quick_path` calls it directly."""

    def __init__(
        self,
        path: str,
        permission: Permission | str,
        function: Callable[..., Any],
        query: DeclaredQuery,
        revision: Revision | None,
    ) -> None:
        """`function` is given the request, and the parameters by keyword; it may be async.

        An answer that it makes at once is good for as long as `revision` stays the same, if given.
        """
        self.template = _TYPE_IN_PATH.sub("}", path)
        self.permission = permission
        self._is_async = iscoroutinefunction(function)
        self.revision = revision
        self._function = function
        self.query = query

    def start(self, request: AnyRequest) -> ASGIResponse:
        """The answer to a request that was let in; an async function is called when it is sent.

        Raises InvalidInput for the parameters, and what a function raises that is not async.
        """
        values = self.query.values(request.scope)
        if self._is_async:
            return Deferred(partial(self._function, **values))
        response: ASGIResponse = self._function(request, **values)
        return response


def _start(request: AnyRequest) -> ASGIResponse:
    declared: JsonRoute = request.route_handler.opt["route"]
    return declared.start(request)


class MountedHandler(HTTPRouteHandler):
    """The handler of a JsonRoute, of which Litestar learns the signature once for all of them.

    There are hundreds, and learning it of each would take longer than all else of a start.
    """

    @property
    def parsed_fn_signature(self) -> ParsedSignature:
        """The signature that all share: a request in, a response out."""
        return _learned().parsed_fn_signature

    @property
    def signature_model(self) -> Any:
        """The model of this signature."""
        return _learned().signature_model

    def create_kwargs_model(self, path_parameters: Any) -> Any:
        """What Litestar takes from a request for this signature: nothing but the request."""
        return _kwargs_model()


@cache
def _learned() -> HTTPRouteHandler:
    return HTTPRouteHandler("/", http_method=HttpMethod.GET, sync_to_thread=False)(_start)


@cache
def _kwargs_model() -> Any:
    return _learned().create_kwargs_model({})


def id_in_path(text: str) -> str:
    """The id in a path; raises NotFound for a word that names a resource in OpenMetadata."""
    if text in _RESERVED:
        raise NotFound(f"there is no resource {text!r} here")
    return parse_id(text, "id")


_RESERVED = frozenset({"deleteStale", "entity"})
"""Words that OpenMetadata's client sends in place of an id; only a 404 makes it fall back."""


def route(
    method: str,
    path: str,
    permission: Permission | str,
    function: Callable[..., Any],
    parameters: Parameters,
    *,
    unsupported: Mapping[str, str | None] | None = None,
    snake_too: bool = False,
    revision: Revision | None = None,
) -> HTTPRouteHandler:
    """A handler that calls `function` with a request and the declared parameters by keyword.

    `permission` is what the access middleware demands; see api.callers.permissions. `unsupported`
    and `snake_too` are those of DeclaredQuery. For `revision` see JsonRoute.
    """
    query = DeclaredQuery(parameters, unsupported, snake_too=snake_too)
    declared = JsonRoute(path, permission, function, query, revision)

    return MountedHandler(
        path,
        # HEAD is answered as GET is, without the body.
        http_method=[HttpMethod.GET, HttpMethod.HEAD] if method == "GET" else HttpMethod(method),
        # What an answer says itself counts, not this.
        status_code=200,
        opt={"permission": permission, "route": declared},
        media_type="application/json",
        sync_to_thread=False,
    )(_start)


def name_in_path(request: Request[Any, Any, Any], marker: bytes = b"/name/") -> str:
    """The qualified name after `/name/`, or another marker, as the client percent-encoded it.

    The name is read from the raw path, because routing merges slashes that belong to the name.
    """
    scope: HTTPScope = request.scope
    raw = scope["raw_path"].partition(b"?")[0]
    try:
        return unquote_to_bytes(raw.partition(marker)[2]).decode()
    except UnicodeDecodeError:
        raise InvalidInput("the name in the path is not UTF-8") from None
