"""Requests to the API: their bodies, and references in them."""

from api.openapi.json_schema import (
    COUNT,
    NAME,
    NULL,
    TEXT,
    UUID,
    Schema,
    array,
    closed_object,
    ref,
)
from api.routes.search.searches import INDEX_NAMES, QUERY_TEXT
from domain.kinds.bodies.base import annotated_fields
from domain.kinds.bodies.profiling import PROFILER_CONFIG
from domain.kinds.entity_kind import EntityKind
from domain.kinds.registry import KINDS
from domain.measurements.runs import MAX_RUNS
from domain.openlineage.events import MOST_EVENTS, MOST_NAME
from domain.openmetadata.entity_properties import REQUEST_ALIASES
from domain.writing.bulk_put import MAX_REQUESTS
from projections.search.aggregations import MAX_BUCKETS
from projections.search.answers.aggregate import MAX_HITS
from projections.search.documents.documents import SORTABLE
from projections.search.language.patterns import MAX_PATTERN

REFERENCE, OUTSIDE = "Reference", "OutsideReference"
_QUALIFIED: Schema = {
    "type": "string",
    "pattern": r'^("([^"]|"")+"|[^".]+)(\.("([^"]|"")+"|[^".]+))*$',
    "description": "Parts joined with dots; a part that holds a dot or a quote is quoted.",
}
_SHOWN = r"[^\s\u0000-\u001f\u007f\u0085]"
_OUTER = r"[^\s\u0000-\u001f\u007f-\u009f]"
_PROGRAM: Schema = {
    **NAME,
    "pattern": rf"^{_OUTER}([^\u0000-\u001f\u007f-\u009f]*{_OUTER})?$",
    "description": "Begins and ends with no blank.",
}
_POINTER: Schema = {
    "type": "string",
    "pattern": "^(/([^~/]|~[01])*)*$",
    "description": "RFC 6901 pointer.",
}


def request(kind: EntityKind, given: Schema) -> Schema:
    """The schema of the body of POST and PUT of a kind."""
    own = {key: schema for key, schema in given["properties"].items() if key not in kind.apart}
    properties = {**own, "name": NAME}
    for attribute, kinds in kind.references.items():
        key = kind.key_of[attribute]
        if key in kind.loose:
            properties[key] = referring(properties[key], _typed(OUTSIDE, kinds), _QUALIFIED)
        else:
            properties[key] = referring(properties[key], to_kinds(kinds), TEXT if kinds else None)
    for attribute, other in annotated_fields(kind.body, "outside").items():
        key = kind.key_of[attribute]
        properties[key] = referring(properties[key], _typed(OUTSIDE, (other,)), _QUALIFIED)
    for field in kind.members.keys() & properties.keys():
        members = to_kinds((kind.members[field].kind,))
        properties[field] = referring(properties[field], members, TEXT)
    if "usedBy" in properties:
        properties["usedBy"] = {"anyOf": [array(_PROGRAM), NULL]}
    if PROFILER_CONFIG in properties:
        properties[PROFILER_CONFIG] = {"anyOf": [ref("ProfilerConfig"), NULL]}
    if kind.statuses:
        properties["entityStatus"] = {"enum": [*kind.statuses, None]}
    aliases = {alias: key for alias, key in REQUEST_ALIASES.items() if key in kind.keys}
    for alias, key in aliases.items():
        properties[alias] = {
            "anyOf": [TEXT, to_kinds(kind.references[kind.attribute_of[key]]), NULL],
            "deprecated": True,
            "description": f"The one element of `{key}`; not beside it.",
        }
    schema = {**given, "properties": properties, "additionalProperties": False}
    if aliases:
        schema["allOf"] = [{"not": {"required": [alias, key]}} for alias, key in aliases.items()]
    # A parent that an entity brings with it follows from its other keys.
    parents = () if kind.suites is not None else kind.parents
    needed = [key for key in parents if key not in given["required"]]
    if needed and len(needed) == len(kind.parents) and not kind.root:
        spellings = [*needed, *(alias for alias, key in aliases.items() if key in needed)]
        given_one: Schema = {"not": {"enum": [None, []]}}
        schema["anyOf"] = [{"required": [key], "properties": {key: given_one}} for key in spellings]
    return schema


def bulk_request(name: str) -> Schema:
    """The schema of the body of a bulk PUT of a kind, whose requests have a component name.

    An object that does not fit is refused by itself, so that any object may stand in the list.
    """
    one = {"anyOf": [ref(name), {"type": "object", "description": "Refused by itself."}]}
    return {"type": "array", "maxItems": MAX_REQUESTS, "items": one}


def shared_requests(reference: Schema) -> dict[str, Schema]:
    """Schemas of references as callers may write them, and of bodies that all kinds share."""
    properties = {**reference["properties"], "id": {"anyOf": [UUID, NULL]}}
    reference = {**reference, "properties": properties}
    return {
        REFERENCE: {**reference, "anyOf": [_having(id=TEXT), _having(fullyQualifiedName=TEXT)]},
        # A reference to what is not kept here has its name from the qualified name by default.
        OUTSIDE: {
            **reference,
            "anyOf": [
                _having(id=TEXT, fullyQualifiedName={"anyOf": [_QUALIFIED, NULL]}),
                _having(fullyQualifiedName=_QUALIFIED),
                _having(name={**TEXT, "minLength": 1}),
            ],
        },
        "OdcsDocument": {
            "type": "object",
            "description": "A document of the Open Data Contract Standard.",
            "required": ["id", "kind", "apiVersion"],
            "properties": {
                "id": {"anyOf": [{**TEXT, "minLength": 1}, {"type": "number"}]},
                "kind": {"const": "DataContract"},
                "apiVersion": {**TEXT, "pattern": r"^v3\.[0-9]{1,4}\.[0-9]{1,4}$"},
            },
        },
        "McpMessage": {
            "type": "object",
            "description": "A request of the Model Context Protocol.",
            "required": ["jsonrpc", "id", "method"],
            "properties": {
                "jsonrpc": {"const": "2.0"},
                "id": {"anyOf": [TEXT, {"type": "integer"}]},
                "method": TEXT,
                "params": {"type": "object"},
            },
        },
        "JudgedDocument": {
            "type": "object",
            "description": "Any mapping, which may be no document of the standard.",
        },
        "JudgedContract": {
            "type": "object",
            "description": "A `CreateDataContract`, or any other mapping, of which is told what is"
            " wrong with it.",
        },
        "OdcsDocuments": {
            "type": "object",
            "description": "Two versions of a document of the Open Data Contract Standard.",
            "required": ["before", "after"],
            "properties": {side: ref("OdcsDocument") for side in ("before", "after")},
            "additionalProperties": False,
        },
        "DbtManifest": {
            "type": "object",
            "description": "The `manifest.json` of dbt 1.5 or later.",
            "required": ["nodes"],
            "properties": {"nodes": {"type": "object"}},
        },
        "DbtRunResults": {
            "type": "object",
            "description": "The `run_results.json` of a run of dbt.",
            "required": ["metadata", "results"],
            "properties": {
                "metadata": {
                    "type": "object",
                    "required": ["generated_at"],
                    "properties": {"generated_at": {**TEXT, "format": "date-time"}},
                },
                "results": array({"type": "object"}),
            },
        },
        "OpenLineageEvent": _EVENT,
        "OpenLineageBatch": {
            "description": "Events of OpenLineage; what is none of them the answer names.",
            "anyOf": [
                {**array({}), "maxItems": MOST_EVENTS},
                {
                    "type": "object",
                    "required": ["events"],
                    "properties": {"events": {**array({}), "maxItems": MOST_EVENTS}},
                },
            ],
        },
        "QueryText": {**TEXT, "pattern": _SHOWN, "description": "SQL."},
        "QueryUsage": array(to_kinds(())),
        "QueryUsers": array({"anyOf": [to_kinds(("user",)), TEXT]}),
        "QueryUsedBy": array(_PROGRAM),
        "PipelineRuns": {**array(ref("PipelineRun")), "maxItems": MAX_RUNS},
        "Follower": UUID,
        "RestoreEntity": closed_object({"id": UUID}),
        "AggregateRequest": _aggregate_request(),
        "JsonPatch": {
            "type": "array",
            "description": "RFC 6902 operations on the entity as it is shown.",
            "items": {"oneOf": _patch_operations()},
        },
    }


_PLAIN = r"^[^\u0000-\u001f]*$"
"""A text without control characters."""
_NAMED: Schema = {
    "type": "object",
    "required": ["namespace", "name"],
    "properties": {
        "namespace": {**TEXT, "minLength": 1, "maxLength": MOST_NAME, "pattern": _PLAIN},
        "name": {**TEXT, "minLength": 1, "maxLength": MOST_NAME, "pattern": _PLAIN},
    },
}
_NAMES: Schema = {"anyOf": [array(_NAMED), NULL]}
_EVENT: Schema = {
    "type": "object",
    "description": "An event of OpenLineage: of a run, a job or a dataset.",
    "required": ["eventTime"],
    "anyOf": [{"required": ["job"]}, {"required": ["dataset"]}],
    "properties": {
        "eventTime": {**TEXT, "format": "date-time"},
        "eventType": {},
        "run": {
            "type": "object",
            "required": ["runId"],
            "properties": {
                "runId": {**TEXT, "minLength": 1, "maxLength": MOST_NAME, "pattern": _PLAIN}
            },
        },
        "job": _NAMED,
        "dataset": _NAMED,
        "inputs": _NAMES,
        "outputs": _NAMES,
    },
}


def _aggregate_request() -> Schema:
    """The schema of the body that asks for the values of one field."""
    top_hits = {
        "size": {**COUNT, "maximum": MAX_HITS, "default": 1},
        "sortField": {"enum": ["_doc", *SORTABLE], "default": "_doc"},
        "sortOrder": {"enum": ["asc", "desc"], "default": "asc"},
    }
    none = {"enum": ["none", ""], "default": "none"}
    properties: dict[str, Schema] = {
        "fieldName": {**TEXT, "format": "countable-field"},
        "fieldValue": {**TEXT, "format": "term-regex", "maxLength": MAX_PATTERN, "default": ""},
        "query": {**QUERY_TEXT, "default": ""},
        "queryText": {"anyOf": [QUERY_TEXT, NULL]},
        "index": {**INDEX_NAMES, "default": KINDS["table"].index},
        "size": {**COUNT, "maximum": MAX_BUCKETS, "default": 10},
        "deleted": {"type": "boolean", "default": False},
        "sourceFields": {"type": "array", "items": {**TEXT, "format": "source-field"}},
        "topHits": {"anyOf": [closed_object(top_hits, *top_hits), NULL]},
        "fetchParentsAliases": none,
        "fetchChildAliases": none,
    }
    return closed_object(
        properties,
        *(name for name in properties if name != "fieldName"),
        description="As the parameters of the GET; `query` is `q`, `fieldName` is `field`.",
    )


def _having(**properties: Schema) -> Schema:
    """The schema of an object with these properties, of which the first is required."""
    return {"required": [next(iter(properties))], "properties": properties}


def _typed(name: str, kinds: tuple[str, ...]) -> Schema:
    """The schema of a reference to one of some kinds; the kind may be left out."""
    return {**ref(name), "properties": {"type": {"enum": [*kinds, None]}}}


def to_kinds(kinds: tuple[str, ...]) -> Schema:
    """The schema of a reference to one of some kinds; with no kinds, a name needs its type."""
    if kinds:
        return _typed(REFERENCE, kinds)
    return {**ref(REFERENCE), "anyOf": [_having(id=TEXT), _having(type=TEXT)]}


def referring(schema: Schema, reference: Schema, text: Schema | None) -> Schema:
    """The schema of a key, or a list, of references: an object, or a text if it may be one."""
    if "items" in schema:
        return {**schema, "items": referring(schema["items"], reference, text)}
    if "anyOf" not in schema:
        return reference if schema == ref(REFERENCE) else schema
    options = [
        text if option == TEXT else referring(option, reference, text) for option in schema["anyOf"]
    ]
    return {**schema, "anyOf": [option for option in options if option is not None]}


def _patch_operations() -> list[Schema]:
    """The schemas of JSON Patch operations, one for each set of members that they need."""
    members: list[tuple[list[str], dict[str, Schema]]] = [
        (["add", "replace", "test"], {"path": _POINTER, "value": {}}),
        (["remove"], {"path": _POINTER}),
        (["move", "copy"], {"path": _POINTER, "from": _POINTER}),
    ]
    return [
        {
            "type": "object",
            "properties": {"op": {"enum": names}, **needed},
            "required": ["op", *needed],
        }
        for names, needed in members
    ]
