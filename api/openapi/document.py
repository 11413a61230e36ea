"""The OpenAPI document, put together from the routes and their documented operations."""

import inspect
import re
from functools import cache
from typing import Any

from litestar import Litestar
from litestar.routes import HTTPRoute

from api.answers.read_positions import may_wait
from api.callers.permissions import PUBLIC, Access, Permission
from api.callers.policies import DEFAULT_RULES, combine
from api.declaring.signatures import JsonRoute
from api.openapi.components import body_name, component_schemas
from api.openapi.json_schema import ref
from api.openapi.lineage_operations import LINEAGE_OPERATIONS, TAG
from api.openapi.operation import Operation
from api.openapi.operations import (
    ENTITY_OPERATIONS,
    GUARD_ERRORS,
    OTHER_OPERATIONS,
    READ_ERRORS,
    WRITE_ERRORS,
)
from api.openapi.parameters import (
    CONDITIONS_OF_READS,
    INCLUDE,
    KNOWN_POSITION,
    PATH_PARAMETERS,
    REQUEST_HEADERS,
    parameters,
    shared,
)
from api.openapi.responses import RESPONSE_HEADERS, error_name, error_response, responses
from domain.kinds.entity_kind import EntityKind
from domain.kinds.registry import KINDS
from projections.entities.port import Include

_METHODS = ("get", "post", "put", "patch", "delete")
_TAGS = {
    TAG: "Which entity is made of which.",
    "search": "Full-text search over all kinds.",
    "usage": "How often entities are used.",
    "services": "What connectors of services ask.",
    "audit": "Who changed what, when and by which request.",
    "system": "The service itself.",
}


def document(app: Litestar) -> dict[str, Any]:
    """The document of an application; takes long enough to be built in a thread, once.

    Raises LookupError for a route that `operations.py` does not document.
    """
    paths: dict[str, dict[str, Any]] = {}
    for path, by_method in _routes(app).items():
        for method in _METHODS:
            if (route := by_method.get(method)) is not None:
                shown = shown_path(method, path)
                paths.setdefault(shown, {})[method] = _operation(method, path, route)
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
            *({"name": _tag(kind), "description": _about(kind)} for kind in KINDS.values()),
            *({"name": name, "description": text} for name, text in _TAGS.items()),
        ],
        "paths": paths,
        "components": {
            "schemas": {**component_schemas(), Include.__name__: INCLUDE},
            "responses": {
                error_name(status): error_response(status)
                for status in sorted({*GUARD_ERRORS, *READ_ERRORS, *WRITE_ERRORS})
            },
            "parameters": {
                **{
                    name: {"name": name, "in": "path", "required": True, **about}
                    for name, about in PATH_PARAMETERS.items()
                },
                **{
                    name: {"name": name, "in": "header", "required": False, **about}
                    for name, about in (*REQUEST_HEADERS.items(), *CONDITIONS_OF_READS.items())
                },
            },
            "headers": dict(RESPONSE_HEADERS),
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}
            },
        },
    }


def _routes(app: Litestar) -> dict[str, dict[str, JsonRoute]]:
    """The routes of an application by path and method, but for those of pages."""
    routes: dict[str, dict[str, JsonRoute]] = {}
    for route in app.routes:
        if isinstance(route, HTTPRoute):
            for method, (handler, _) in route.route_handler_map.items():
                if "route" in handler.opt and not handler.opt.get("page"):
                    by_method = routes.setdefault(route.path_format, {})
                    by_method[str(method).lower()] = handler.opt["route"]
    return routes


def shown_path(method: str, path: str) -> str:
    """The path under which the document has the operation of a route."""
    return _find(method, path)[2].path or path


def _operation(method: str, path: str, route: JsonRoute) -> dict[str, Any]:
    """The operation of one method and path, as the document shows it."""
    kind, tag, operation = _find(method, path)
    words = _words(kind) if kind else {}
    permission = route.permission
    public = permission == PUBLIC
    errors, takes = operation.errors, operation.takes
    if may_wait(permission):
        errors, takes = (*errors, *READ_ERRORS), (*takes, KNOWN_POSITION)
    if not public:
        errors = tuple(sorted({*GUARD_ERRORS, *errors}))
    granted = "" if public else f"Needs the permission to {permission} ({_roles(permission)})."
    about = "\n\n".join(filter(None, (operation.about, granted)))
    shown = {
        "operationId": operation.id.format(**words),
        "summary": operation.summary.format(**words),
        **({"description": about} if about else {}),
        "tags": [tag],
        "security": [] if public else [{"bearer": []}],
        "parameters": [
            *parameters(operation.path or path, kind, route.query),
            *map(shared, takes),
        ],
        "responses": responses(operation, words, errors),
    }
    if operation.body is not None:
        schema = {"schema": ref(operation.body.format(**words))}
        content = dict.fromkeys(operation.body_types, schema)
        shown["requestBody"] = {"required": True, "content": content}
    return shown


def _find(method: str, path: str) -> tuple[EntityKind | None, str, Operation]:
    """The kind (None for a route of no kind), the tag and the operation of a route."""
    for operations in (OTHER_OPERATIONS, LINEAGE_OPERATIONS):
        if (method, path) in operations:
            return (None, *operations[method, path])
    for kind in KINDS.values():
        prefix = f"/v1/{kind.collection}"
        operation = ENTITY_OPERATIONS.get((method, path.removeprefix(prefix)))
        if path.startswith(prefix) and operation is not None:
            return kind, _tag(kind), operation
    raise LookupError(f"{method.upper()} {path} is not documented in api/openapi/operations.py")


def _tag(kind: EntityKind) -> str:
    return kind.collection.rpartition("/")[2]


def _about(kind: EntityKind) -> str:
    return inspect.getdoc(kind.body) or ""


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
