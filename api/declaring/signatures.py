"""Makes route handlers whose parameters come from data, such as the registry of kinds."""

import re
from collections.abc import Callable, Hashable, Mapping
from functools import cache, partial
from inspect import iscoroutinefunction
from typing import Any, Literal
from urllib.parse import unquote_to_bytes

from litestar import HttpMethod, Litestar, Request
from litestar.handlers import HTTPRouteHandler
from litestar.response.base import ASGIResponse
from litestar.types import HTTPScope, Middleware
from litestar.utils import normalize_path
from litestar.utils.signature import ParsedSignature

from api.answers.responses import Deferred
from api.callers.permissions import Permission
from api.declaring.declared_query import (
    MOST_REMEMBERED_BYTES,
    DeclaredQuery,
    Parameters,
    in_path,
    is_unfiltered,
    split_cursor,
)
from api.paths.base_path import has_prefix
from domain.errors import InvalidInput, NotFound
from domain.kinds.ids import parse_id
from domain.kinds.registry import KINDS

AnyRequest = Request[Any, Any, Any]
Revision = Callable[[], Hashable]
"""Function whose result identifies the data of an answer: the answer is good until it changes."""

_TYPE_IN_PATH = re.compile(r":[a-z]+\}")
"""The type of a parameter in a path, which the template of the path does not show."""

_MOST_FORMS = 64
"""Forms of the requests for one route whose common parts are remembered."""

FQN: Parameters = {"fqn": in_path(str)}
KIND_NAME: Any = Literal.__getitem__(tuple(KINDS))
"""The type of a parameter that names a kind."""


class JsonRoute:
    """A route, declared once: Litestar mounts it, and `api.edge.quick_path` calls it directly."""

    def __init__(
        self,
        path: str,
        permission: Permission | str,
        function: Callable[..., Any],
        query: DeclaredQuery,
        revision: Revision | None,
        unfiltered: Revision | None,
        prepare: Callable[..., Any] | None,
    ) -> None:
        """`function` is given the request, and the parameters by keyword; it may be async.

        An answer that `function` makes at once is good for as long as `revision` stays the same, if
        given; the answer to a list without filters for as long as `unfiltered` does.

        `prepare`, if given, makes what all requests of one form have in common, and says if it is
        light enough to be kept. It is given the access of the caller, whether the path has the
        prefix of `base_path`, and the parameters of the query by keyword. `function` is then given
        the scope of the request, what was prepared, and by keyword the parameters of the path, and
        the cursor of a page, where that was not among the parameters.
        """
        self.template = _TYPE_IN_PATH.sub("}", path)
        self.permission = permission
        self._is_async = iscoroutinefunction(function)
        self._revision = revision
        self._unfiltered = unfiltered
        self._function = function
        self.query = query
        self._prepare = prepare
        self._has_cursor = "after" in query.names
        self._prepared: dict[Hashable, Any] = {}

    @property
    def is_remembered(self) -> bool:
        """True if answers of this route are good until a revision changes."""
        return self._revision is not None

    def revision(self, scope: Any) -> Hashable:
        """The revision of an answer to a request."""
        assert self._revision is not None
        if self._unfiltered is not None and is_unfiltered(scope["query_string"]):
            return self._unfiltered()
        return self._revision()

    def start(self, scope: Any) -> ASGIResponse:
        """The answer to a request that was let in; an async function is called when it is sent.

        Raises InvalidInput for the parameters, and what a function raises that is not async.
        """
        response: ASGIResponse
        if self._prepare is not None:
            form, given = scope["query_string"], self.query.of_path(scope)
            if self._has_cursor:
                form, cursor = split_cursor(form)
                given |= cursor
            key = form, scope["auth"], has_prefix(scope)
            prepared = self._prepared.get(key) or self._prepare_form(scope, *key)
            response = self._function(scope, prepared, **given)
            return response
        values = self.query.values(scope)
        if self._is_async:
            return Deferred(partial(self._function, **values))
        response = self._function(Request(scope), **values)
        return response

    def _prepare_form(self, scope: Any, query_string: bytes, access: Any, prefixed: bool) -> Any:
        assert self._prepare is not None
        given = self.query.of_query({**scope, "query_string": query_string})
        prepared, is_light = self._prepare(access, prefixed, **given)
        if is_light and len(query_string) <= MOST_REMEMBERED_BYTES:
            if len(self._prepared) >= _MOST_FORMS:
                self._prepared.clear()
            self._prepared[query_string, access, prefixed] = prepared
        return prepared


def _start(request: AnyRequest) -> ASGIResponse:
    declared: JsonRoute = request.route_handler.opt["route"]
    return declared.start(request.scope)


class MountedHandler(HTTPRouteHandler):
    """The handler of a JsonRoute, of which Litestar learns the signature once for all of them.

    There are hundreds, and learning it of each would take longer than all else of a start. Litestar
    is told of a handler when it is registered: the quick path needs no more than what is here.
    """

    def __init__(self, method: str, path: str, opt: dict[str, Any]) -> None:
        # HEAD is answered as GET is, without the body.
        methods: Any = {"GET", "HEAD"} if method == "GET" else {method}
        self.http_methods = methods
        self.paths = {normalize_path(path)}
        self.opt = opt

    @property
    def fn(self) -> Callable[..., Any]:
        """The function that all share."""
        return _start

    @property
    def parsed_fn_signature(self) -> ParsedSignature:
        """The signature that all share: a request in, a response out."""
        return _learned().parsed_fn_signature

    @property
    def signature_model(self) -> Any:
        """The model of this signature."""
        return _learned().signature_model

    def on_registration(self, app: Litestar) -> None:
        """Become a handler of Litestar, whose function is called at once."""
        super().__init__(
            [*self.paths],
            http_method=[*self.http_methods],
            # The status of the answer itself counts, not this one.
            status_code=200,
            opt=self.opt,
            media_type="application/json",
            sync_to_thread=False,
        )
        self.owner = app
        self.has_sync_callable = True

    def resolve_middleware(self) -> list[Middleware]:
        """Return the middleware of the application, below which a handler is at once."""
        owner: Any = self.owner
        return list(reversed(owner.middleware))

    def create_kwargs_model(self, path_parameters: Any) -> Any:
        """Return the model by which Litestar reads a request for this signature: itself alone."""
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


_API = "/v1/"
_SEARCHES = "/v1/search/"
"""Beginning of the paths of searches, some of which are POSTs."""


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
    unfiltered: Revision | None = None,
    prepare: Callable[..., Any] | None = None,
) -> HTTPRouteHandler:
    """A handler that calls `function` with a request and the declared parameters by keyword.

    `permission` is what the access middleware demands; see api.callers.permissions. `unsupported`
    and `snake_too` are those of DeclaredQuery; writes refuse all parameters that they do not know.
    For `revision`, `unfiltered` and `prepare` see JsonRoute.
    """
    writes = method != "GET" and path.startswith(_API) and not path.startswith(_SEARCHES)
    if unsupported is None and writes:
        unsupported = {}
    query = DeclaredQuery(parameters, unsupported, snake_too=snake_too)
    declared = JsonRoute(path, permission, function, query, revision, unfiltered, prepare)
    return MountedHandler(method, path, {"permission": permission, "route": declared})


def name_in_path(scope: HTTPScope, marker: bytes = b"/name/") -> str:
    """The qualified name after `/name/`, or another marker, as the client percent-encoded it.

    The name is read from the raw path, because routing merges slashes that belong to the name.
    """
    raw = scope["raw_path"].partition(b"?")[0]
    try:
        return unquote_to_bytes(raw.partition(marker)[2]).decode()
    except UnicodeDecodeError:
        raise InvalidInput("the name in the path is not UTF-8") from None
