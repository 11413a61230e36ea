"""The OpenAPI 3.1 document: the routes with what their handlers really take and answer.

Litestar knows paths and parameters. What it cannot see, because handlers read raw bodies and
answer finished bytes, stands in the tables below; a route without a row is an error.
"""

import inspect
import re
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from types import MappingProxyType
from typing import Any

import msgspec
from litestar import Litestar
from litestar.config.app import AppConfig
from litestar.openapi.config import OpenAPIConfig
from litestar.plugins import InitPlugin
from litestar.plugins.base import ReceiveRoutePlugin
from litestar.routes import HTTPRoute

from api import openapi_schemas
from api.openapi_schemas import UUID, Schema, body_name, error_schema, ref
from api.permissions import PUBLIC, Permission
from api.policies import DEFAULT_RULES, combine
from api.responses import NDJSON
from api.routes import audit, search
from api.routes.writes import MAX_KEY_LENGTH
from domain.kinds import EntityKind
from domain.registry import KINDS
from projections.search.queries import MAX_SIZE, MAX_WINDOW

_JSON = "application/json"
_METHODS = ("get", "post", "put", "patch", "delete")
_READ_ERRORS = (400, 503)
_ONE_ERRORS = (400, 404, 503)
_WRITE_ERRORS = (400, 404, 408, 409, 412, 413, 415, 503)
_GUARD_ERRORS = (401, 403, 429)
"""Of every route that needs a token."""
_ENTITY_HEADERS = ("ETag", "X-Catalog-Position")
_WRITE_HEADERS = (*_ENTITY_HEADERS, "X-OpenMetadata-Change")


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """What a route takes and answers; `{Kind}`, `{Kinds}`, `{kind}` and `{kinds}` are filled in."""

    id: str
    summary: str
    about: str = ""
    answers: Mapping[int, str]
    """Status -> component schema."""
    errors: tuple[int, ...] = ()
    """Statuses with the error body, beside those of _GUARD_ERRORS."""
    body: str | None = None
    """Component schema of the request body."""
    body_types: tuple[str, ...] = (_JSON,)
    takes: tuple[str, ...] = ()
    """Headers of the request, as in REQUEST_HEADERS."""
    headers: tuple[str, ...] = ()
    """Headers of every answer, as in RESPONSE_HEADERS."""
    media_type: str = _JSON
    lines: str | None = None
    """Component schema of a line, where the answer may be had as NDJSON."""


REQUEST_HEADERS: Mapping[str, Schema] = MappingProxyType(
    {
        "If-Match": {
            "description": "`*`, or the ETag of the version that the write is meant for.",
            "schema": {"type": "string", "pattern": r'^(\*|(W/)?"?[0-9]{1,9}\.[0-9]"?)$'},
        },
        "Idempotency-Key": {
            "description": "The same request under the same key is answered as the first time.",
            "schema": {"type": "string", "minLength": 1, "maxLength": MAX_KEY_LENGTH},
        },
        "X-Request-Id": {
            "description": "Recorded with the events; made up when absent.",
            "schema": {"type": "string"},
        },
    }
)

RESPONSE_HEADERS: Mapping[str, Schema] = MappingProxyType(
    {
        "ETag": {
            "description": "The version, for If-Match.",
            "required": True,
            "schema": {"type": "string", "pattern": r'^W/"[0-9]+\.[0-9]"$'},
        },
        "X-Catalog-Position": {
            "description": "Position in the log that the answer includes.",
            "required": True,
            "schema": {"type": "integer", "minimum": 0},
        },
        "X-OpenMetadata-Change": {
            "description": "What the write did.",
            "required": True,
            "schema": {"type": "string"},
        },
        "Location": {
            "description": "Path of the new entity.",
            "required": True,
            "schema": {"type": "string", "format": "uri-reference"},
        },
        "WWW-Authenticate": {
            "description": "The scheme of the token.",
            "required": True,
            "schema": {"type": "string"},
        },
        "Retry-After": {
            "description": "Seconds to wait.",
            "required": True,
            "schema": {"type": "integer", "minimum": 1},
        },
    }
)

_LARGE_ABOUT = "Large fields are there without being asked for."
_PATCH_ABOUT = "RFC 6902, applied to the entity as it is shown, with absent arrays as []."
_DELETE_ABOUT = "Soft-deleted entities keep their names and can be restored."


def _one(id: str, summary: str) -> Operation:
    """Reads one entity."""
    return Operation(
        id=id,
        summary=summary,
        about=_LARGE_ABOUT,
        answers={200: "{Kind}"},
        errors=_ONE_ERRORS,
        headers=_ENTITY_HEADERS,
    )


def _write(
    id: str,
    summary: str,
    about: str,
    body: str | None = None,
    statuses: tuple[int, ...] = (200,),
) -> Operation:
    """Changes one entity."""
    return Operation(
        id=id,
        summary=summary,
        about=about,
        answers=dict.fromkeys(statuses, "{Kind}"),
        errors=_WRITE_ERRORS,
        body=body,
        body_types=(_JSON, "application/json-patch+json") if body == "JsonPatch" else (_JSON,),
        takes=tuple(name for name in REQUEST_HEADERS if name != "If-Match" or statuses != (201,)),
        headers=_WRITE_HEADERS,
    )


ENTITY_OPERATIONS: Mapping[tuple[str, str], Operation] = MappingProxyType(
    {
        ("get", ""): Operation(
            id="list{Kinds}",
            summary="List {kinds}",
            about="By name. Follow `paging.after` until it is absent.",
            answers={200: "{Kind}List"},
            errors=_READ_ERRORS,
        ),
        ("post", ""): _write(
            "create{Kind}",
            "Create a new {kind}",
            "409 when the name is taken.",
            body="Create{Kind}",
            statuses=(201,),
        ),
        ("put", ""): _write(
            "createOrUpdate{Kind}",
            "Create or update a {kind}",
            "Keys given as null or empty are removed, keys not given stay.",
            body="Create{Kind}",
            statuses=(200, 201),
        ),
        ("put", "/restore"): _write(
            "restore{Kind}",
            "Restore a soft-deleted {kind}",
            "With what was deleted by the same request.",
            body="RestoreEntity",
        ),
        ("get", "/{entity_id}"): _one("get{Kind}", "Get a {kind} by id"),
        ("get", "/name/{fqn}"): _one("get{Kind}ByName", "Get a {kind} by qualified name"),
        ("patch", "/{entity_id}"): _write(
            "patch{Kind}", "Patch a {kind}", _PATCH_ABOUT, "JsonPatch"
        ),
        ("patch", "/name/{fqn}"): _write(
            "patch{Kind}ByName", "Patch a {kind} by qualified name", _PATCH_ABOUT, "JsonPatch"
        ),
        ("delete", "/{entity_id}"): _write("delete{Kind}", "Delete a {kind}", _DELETE_ABOUT),
        ("delete", "/name/{fqn}"): _write(
            "delete{Kind}ByName", "Delete a {kind} by qualified name", _DELETE_ABOUT
        ),
        ("get", "/{entity_id}/versions"): Operation(
            id="list{Kind}Versions",
            summary="List the versions of a {kind}",
            answers={200: "EntityVersions"},
            errors=_ONE_ERRORS,
        ),
        ("get", "/{entity_id}/versions/{version}"): Operation(
            id="get{Kind}Version",
            summary="Get one version of a {kind}",
            answers={200: "{Kind}"},
            errors=_ONE_ERRORS,
        ),
    }
)
"""(method, path below the collection) -> operation, the same for every kind."""

OTHER_OPERATIONS: Mapping[tuple[str, str], tuple[str, Operation]] = MappingProxyType(
    {
        ("get", "/v1/search/query"): (
            "search",
            Operation(
                id="searchEntities",
                summary="Search all kinds",
                about="Every parameter may be spelled in snake_case too: `sort_field`.",
                answers={200: "SearchResponse"},
                errors=_READ_ERRORS,
            ),
        ),
        ("get", "/v1/audit/events"): (
            "audit",
            Operation(
                id="listAuditEvents",
                summary="Read the log",
                about="In log order. `paging.after` is the position reached: give it as `after`"
                " until it equals `paging.head`. One request looks at no more than"
                f" {audit.BOUND:,} events ({audit.STREAM_BOUND:,} as NDJSON), so a page may be"
                " short, or empty, before the end. As NDJSON (`Accept: application/x-ndjson`)"
                " there is a line for each event, and a last one with `paging`; without it the"
                " answer was cut off.",
                answers={200: "AuditPage"},
                errors=_READ_ERRORS,
                lines="AuditLine",
            ),
        ),
        ("get", "/v1/system/version"): (
            "system",
            Operation(id="getVersion", summary="Get the version", answers={200: "Version"}),
        ),
        ("get", "/v1/system/projections"): (
            "system",
            Operation(
                id="getProjections",
                summary="Get the state of the projections",
                answers={200: "Inspection"},
                errors=(503,),
            ),
        ),
        ("get", "/healthz"): (
            "system",
            Operation(id="getHealth", summary="Is the process alive?", answers={200: "Health"}),
        ),
        ("get", "/readyz"): (
            "system",
            Operation(
                id="getReadiness",
                summary="Can requests be answered with fresh data?",
                answers={200: "Readiness", 503: "Readiness"},
                errors=(503,),
            ),
        ),
        ("get", "/metrics"): (
            "system",
            Operation(
                id="getMetrics",
                summary="Get the metrics in Prometheus' text format",
                answers={200: ""},
                errors=(503,),
                media_type="text/plain",
            ),
        ),
    }
)
"""(method, path) -> tag and operation of what concerns no kind."""

_PATH_PARAMETERS: Mapping[str, Schema] = MappingProxyType(
    {
        "entity_id": {"description": "Id of the entity.", "schema": UUID},
        "fqn": {
            "description": "Qualified name: parts joined with dots, a part that holds a dot or a"
            ' quote in double quotes, as in `service."my.db"`. Percent-encode it once, `/` as'
            " `%2F`.",
            "schema": {"type": "string", "minLength": 1},
        },
        "version": {
            "description": "Decimal version such as `0.1`.",
            "schema": {"type": "string", "pattern": r"^[0-9]+\.[0-9]$"},
        },
    }
)
_SEARCH_SCHEMAS: Mapping[str, Schema] = MappingProxyType(
    {
        "from": {"type": "integer", "minimum": 0, "maximum": MAX_WINDOW},
        "size": {"type": "integer", "minimum": 0, "maximum": MAX_SIZE},
    }
)
_TAGS = {
    "search": "Full-text search over all kinds.",
    "audit": "Who changed what, when and by which request.",
    "system": "The service itself.",
}


def document(app: Litestar) -> dict[str, Any]:
    """The document of an application; takes long enough to be built in a thread, once.

    Raises LookupError for a route that has no row here.
    """
    schemas = openapi_schemas.component_schemas()
    found = _skeleton(app)
    permissions = dict(_permissions(app))
    paths: dict[str, dict[str, Any]] = {}
    for path, item in found["paths"].items():
        paths[path] = {
            method: _operation(method, path, generated, permissions[method, path])
            for method in _METHODS
            if (generated := item.get(method)) is not None
        }
    schemas |= found["components"].get("schemas", {})
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Metadata catalog",
            "version": "1",
            "description": "Entities of a data platform: contracts, tables, search. Every error"
            " is an Error with its status, a type and what was wrong.",
        },
        "servers": [{"url": "/"}],
        "tags": [
            *({"name": _tag(kind), "description": _about(kind)} for kind in KINDS.values()),
            *({"name": name, "description": text} for name, text in _TAGS.items()),
        ],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "responses": {
                _error_name(status): _error(status)
                for status in sorted({*_GUARD_ERRORS, *_READ_ERRORS, *_WRITE_ERRORS})
            },
            "parameters": {
                **{
                    name: {"name": name, "in": "path", "required": True, **about}
                    for name, about in _PATH_PARAMETERS.items()
                },
                **{
                    name: {"name": name, "in": "header", "required": False, **about}
                    for name, about in REQUEST_HEADERS.items()
                },
            },
            "headers": dict(RESPONSE_HEADERS),
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}
            },
        },
    }


def _skeleton(app: Litestar) -> dict[str, Any]:
    """Paths and parameters as Litestar sees them.

    The application itself has no OpenAPI configuration, because with one Litestar serves pages
    of its own. Its OpenAPI plugin collects the routes all the same and takes the configuration
    now, with an application configuration that is thrown away together with those pages.
    """
    config = AppConfig(openapi_config=OpenAPIConfig(title="", version=""))
    for plugin in app.plugins:
        if isinstance(plugin, InitPlugin) and isinstance(plugin, ReceiveRoutePlugin):
            plugin.on_app_init(config)
    return app.openapi_schema.to_schema()


def _permissions(app: Litestar) -> Iterator[tuple[tuple[str, str], Permission | str]]:
    """(method, path) -> what the route demands."""
    for route in app.routes:
        if isinstance(route, HTTPRoute):
            for method, (handler, _) in route.route_handler_map.items():
                if "permission" in handler.opt:
                    key = str(method).lower(), route.path_format
                    yield key, handler.opt["permission"]


def _operation(
    method: str, path: str, generated: Schema, permission: Permission | str
) -> dict[str, Any]:
    """One operation of the document."""
    kind, tag, row = _find(method, path)
    words = _words(kind) if kind else {}
    public = permission == PUBLIC
    errors = row.errors if public else tuple(sorted({*_GUARD_ERRORS, *row.errors}))
    granted = "" if public else f"Needs the permission to {permission} ({_roles(permission)})."
    about = "\n\n".join(filter(None, (row.about, granted)))
    shown = {
        "operationId": row.id.format(**words),
        "summary": row.summary.format(**words),
        **({"description": about} if about else {}),
        "tags": [tag],
        "security": [] if public else [{"bearer": []}],
        "parameters": [*_parameters(path, generated), *map(_shared, row.takes)],
        "responses": _responses(row, words, errors),
    }
    if row.body is not None:
        schema = {"schema": ref(row.body.format(**words))}
        content = dict.fromkeys(row.body_types, schema)
        shown["requestBody"] = {"required": True, "content": content}
    return shown


def _find(method: str, path: str) -> tuple[EntityKind | None, str, Operation]:
    """The kind, if any, the tag and the row of a route."""
    if (method, path) in OTHER_OPERATIONS:
        return (None, *OTHER_OPERATIONS[method, path])
    for kind in KINDS.values():
        prefix = f"/v1/{kind.collection}"
        row = ENTITY_OPERATIONS.get((method, path.removeprefix(prefix)))
        if path.startswith(prefix) and row is not None:
            return kind, _tag(kind), row
    raise LookupError(f"{method.upper()} {path} is not documented in api/openapi.py")


def _tag(kind: EntityKind) -> str:
    return kind.collection.rpartition("/")[2]


def _about(kind: EntityKind) -> str:
    return inspect.getdoc(kind.body) or ""


def _words(kind: EntityKind) -> dict[str, str]:
    """What operation ids and summaries call a kind."""
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
    """The roles that grant a permission while no file of policies is named."""
    assert isinstance(permission, Permission)
    granting = [
        rule.role for rule in DEFAULT_RULES if combine(DEFAULT_RULES, (rule.role,)).may(permission)
    ]
    return f"by default role {' or '.join(granting)}"


def _parameters(path: str, generated: Schema) -> Iterator[Schema]:
    """The path and query parameters."""
    searching = {name: default for name, _, default, _ in search.PARAMETERS}
    for parameter in generated.get("parameters", ()):
        name, place = parameter["name"], parameter["in"]
        if place == "path":
            yield _shared(name)
            continue
        schema = _given(parameter["schema"])
        if path == "/v1/search/query":
            if name not in searching:
                continue
            schema = {**schema, **_SEARCH_SCHEMAS.get(name, {})}
            if searching[name] not in (None, ...):
                schema["default"] = searching[name]
        yield {
            "name": name,
            "in": place,
            "required": parameter["required"],
            "description": parameter.get("description", ""),
            "schema": schema,
        }


def _given(schema: Schema) -> Schema:
    """The schema of a query parameter that is there: an address has no null."""
    rest = {key: value for key, value in schema.items() if key not in ("oneOf", "description")}
    options = [option for option in schema.get("oneOf", ()) if option.get("type") != "null"]
    if len(options) == 1:
        rest |= options[0]
    elif options:
        rest["oneOf"] = options
    if isinstance(rest.get("type"), list):
        types = [name for name in rest["type"] if name != "null"]
        rest["type"] = types[0] if len(types) == 1 else types
    if "enum" in rest:
        rest["enum"] = [value for value in rest["enum"] if value is not None]
    if rest.get("type") == "integer":
        for bound in {"minimum", "maximum"} & rest.keys():
            rest[bound] = int(rest[bound])
    return rest


def _shared(name: str) -> Schema:
    """A path parameter or header that many operations take; the document has it once."""
    return {"$ref": f"#/components/parameters/{name}"}


def _responses(row: Operation, words: dict[str, str], errors: tuple[int, ...]) -> dict[str, Any]:
    """Answers and errors by status; a status that may be either has both schemas."""
    responses: dict[str, Any] = {
        str(status): {"$ref": f"#/components/responses/{_error_name(status)}"} for status in errors
    }
    for status, name in row.answers.items():
        schema = ref(name.format(**words)) if name else {"type": "string"}
        if status in errors:
            schema = {"anyOf": [schema, error_schema(status)]}
        headers = (*row.headers, "Location") if status == 201 else row.headers
        responses[str(status)] = {
            "description": HTTPStatus(status).phrase,
            **({"headers": {header: _header(header) for header in headers}} if headers else {}),
            "content": {
                row.media_type: {"schema": schema},
                **({NDJSON: {"schema": ref(row.lines)}} if row.lines else {}),
            },
        }
    return dict(sorted(responses.items()))


def _header(name: str) -> Schema:
    return {"$ref": f"#/components/headers/{name}"}


def _error_name(status: int) -> str:
    return HTTPStatus(status).phrase.replace(" ", "")


_ERROR_HEADERS = {401: "WWW-Authenticate", 429: "Retry-After"}


def _error(status: int) -> dict[str, Any]:
    """The response with the error body under one status."""
    return {
        "description": HTTPStatus(status).phrase,
        **({"headers": {name: _header(name)}} if (name := _ERROR_HEADERS.get(status)) else {}),
        "content": {_JSON: {"schema": error_schema(status)}},
    }
