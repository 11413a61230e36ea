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
from api.declaring.spellings import Rows
from api.openapi.json_schema import TEXT, Schema, ref
from api.openapi.json_schema import UUID as ID
from api.routes.lineage.writes import SOURCES
from api.routes.search import documents as search_documents
from api.routes.search import facets as search_facets
from api.routes.search import searches as search
from api.routes.search import suggestions as search_suggestions
from api.services import READ_YOUR_WRITES_SECONDS
from api.use_cases.asked import MAX_KEY_LENGTH
from api.use_cases.requested_fields import field_names
from domain.kinds.entity_kind import EntityKind
from domain.kinds.registry import ALL_KINDS, KINDS
from projections.entities import name_filters
from projections.entities.port import Include
from projections.search.aggregations import MAX_BUCKETS
from projections.search.answers import aggregate, suggestions
from projections.search.answers.queries import MAX_SIZE, MAX_WINDOW
from projections.search.documents.documents import SORTABLE
from projections.search.engine import SCORE
from projections.search.index_names import ALL, meanings
from projections.search.language.patterns import MAX_PATTERN
from projections.search.language.text import MAX_LENGTH

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
KNOWN_VERSION = "Known-Version"
"""Name of the component for If-None-Match where it is a condition of a read."""
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
_NAME = f"({'|'.join(sorted((ALL, *meanings())))})"
INDEX: Schema = {"type": "string", "pattern": f"^{_NAME}(,{_NAME})*$"}
"""The names of indexes that searches take."""
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
        "index": {"description": search.INDEX, "schema": INDEX},
    }
)
_WINDOW: Mapping[str, Schema] = {
    "from": {"type": "integer", "minimum": 0, "maximum": MAX_WINDOW},
    "size": {"type": "integer", "minimum": 0, "maximum": MAX_SIZE},
}
_PATHS: Schema = {"type": "array", "items": {"type": "string", "format": "field-path"}}
_TIME: Schema = {
    "anyOf": [
        {"type": "string", "format": "date"},
        {"type": "string", "format": "date-time"},
        {"type": "string", "pattern": "^[0-9]{11,15}$"},
    ]
}
_TEXT: Schema = {"type": "string", "format": "query-text", "maxLength": MAX_LENGTH}
_FILTER: Schema = {"type": "string", "format": "query-filter"}
_SORT: Schema = {"type": "string", "enum": [*SORTABLE, SCORE]}
_SPELLED: Mapping[str, Rows] = MappingProxyType(
    {
        "/v1/search/query": search.PARAMETERS,
        "/v1/search/entityTypeCounts": search_facets.COUNT_PARAMETERS,
        "/v1/search/export": search_documents.EXPORT_PARAMETERS,
        "/v1/search/suggest": search_suggestions.PARAMETERS,
    }
)
"""Path -> its query parameters that may be spelled in two ways, of which the document has one."""
_QUERY_SCHEMAS: Mapping[str, Mapping[str, Schema]] = MappingProxyType(
    {
        "/v1/search/query": {
            "q": _TEXT,
            "index": INDEX,
            **_WINDOW,
            "sortField": _SORT,
            "includeSourceFields": _PATHS,
            "excludeSourceFields": _PATHS,
            "queryFilter": _FILTER,
            "postFilter": _FILTER,
            "aggregations": {"type": "string", "format": "aggregations"},
        },
        "/v1/search/entityTypeCounts": {
            "q": _TEXT,
            "index": INDEX,
            "queryFilter": _FILTER,
            "postFilter": _FILTER,
        },
        "/v1/search/export": {
            "q": _TEXT,
            "index": INDEX,
            "sortField": _SORT,
            "queryFilter": _FILTER,
            "postFilter": _FILTER,
        },
        "/v1/search/aggregate": {
            "field": {"type": "string", "format": "countable-field"},
            "value": {"type": "string", "format": "term-regex", "maxLength": MAX_PATTERN},
            "index": INDEX,
            "q": _TEXT,
            "queryText": _TEXT,
            "size": {"type": "integer", "minimum": 0, "maximum": MAX_BUCKETS},
            "sourceFields": {"type": "string", "format": "field-path"},
            "topHitsSize": {"type": "integer", "minimum": 0, "maximum": aggregate.MAX_HITS},
            "topHitsSortField": {"type": "string", "enum": ["_doc", *SORTABLE]},
        },
        "/v1/search/suggest": {
            "q": {**_TEXT, "maxLength": MAX_PATTERN},
            "index": INDEX,
            "field": {"type": "string", "enum": list(suggestions.FIELDS)},
            "size": {"type": "integer", "minimum": 0, "maximum": suggestions.MAX_SIZE},
            "includeSourceFields": _PATHS,
        },
        "/v1/search/sourceUrl": _WINDOW,
        "/v1/search/fieldQuery": {
            "fieldName": {"type": "string", "format": "field-path"},
            "fieldValue": {"type": "string", "maxLength": MAX_PATTERN},
            "index": INDEX,
            **_WINDOW,
        },
        "/v1/audit/events": {
            "kind": {"type": "string", "enum": list(ALL_KINDS)},
            "entity": ID,
            "lineageOf": ID,
            "since": _TIME,
            "until": _TIME,
        },
    }
)
"""Path -> query parameter -> schema of what the route itself checks, unknown to Litestar."""


def _list_schemas(kind: EntityKind) -> Mapping[str, Schema]:
    """Query parameter -> schema of what a kind's list itself checks."""
    field = f"({'|'.join(map(re.escape, ('*', *field_names(kind))))})"
    cursor = {"type": "string", "format": "page-cursor"}
    regex = {"type": "string", "format": "name-regex", "maxLength": name_filters.MAX_PATTERN}
    return {
        **dict.fromkeys(kind.lists.names, regex),
        "fields": {"type": "string", "pattern": f"^({field}(,{field})*)?$"},
        "before": cursor,
        "after": cursor,
    }


def parameters(path: str, kind: EntityKind | None, query: DeclaredQuery) -> Iterator[Schema]:
    """The parameters of an operation: those of its path, and of the query that its route declares.

    `path` is as the document shows it.
    """
    defaults = {name: default for name, _, default, _ in _SPELLED.get(path, ())}
    own = _QUERY_SCHEMAS.get(path) or (_list_schemas(kind) if kind else {})
    for name in re.findall(r"{(\w+)}", path):
        yield shared(name)
    for name, hint, default, about in query.documented():
        schema = {**_schema(hint, default, about), **own.get(name, {})}
        if path in _SPELLED:
            if name not in defaults:
                continue
            if defaults[name] is not None:
                schema["default"] = defaults[name]
        yield {
            "name": name,
            "in": "query",
            "required": default is ...,
            "description": about.description or "",
            "schema": schema,
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
