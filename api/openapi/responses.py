"""The responses of operations: answers and errors by status, with their headers."""

from collections.abc import Mapping
from http import HTTPStatus
from types import MappingProxyType
from typing import Any

from api.answers.responses import JSON, NDJSON
from api.declaring.operation import Operation
from api.errors import CATALOG_ERRORS, ERROR_TYPES
from api.openapi.json_schema import COUNT, TEXT, Schema, ref
from api.services import READ_YOUR_WRITES_SECONDS


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
