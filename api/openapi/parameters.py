"""Parameters of path, query and header, with what the routes check of them by themselves."""

import re
from collections.abc import Iterator, Mapping
from datetime import date
from types import MappingProxyType, NoneType
from typing import Any, Literal, get_args, get_origin
from uuid import UUID

from litestar.params import QueryParameter

from api.answers.read_positions import HEADER, MAX_POSITION
from api.declaring.declared_query import DeclaredQuery
from api.declaring.operation import KNOWN_VERSION
from api.openapi.json_schema import TEXT, Schema, ref
from api.openapi.json_schema import UUID as ID
from api.routes.lineage.writes import SOURCES
from api.routes.search.searches import INDEX, INDEX_NAMES
from api.services import READ_YOUR_WRITES_SECONDS
from api.use_cases.asked import MAX_KEY_LENGTH
from domain.kinds.registry import KINDS
from projections.entities.port import Include

REQUEST_HEADERS: Mapping[str, Schema] = MappingProxyType(
    {
        "If-Match": {
            "description": "`*`, or the ETag of the state that the write is meant for; a version"
            " alone, such as `0.2`, is any state at that version.",
            "schema": {
                "anyOf": [
                    {"const": "*"},
                    {
                        "type": "string",
                        "pattern": r'^(W/)?"?[0-9]{1,9}\.[0-9](-[0-9a-f]{8}){0,2}"?$',
                    },
                ]
            },
        },
        "If-None-Match": {
            "description": "`*`: the write is meant for an entity that does not exist yet.",
            "schema": {"const": "*"},
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
KNOWN_POSITION = "Known-Position"
"""Name of the component for X-Catalog-Position where it is a condition of a read."""
CONDITIONS_OF_READS: Mapping[str, Schema] = MappingProxyType(
    {
        KNOWN_VERSION: {
            "name": "If-None-Match",
            "description": "ETags of states that the client has: one that is current is not sent"
            " again, and the answer is a 304.",
            "schema": {"type": "string"},
        },
        KNOWN_POSITION: {
            "name": HEADER,
            "description": "Position that the answer has to include, as the answer to a write has"
            f" it: a host that has not applied it waits {READ_YOUR_WRITES_SECONDS:.0f} s for it,"
            " searches by CATALOG_SEARCH_REFRESH longer, and then answers 503.",
            "schema": {"type": "integer", "minimum": 0, "maximum": MAX_POSITION},
        },
    }
)
_KIND: Schema = {"description": "Kind of the entity.", "schema": {"enum": list(KINDS)}}
PATH_PARAMETERS: Mapping[str, Schema] = MappingProxyType(
    {
        "entity_id": {"description": "Id of the entity.", "schema": ID},
        "entity_type": _KIND,
        "to_type": {**_KIND, "description": "Kind of the entity at the end of the edge."},
        "from_id": {"description": "Id of the entity at the beginning.", "schema": ID},
        "to_id": {"description": "Id of the entity at the end of the edge.", "schema": ID},
        "source": {"description": "How the edges were found.", "schema": {"enum": [*SOURCES]}},
        "to_fqn": {
            "description": "Qualified name of the entity at the end of the edge.",
            "schema": {"type": "string", "minLength": 1},
        },
        "fqn": {
            "description": "Qualified name: parts joined with dots, a part that holds a dot or a"
            ' quote in double quotes, as in `service."my.db"`. Percent-encode it once, `/` as'
            " `%2F`.",
            "schema": {"type": "string", "minLength": 1},
        },
        "table": {
            "description": "Id or qualified name of the table, or qualified name of a column.",
            "schema": {"type": "string", "minLength": 1},
        },
        "profile_type": {
            "description": "What of the table to delete.",
            "schema": {"enum": ["table", "column", "system"]},
        },
        "at": {
            "description": "Time of the profile, in milliseconds.",
            "schema": {"type": "integer", "minimum": 0, "maximum": 2**53 - 1},
        },
        "day": {"description": "A day.", "schema": {"type": "string", "format": "date"}},
        "service": {
            "description": "Id or qualified name of the service.",
            "schema": {"type": "string", "minLength": 1},
        },
        "type_name": {"description": "Name of a kind.", "schema": {"enum": [*KINDS]}},
        "suite_id": {"description": "Id of the test suite.", "schema": ID},
        "version": {
            "description": "Decimal version such as `0.1`.",
            "schema": {"type": "string", "pattern": r"^[0-9]+\.[0-9]$"},
        },
        "index": {"description": INDEX, "schema": INDEX_NAMES},
    }
)


def parameters(path: str, query: DeclaredQuery) -> Iterator[Schema]:
    """The parameters of an operation: those of its path, and of the query that its route declares.

    `path` is as the document shows it.
    """
    for name in re.findall(r"{(\w+)}", path):
        yield shared(name)
    for name, hint, default, about in query.documented():
        yield {
            "name": name,
            "in": "query",
            "required": default is ...,
            "description": about.description or "",
            "schema": {**_schema(hint, default, about), **(about.schema_extra or {})},
        }


def _schema(hint: Any, default: Any, about: QueryParameter) -> Schema:
    """The schema of a query parameter that is given: an address has no null."""
    inner = get_args(hint)
    types = [each for each in inner if each is not NoneType] if NoneType in inner else []
    schema = _type(types[0] if types else hint)
    limits = {"maximum": about.le, "minimum": about.ge}
    bounds = {name: bound for name, bound in limits.items() if bound is not None}
    schema = {**bounds, **schema} if types else {**schema, **bounds}
    if default is ... or default is None or isinstance(default, Include):
        return schema
    return {**schema, "default": default}


def _type(hint: Any) -> Schema:
    if get_origin(hint) is Literal:
        return {**TEXT, "enum": list(get_args(hint))}
    if get_origin(hint) is list:
        return {"items": TEXT, "type": "array"}
    return _TYPES[hint]


_TYPES: Mapping[Any, Schema] = MappingProxyType(
    {
        str: TEXT,
        int: {"type": "integer"},
        bool: {"type": "boolean"},
        UUID: ID,
        date: {**TEXT, "format": "date"},
        Include: {"allOf": [ref(Include.__name__)]},
    }
)
"""Type of a query parameter -> its schema."""
INCLUDE: Schema = {
    **TEXT,
    "enum": [each.value for each in Include],
    "title": Include.__name__,
    "description": "By deletion state.",
    "default": Include.NON_DELETED.value,
}
"""The component schema of Include."""


def shared(name: str) -> Schema:
    """A reference to the path parameter or header that many operations share."""
    return {"$ref": f"#/components/parameters/{name}"}
