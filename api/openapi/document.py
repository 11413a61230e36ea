"""The OpenAPI document, put together from the routes and their documented operations."""

import inspect
import re
from collections.abc import Mapping
from functools import cache, partial
from http import HTTPStatus
from types import MappingProxyType
from typing import Any

from litestar import Litestar
from litestar.handlers import HTTPRouteHandler
from litestar.routes import HTTPRoute

from api.answers.bodies import JSON_TYPES, PATCH_TYPES
from api.answers.read_positions import may_wait
from api.answers.responses import JSON, NDJSON
from api.callers.permissions import PUBLIC, Permission
from api.callers.policies import DEFAULT_RULES, combine
from api.declaring.operation import Operation
from api.declaring.signatures import JsonRoute
from api.errors import CATALOG_ERRORS, ERROR_TYPES
from api.openapi.components import body_name, component_schemas
from api.openapi.json_schema import COUNT, TEXT, Schema, ref
from api.openapi.parameters import (
    INCLUDE,
    KNOWN_POSITION,
    parameters,
    shared,
    shared_parameters,
)
from api.services import READ_YOUR_WRITES_SECONDS
from domain.kinds.entity_kind import EntityKind
from domain.kinds.registry import KINDS
from projections.entities.list_port import Include

_METHODS = ("get", "post", "put", "patch", "delete")
_TAGS = {
    "lineage": "Which entity is made of which.",
    "search": "Full-text search over all kinds.",
    "usage": "How often entities are used.",
    "services": "What connectors of services ask.",
    "audit": "Who changed what, when and by which request.",
    "system": "The service itself.",
}


_GUARD_ERRORS = (401, 403, 429)
"""Statuses that every route with a token may answer."""
_WAITING_ERRORS = (400, 503)
"""Statuses that every read may answer which may wait for a position."""
_ERRORS = (400, 401, 403, 404, 408, 409, 410, 412, 413, 415, 422, 429, 503)


def document(app: Litestar) -> dict[str, Any]:
    """The document of an application; takes long enough to be built in a thread, once.

    Raises LookupError for a route that is declared without an Operation.
    """
    paths: dict[str, dict[str, Any]] = {}
    taken, answered = set[type](), set[type]()
    for path, by_method in _routes(app).items():
        for method in _METHODS:
            if (handler := by_method.get(method)) is not None:
                operation = operation_of(handler)
                shown = operation.path or path
                route = handler.opt["route"]
                paths.setdefault(shown, {})[method] = _operation(method, path, route, operation)
                for types, declared in ((taken, operation.body), (answered, operation.answer)):
                    types.update({declared} if isinstance(declared, type) else ())
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Metadata catalog",
            "version": "1",
            "description": "Entities of a data platform: contracts, tables, search. Every error"
            " is an Error with its status, a type and what was wrong. Every path below `/v1`"
            " answers below `/api/v1` too, where OpenMetadata's clients look for it; lists of"
            " tables show `columns` there without being asked.",
        },
        "servers": [{"url": "/"}],
        "tags": [
            *(
                {"name": _tag(kind), "description": inspect.getdoc(kind.body) or ""}
                for kind in KINDS.values()
            ),
            *({"name": name, "description": text} for name, text in _TAGS.items()),
        ],
        "paths": paths,
        "components": {
            "schemas": {**component_schemas(taken, answered), Include.__name__: INCLUDE},
            "responses": {error_name(status): error_response(status) for status in _ERRORS},
            "parameters": shared_parameters(),
            "headers": dict(RESPONSE_HEADERS),
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}
            },
        },
    }


def _routes(app: Litestar) -> dict[str, dict[str, HTTPRouteHandler]]:
    """The routes of an application by path and method, but for those of pages."""
    routes: dict[str, dict[str, HTTPRouteHandler]] = {}
    for route in app.routes:
        if isinstance(route, HTTPRoute):
            for method, (handler, _) in route.route_handler_map.items():
                if "route" in handler.opt and not handler.opt.get("page"):
                    routes.setdefault(route.path_format, {})[str(method).lower()] = handler
    return routes


def operation_of(handler: HTTPRouteHandler) -> Operation:
    """The operation that a route is declared with; raises LookupError for one without."""
    if (operation := handler.opt.get("operation")) is None:
        raise LookupError(f"{', '.join(handler.paths)} is declared without an Operation")
    assert isinstance(operation, Operation)
    return operation


def _operation(method: str, path: str, route: JsonRoute, operation: Operation) -> dict[str, Any]:
    """The operation of one method and path, as the document shows it."""
    kinds = (each for each in KINDS.values() if f"{path}/".startswith(f"/v1/{each.collection}/"))
    kind = next(kinds, None)
    beginning = path.removeprefix("/v1/").partition("/")[0]
    tag = _tag(kind) if kind else beginning if beginning in _TAGS else "system"
    words = _words(kind) if kind else {}
    permission = route.permission
    public = permission == PUBLIC
    errors, takes = {*operation.errors}, operation.takes
    if may_wait(permission):
        errors |= {*_WAITING_ERRORS}
        takes = (*takes, KNOWN_POSITION)
    if method == "get" and "{" in path:
        errors.add(404)
    if not public:
        errors |= {*_GUARD_ERRORS}
    granted = "" if public else f"Needs the permission to {permission} ({_roles(permission)})."
    about = "\n\n".join(filter(None, (operation.about, granted)))
    shown = {
        "operationId": operation.id.format(**words),
        "summary": operation.summary.format(**words),
        **({"description": about} if about else {}),
        "tags": [operation.tag or tag],
        "security": [] if public else [{"bearer": []}],
        "parameters": [*parameters(operation.path or path, route.query), *map(shared, takes)],
        "responses": responses(operation, words, tuple(errors)),
    }
    if operation.body is not None:
        schema = {"schema": schema_of(operation.body, words)}
        usual = PATCH_TYPES if method == "patch" else JSON_TYPES
        types = sorted(operation.body_types or usual)
        shown["requestBody"] = {"required": True, "content": dict.fromkeys(types, schema)}
    return shown


def _tag(kind: EntityKind) -> str:
    return kind.collection.rpartition("/")[2]


def _words(kind: EntityKind) -> dict[str, str]:
    """The names of a kind that are filled into operation ids and summaries."""
    plural = _tag(kind)
    return {
        "Kind": body_name(kind),
        "Kinds": plural[0].upper() + plural[1:],
        "kind": _spaced(kind.name),
        "kinds": _spaced(plural),
    }


def _spaced(name: str) -> str:
    """`dataContracts` -> `data contracts`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()


def _roles(permission: Permission | str) -> str:
    """The roles that have a permission by the built-in policies."""
    assert isinstance(permission, Permission)
    roles = (rule.role for rule in DEFAULT_RULES)
    return f"by default role {' or '.join(r for r in roles if _access_of((r,)).may(permission))}"


_access_of = cache(partial(combine, DEFAULT_RULES))
"""The access that the built-in policies give to roles."""


def _required(description: str, schema: Schema) -> Schema:
    return {"description": description, "required": True, "schema": schema}


RESPONSE_HEADERS: Mapping[str, Schema] = MappingProxyType(
    {
        "ETag": _required(
            "The state of the entity, for If-Match and If-None-Match: its version, a digest of its"
            " id and last event, and one of what is withheld from the caller.",
            {"type": "string", "pattern": r'^W/"[0-9]+\.[0-9](-[0-9a-f]{8}){1,2}"$'},
        ),
        "X-Catalog-Position": _required("Position in the log that the answer includes.", COUNT),
        "X-Catalog-Lists": {
            "description": "There only where lists do not show the write yet: it is stored, and"
            f" they had not applied it after {READ_YOUR_WRITES_SECONDS:.0f} s, or cannot be read.",
            "schema": {"const": "behind"},
        },
        "X-OpenMetadata-Change": _required("What the write did.", TEXT),
        "X-Catalog-Dropped-Tags": {
            "description": "There only where labels that a bot gave were left out, as others in the"
            " same place exclude them: a JSON list of the first 20, each with its place.",
            "schema": TEXT,
        },
        "Location": _required("Path of the new entity.", {**TEXT, "format": "uri-reference"}),
        "WWW-Authenticate": _required(
            "The scheme of the token, and what is wrong with one that was given (RFC 6750) as far"
            " as everybody may know.",
            TEXT,
        ),
        "Retry-After": _required("Seconds to wait.", {"type": "integer", "minimum": 1}),
    }
)
_ERROR_HEADERS = {401: ("WWW-Authenticate",), 429: ("Retry-After",), 503: ("Retry-After",)}


def responses(
    operation: Operation, words: dict[str, str], errors: tuple[int, ...]
) -> dict[str, Any]:
    """The answers and errors of an operation by status; a status that is both has both schemas."""
    responses: dict[str, Any] = {
        str(status): {"$ref": f"#/components/responses/{error_name(status)}"} for status in errors
    }
    for status in operation.statuses:
        if operation.answer is None:
            responses[str(status)] = _response(status)
            continue
        schema = schema_of(operation.answer, words) if operation.answer else TEXT
        if status in errors:
            schema = {"anyOf": [schema, error_schema(status)]}
        content = {operation.media_type: {"schema": schema}}
        if operation.lines:
            content[NDJSON] = {"schema": ref(operation.lines)}
        location = ("Location",) if status == 201 else ()
        responses[str(status)] = _response(status, (*operation.headers, *location), content)
    if operation.conditional:
        responses["304"] = _response(304, operation.headers)
    return dict(sorted(responses.items()))


def _response(
    status: int, headers: tuple[str, ...] = (), content: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    shown = {name: {"$ref": f"#/components/headers/{name}"} for name in headers}
    return {
        "description": HTTPStatus(status).phrase,
        **({"headers": shown} if shown else {}),
        **({"content": content} if content else {}),
    }


def schema_of(declared: type | str, words: dict[str, str]) -> Schema:
    """A reference to the component schema of what an operation takes or answers."""
    name = declared.format(**words) if isinstance(declared, str) else declared.__name__
    return ref(name)


def error_response(status: int) -> dict[str, Any]:
    """The response with the error body under one status."""
    content = {JSON: {"schema": error_schema(status)}}
    return _response(status, _ERROR_HEADERS.get(status, ()), content)


def error_schema(status: int) -> Schema:
    """The schema of the error body under one status, with the error types that go with it."""
    types = [ERROR_TYPES[status]] if status in ERROR_TYPES else []
    types += [error_type for _, code, error_type in CATALOG_ERRORS if code == status]
    return {
        **ref("Error"),
        "properties": {
            "code": {"const": status},
            "errorType": {"enum": list(dict.fromkeys(types))},
        },
    }


def error_name(status: int) -> str:
    """Component name of the error response under a status, such as `NotFound`."""
    return HTTPStatus(status).phrase.replace(" ", "")
