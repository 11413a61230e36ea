"""Makes route handlers whose parameters come from data, such as the registry of kinds."""

import inspect
from collections.abc import Awaitable, Callable, Hashable, Mapping
from types import MappingProxyType
from typing import Annotated, Any, get_args, get_origin
from urllib.parse import unquote_to_bytes

import msgspec
from litestar import HttpMethod, Request, params
from litestar.handlers import HTTPRouteHandler
from litestar.params import PathParameter
from litestar.response.base import ASGIResponse
from litestar.types import HTTPScope

from api.permissions import Access, Permission
from api.responses import Finished
from api.routes.late_handler import LateHandler
from api.routes.near_names import meant_name
from api.routes.unsupported_parameters import refuse_unsupported
from domain.errors import InvalidInput, NotFound
from domain.ids import parse_id

Parameters = Mapping[str, tuple[Any, Any]]
"""Name -> (annotation, default); `...` for a required one."""

AnyRequest = Request[Any, Any, Any]


class QueryParameter(params.QueryParameter):
    """A query parameter; no two are the same, whatever they say.

    Litestar's have one hash, made by going through all that they say, and typing asks for it.
    """

    __hash__ = object.__hash__


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
    """What api.direct_reads needs to know of a route to answer plain requests in its place."""

    permission: Permission
    query: type[msgspec.Struct]
    """The query parameters by argument, each with its default."""
    names: frozenset[str]
    """The names of the query parameters, as callers give them."""
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
    unsupported: Mapping[str, str | None] = MappingProxyType({}),
    direct: tuple[PlainRead, Callable[[], Hashable]] | None = None,
) -> HTTPRouteHandler:
    """A handler that calls `function` with the declared parameters by keyword.

    `permission` is what the access middleware demands; see api.permissions. `unsupported` are
    parameters that are refused; see api.routes.unsupported_parameters. `direct` answers plain
    requests in place of `function`, from something with a revision; see api.direct_reads.
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
    opt: dict[str, Any] = {"permission": permission, "names": _names(parameters)}
    if direct is not None and isinstance(permission, Permission):
        opt["direct"] = DirectRead(permission, *_query_struct(parameters), *direct)
    return LateHandler(
        path,
        # HEAD is answered as GET is, without the body.
        http_method=[HttpMethod.GET, HttpMethod.HEAD] if method == "GET" else HttpMethod(method),
        status_code=status,
        opt=opt,
        before_request=_query_check(parameters, unsupported),
        media_type="application/json",
        sync_to_thread=None if inspect.iscoroutinefunction(function) else False,
    )(function)


def _query_check(
    parameters: Parameters, unsupported: Mapping[str, str | None]
) -> Callable[[AnyRequest], Awaitable[None]]:
    """A check that refuses query parameters which Litestar would pass over.

    Litestar takes one of a parameter that is given twice, and msgspec takes `null` for no value:
    both are refused. Unknown parameters are ignored, except names that are nearly known ones and
    those that OpenMetadata knows.
    """
    names = _names(parameters)
    known = [names[name] for name, (hint, _) in parameters.items() if _is_of_query(hint)]
    types = {names[name]: _types(hint) for name, (hint, _) in parameters.items()}
    single = frozenset(name for name, allowed in types.items() if list not in allowed)
    typed = frozenset(name for name in single if str not in types[name])
    expected = frozenset(known)

    async def check(request: AnyRequest) -> None:
        seen = set()
        for name, value in request.query_params.multi_items():
            if name in single:
                if name in seen:
                    raise InvalidInput(f"{name} may be given once")
                seen.add(name)
                if name in typed and value.lower() == "null":
                    raise InvalidInput(f"{name} must be left out or have a value, got {value!r}")
            refuse_unsupported(name, value, unsupported)
            if name not in expected and (meant := meant_name(name, known)):
                raise InvalidInput(f"unknown parameter {name!r}: did you mean {meant!r}?")

    return check


def _query_struct(parameters: Parameters) -> tuple[type[msgspec.Struct], frozenset[str]]:
    """A Struct of the query parameters by argument, and the names under which callers give them."""
    names = _names(parameters)
    fields = [
        (argument, _constrained(hint), _field(default, names[argument]))
        for argument, (hint, default) in parameters.items()
        if _is_of_query(hint)
    ]
    struct = msgspec.defstruct("Query", fields, kw_only=True, frozen=True)
    return struct, frozenset(names[argument] for argument, _, _ in fields)


def _field(default: Any, name: str) -> Any:
    """The field of a Struct for a query parameter; one without a default is required."""
    if default is ...:
        return msgspec.field(name=name)
    return msgspec.field(default=default, name=name)


def _constrained(hint: Any) -> Any:
    """The type of a query parameter with its bounds, as msgspec checks them."""
    meta = next(meta for meta in hint.__metadata__ if isinstance(meta, params.QueryParameter))
    inner = get_args(hint)[0]
    bounds = {bound: getattr(meta, bound) for bound in ("ge", "le")}
    return Annotated[inner, msgspec.Meta(**bounds)] if any(bounds.values()) else inner


def _is_of_query(hint: Any) -> bool:
    """Whether an annotation is that of a query parameter."""
    return any(
        isinstance(meta, params.QueryParameter) for meta in getattr(hint, "__metadata__", ())
    )


def _types(hint: Any) -> set[Any]:
    """The types inside an annotation."""
    if get_origin(hint) is Annotated:
        # A set of its metadata would hash them, which costs Litestar's parameters a copy each.
        return _types(hint.__origin__)
    inner = get_args(hint)
    if not inner or get_origin(hint) is list:
        return {get_origin(hint) or hint}
    return set().union(*map(_types, inner))


def _names(parameters: Parameters) -> dict[str, str]:
    """Argument -> the name under which callers give it."""
    names = {}
    for argument, (annotation, _) in parameters.items():
        metadata = getattr(annotation, "__metadata__", ())
        named = (getattr(meta, "name", None) for meta in metadata)
        names[argument] = next((name for name in named if name), argument)
    return names


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
