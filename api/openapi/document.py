"""The OpenAPI document, put together from the routes and their documented operations."""

import inspect
import re
from functools import cache
from typing import Any

from litestar import Litestar
from litestar.handlers import HTTPRouteHandler
from litestar.routes import HTTPRoute

from api.answers.bodies import JSON_TYPES, PATCH_TYPES
from api.answers.read_positions import may_wait
from api.callers.permissions import PUBLIC, Access, Permission
from api.callers.policies import DEFAULT_RULES, combine
from api.declaring.operation import Operation
from api.declaring.signatures import JsonRoute
from api.openapi.components import body_name, component_schemas
from api.openapi.parameters import (
    INCLUDE,
    KNOWN_POSITION,
    parameters,
    shared,
    shared_parameters,
)
from api.openapi.responses import (
    RESPONSE_HEADERS,
    error_name,
    error_response,
    responses,
    schema_of,
)
from domain.kinds.entity_kind import EntityKind
from domain.kinds.registry import KINDS
from projections.entities.port import Include

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
_ERRORS = (400, 401, 403, 404, 408, 409, 412, 413, 415, 429, 503)


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
    kind = _kind_of(path)
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
        "tags": [operation.tag or _tag_of(path, kind)],
        "security": [] if public else [{"bearer": []}],
        "parameters": [*parameters(operation.path or path, route.query), *map(shared, takes)],
        "responses": responses(operation, words, tuple(errors)),
    }
    if operation.body is not None:
        schema = {"schema": schema_of(operation.body, words)}
        types = sorted(PATCH_TYPES if method == "patch" else JSON_TYPES)
        shown["requestBody"] = {"required": True, "content": dict.fromkeys(types, schema)}
    return shown


def _kind_of(path: str) -> EntityKind | None:
    """The kind in whose collection a path is."""
    for kind in KINDS.values():
        if f"{path}/".startswith(f"/v1/{kind.collection}/"):
            return kind
    return None


def _tag_of(path: str, kind: EntityKind | None) -> str:
    """The heading for a route: its kind, or what the path begins with if that is one."""
    beginning = path.removeprefix("/v1/").partition("/")[0]
    return _tag(kind) if kind else beginning if beginning in _TAGS else "system"


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
    granting = [role for role, access in _built_in_roles().items() if access.may(permission)]
    return f"by default role {' or '.join(granting)}"


@cache
def _built_in_roles() -> dict[str, Access]:
    """What each role may do by the built-in policies."""
    return {rule.role: combine(DEFAULT_RULES, (rule.role,)) for rule in DEFAULT_RULES}
