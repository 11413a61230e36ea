"""Parameters of path, query and header, with what the routes check of them by themselves."""

import re
from collections.abc import Iterator, Mapping
from types import NoneType
from typing import Any, Literal, get_args, get_origin

import msgspec
from litestar.params import QueryParameter

from api.answers.read_positions import HEADER, MAX_POSITION
from api.declaring.declared_query import DeclaredQuery
from api.declaring.operation import KNOWN_VERSION
from api.openapi.json_schema import TEXT, Schema, ref
from api.openapi.json_schema import UUID as ID
from api.routes.lineage.writes import SOURCES
from api.routes.search.searches import INDEX, INDEX_NAMES
from api.services import READ_YOUR_WRITES_SECONDS
from api.use_cases.entity_writes import MAX_KEY_LENGTH
from domain.kinds.bodies.property_types import PROPERTY_TYPES
from domain.kinds.registry import KINDS
from projections.entities.list_port import Include

KNOWN_POSITION = "Known-Position"
"""Name of the component for X-Catalog-Position where it is a condition of a read."""
_HEADERS: Mapping[str, tuple[str, str, Schema]] = {
    "If-Match": (
        "If-Match",
        "`*`, or the ETag of the state that the write is meant for; a version alone, such as `0.2`,"
        " is any state at that version.",
        {
            "anyOf": [
                {"const": "*"},
                {**TEXT, "pattern": r'^(W/)?"?[0-9]{1,9}\.[0-9](-[0-9a-f]{8}){0,2}"?$'},
            ]
        },
    ),
    "If-None-Match": (
        "If-None-Match",
        "`*`: the write is meant for an entity that does not exist yet.",
        {"const": "*"},
    ),
    "Idempotency-Key": (
        "Idempotency-Key",
        "The same request under the same key is answered as the first time.",
        {**TEXT, "minLength": 1, "maxLength": MAX_KEY_LENGTH},
    ),
    "X-Request-Id": (
        "X-Request-Id",
        "Recorded with the events; made up when absent.",
        TEXT,
    ),
    KNOWN_VERSION: (
        "If-None-Match",
        "ETags of states that the client has: one that is current is not sent again, and the answer"
        " is a 304.",
        TEXT,
    ),
    KNOWN_POSITION: (
        HEADER,
        "Position that the answer has to include, as the answer to a write has it: a host that has"
        f" not applied it waits {READ_YOUR_WRITES_SECONDS:.0f} s for it, searches by"
        " CATALOG_SEARCH_REFRESH longer, and then answers 503.",
        {"type": "integer", "minimum": 0, "maximum": MAX_POSITION},
    ),
}
"""Name of the component for a header of requests -> the header, its description and schema."""
_QUALIFIED: Schema = {**TEXT, "minLength": 1}
_AT_THE_END = "of the entity at the end of the edge."
_IN_PATH: Mapping[str, tuple[str, Schema]] = {
    "entity_id": ("Id of the entity.", ID),
    "entity_type": ("Kind of the entity.", {"enum": list(KINDS)}),
    "to_type": (f"Kind {_AT_THE_END}", {"enum": list(KINDS)}),
    "from_id": ("Id of the entity at the beginning.", ID),
    "to_id": (f"Id {_AT_THE_END}", ID),
    "source": ("How the edges were found.", {"enum": [*SOURCES]}),
    "to_fqn": (f"Qualified name {_AT_THE_END}", _QUALIFIED),
    "fqn": (
        "Qualified name: parts joined with dots, a part that holds a dot or a quote in double"
        ' quotes, as in `service."my.db"`. Percent-encode it once, `/` as `%2F`.',
        _QUALIFIED,
    ),
    "odcs_id": ("Anything: the id in the body counts.", _QUALIFIED),
    "table": ("Id or qualified name of the table, or qualified name of a column.", _QUALIFIED),
    "pipeline": ("Id or qualified name of the pipeline.", _QUALIFIED),
    "run": ("`runId` of the run.", TEXT),
    "contract": ("Id of the contract.", ID),
    "result": ("Id of the result.", ID),
    "topic": ("Id or qualified name of the topic.", _QUALIFIED),
    "name": ("Id or qualified name of the entity.", _QUALIFIED),
    "case": ("Id or qualified name of the test case.", _QUALIFIED),
    "profile_type": ("What of the table to delete.", {"enum": ["table", "column", "system"]}),
    "at": (
        "Time of the profile or run, in milliseconds.",
        {"type": "integer", "minimum": 0, "maximum": 2**53 - 1},
    ),
    "day": ("A day.", {**TEXT, "format": "date"}),
    "service": ("Id or qualified name of the service.", _QUALIFIED),
    "type_name": (
        "Name of a kind, or of a type of custom properties.",
        {"enum": [*KINDS, *PROPERTY_TYPES]},
    ),
    "user_id": ("Id of the user.", ID),
    "suite_id": ("Id of the test suite.", ID),
    "version": ("Decimal version such as `0.1`.", {**TEXT, "pattern": r"^[0-9]+\.[0-9]$"}),
    "index": (INDEX, INDEX_NAMES),
}
"""Part of a path -> its description and schema."""


def shared_parameters() -> dict[str, Schema]:
    """The components of parameters that many operations share: parts of paths, and headers."""
    rows = [
        *((name, name, "path", *row) for name, row in _IN_PATH.items()),
        *((name, row[0], "header", *row[1:]) for name, row in _HEADERS.items()),
    ]
    return {
        component: {
            "name": name,
            "in": place,
            "required": place == "path",
            "description": description,
            "schema": schema,
        }
        for component, name, place, description, schema in rows
    }


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
    if NoneType in get_args(hint):
        (hint,) = (each for each in get_args(hint) if each is not NoneType)
    if hint is Include:
        return {"allOf": [ref(Include.__name__)]}
    if get_origin(hint) is Literal:
        schema = {**TEXT, "enum": list(get_args(hint))}
    else:
        schema = msgspec.json.schema(hint)
    limits = {"maximum": about.le, "minimum": about.ge}
    bounds = {name: bound for name, bound in limits.items() if bound is not None}
    schema = {**bounds, **schema} if default is None else {**schema, **bounds}
    return schema if default is ... or default is None else {**schema, "default": default}


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
