"""Makes route handlers whose parameters come from data, such as the registry of kinds."""

import inspect
from collections.abc import Callable, Hashable, Mapping
from typing import Annotated, Any
from urllib.parse import unquote_to_bytes

import msgspec
from litestar import HttpMethod, Request
from litestar.handlers import HTTPRouteHandler
from litestar.params import PathParameter
from litestar.response.base import ASGIResponse
from litestar.types import HTTPScope

from api.answers.responses import Finished
from api.callers.permissions import Access, Permission
from api.declaring.declared_query import DeclaredQuery, Parameters, QueryParameter
from api.declaring.late_handler import LateHandler
from domain.errors import InvalidInput, NotFound
from domain.kinds.ids import parse_id

AnyRequest = Request[Any, Any, Any]


REQUEST: Parameters = {"request": (Request[Any, Any, Any], ...)}
ENTITY_ID: Parameters = {
    "entity_id": (Annotated[str, PathParameter(description="UUID of the entity.")], ...)
}
FQN: Parameters = {
    "fqn": (
        Annotated[str, PathParameter(description="Qualified name, percent-encoded.")],
        ...,
    )
}
OVERRIDE_METADATA: Parameters = {
    "override_metadata": (
        Annotated[
            bool,
            QueryParameter(
                name="overrideMetadata",
                description="What a bot gives replaces what people curated. Without it a bot's"
                " write keeps descriptions, display names, owners, domains, data products,"
                " certifications and custom properties that are not empty, adds its tags to"
                " those that are there, and changes nothing while `sourceHash` is the same.",
            ),
        ],
        False,
    )
}

PlainRead = Callable[[Any, Access, str, Mapping[str, Any]], Finished | None]
"""Answers a request, given its scope, the caller's access, what the path names (empty for a list)
and the query parameters by argument; None where the route must answer."""


class DirectRead(msgspec.Struct, frozen=True):
    """What api.edge.direct_reads needs to know of a route to answer plain requests in its place."""

    permission: Permission
    query: DeclaredQuery
    read: PlainRead
    revision: Callable[[], Hashable]
    """The present revision of what `read` reads; raises StoreUnavailable."""


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
    status: int = 200,
    unsupported: Mapping[str, str | None] | None = None,
    direct: tuple[PlainRead, Callable[[], Hashable]] | None = None,
) -> HTTPRouteHandler:
    """A handler that calls `function` with the declared parameters by keyword.

    `permission` is what the access middleware demands; see api.callers.permissions. `unsupported`
    is given for a list, which refuses all unknown parameters; see
    api.declaring.unsupported_parameters.
    `direct` answers plain requests in place of `function`, from something with a revision; see
    api.edge.direct_reads.
    """
    function.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                annotation=annotation,
                default=inspect.Parameter.empty if default is ... else default,
            )
            for name, (annotation, default) in parameters.items()
        ],
        return_annotation=ASGIResponse,
    )
    function.__annotations__ = {
        **{name: annotation for name, (annotation, _) in parameters.items()},
        "return": ASGIResponse,
    }
    query = DeclaredQuery(parameters, unsupported)
    opt: dict[str, Any] = {"permission": permission, "query": query}
    if direct is not None and isinstance(permission, Permission):
        opt["direct"] = DirectRead(permission, query, *direct)
    return LateHandler(
        path,
        # HEAD is answered as GET is, without the body.
        http_method=[HttpMethod.GET, HttpMethod.HEAD] if method == "GET" else HttpMethod(method),
        status_code=status,
        opt=opt,
        before_request=query.check,
        media_type="application/json",
        sync_to_thread=None if inspect.iscoroutinefunction(function) else False,
    )(function)


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
