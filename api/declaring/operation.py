"""An operation at a path: the OpenAPI document's account of a route, declared with the route."""

import re
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import msgspec
from litestar.handlers import HTTPRouteHandler
from msgspec.structs import replace

from api.answers.responses import JSON
from api.callers.permissions import Permission
from api.declaring.declared_query import Parameters, in_path
from api.declaring.signatures import route

REQUEST_HEADERS = ("If-Match", "If-None-Match", "Idempotency-Key", "X-Request-Id")
"""Headers that a write of one entity may have."""
_OF_MANY = ("X-Request-Id",)
KNOWN_VERSION = "Known-Version"
"""Name of the component for If-None-Match where it is a condition of a read."""
ENTITY_HEADERS = ("ETag", "X-Catalog-Position")
_WRITTEN = ("X-Catalog-Position", "X-Catalog-Lists")

_IN_PATH = re.compile(r"{(\w+):\w+}")
_TEXT = in_path(str)


class _Words(msgspec.Struct, frozen=True):
    id: str
    summary: str
    about: str = ""


class Operation(_Words, frozen=True, kw_only=True):
    """Requests and answers of a route, beside its parameters; 401, 403 and 429 are answered by all
    that need a token, and 404 by all reads with a part in their path.

    `{Kind}`, `{Kinds}`, `{kind}` and `{kinds}` are filled in for a route of a kind. Schemas are
    those of Structs, or components of `api.openapi` by name.
    """

    answer: type | str | None = ""
    """The schema of the answer, empty for a text; None for an answer without body."""
    statuses: tuple[int, ...] = (200,)
    """Statuses with which the answer is sent."""
    conditional: bool = False
    """True if a 304 without a body may take the place of the answer."""
    errors: tuple[int, ...] = ()
    """Further statuses, each sent with the error body."""
    body: type | str | None = None
    """The schema of the request body."""
    body_types: tuple[str, ...] = ()
    """Media types that the request body may have, where they are not those of JSON."""
    takes: tuple[str, ...] = ()
    """Headers that the request may have, as the document names them."""
    headers: tuple[str, ...] = ()
    """Headers that every answer has."""
    media_type: str = JSON
    lines: str | None = None
    """The component schema of a line, where the answer may be had as NDJSON."""
    path: str | None = None
    """The path as the document shows it, where the path of the route says less."""
    tag: str | None = None
    """The heading of the operation in the document, where it does not follow from the path."""

    def at(
        self,
        method: str,
        path: str,
        permission: Permission | str,
        function: Callable[..., Any],
        parameters: Parameters = MappingProxyType({}),
        **more: Any,
    ) -> HTTPRouteHandler:
        """The route of this operation; each part of its path is a parameter too.

        `more` is what `route` may be given.
        """
        declared = {**dict.fromkeys(_IN_PATH.findall(path), _TEXT), **parameters}
        handler = route(method, path, permission, function, declared, **more)
        handler.opt["operation"] = self
        return handler

    def by_id_and_name(
        self,
        method: str,
        path: str,
        permission: Permission | str,
        function: Callable[..., Any],
        parameters: Parameters = MappingProxyType({}),
        *,
        by_name: str = " by qualified name",
        **more: Any,
    ) -> list[HTTPRouteHandler]:
        """Both routes of an operation on an entity: by the id behind a path, and by the name.

        `by_name` ends the summary of the second route, in place of `by id`; the other parameters
        are those of `at`.
        """
        summary = self.summary.removesuffix(" by id") + by_name
        named = replace(self, id=f"{self.id}ByName", summary=summary)
        places = ((self, "{entity_id:str}"), (named, "name/{fqn:path}"))
        return [
            each.at(method, f"{path}/{place}", permission, function, parameters, **more)
            for each, place in places
        ]


class EntityRead(Operation, frozen=True, kw_only=True):
    """A read of one entity."""

    answer: type | str | None = "{Kind}"
    conditional: bool = True
    errors: tuple[int, ...] = (404,)
    takes: tuple[str, ...] = (KNOWN_VERSION,)
    headers: tuple[str, ...] = ENTITY_HEADERS


class Search(Operation, frozen=True, kw_only=True):
    """A search, which is answered with hits or facets."""

    answer: type | str | None = "SearchResponse"
    errors: tuple[int, ...] = (410,)


class Write(Operation, frozen=True, kw_only=True):
    """A write of one entity, or edge of the lineage."""

    answer: type | str | None = "{Kind}"
    errors: tuple[int, ...] = (400, 404, 408, 409, 412, 413, 415, 503)
    takes: tuple[str, ...] = REQUEST_HEADERS
    headers: tuple[str, ...] = (
        "ETag",
        *_WRITTEN,
        "X-OpenMetadata-Change",
        "X-Catalog-Dropped-Tags",
    )


class WriteOfMany(Operation, frozen=True, kw_only=True):
    """A write of entities that the body or another entity names, in one or more transactions."""

    errors: tuple[int, ...] = (400, 408, 409, 413, 415, 503)
    takes: tuple[str, ...] = _OF_MANY
    headers: tuple[str, ...] = _WRITTEN


class Report(Operation, frozen=True, kw_only=True):
    """A write of measurements, which make no version."""

    errors: tuple[int, ...] = (400, 404, 408, 413, 415, 503)


class Removal(Operation, frozen=True, kw_only=True):
    """A delete of measurements."""

    errors: tuple[int, ...] = (400, 404, 408, 503)
