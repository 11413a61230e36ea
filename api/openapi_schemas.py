"""Component schemas of the OpenAPI document, from the bodies of the kinds and our own Structs."""

import inspect
from collections.abc import Mapping
from typing import Any

import msgspec

from api.errors import CATALOG_ERRORS, ERROR_TYPES, ErrorBody
from api.routes.audit import AuditPage
from api.routes.system import Readiness, Version
from domain.bodies.base import REQUEST_ALIASES
from domain.changes import ChangeDescription
from domain.kinds import EntityKind
from domain.names import MAX_NAME_LENGTH
from domain.registry import KINDS
from projections.inspection import Inspection

Schema = dict[str, Any]

UUID: Schema = {"type": "string", "format": "uuid"}
_TEXT: Schema = {"type": "string"}
_COUNT: Schema = {"type": "integer", "minimum": 0}
_NULL: Schema = {"type": "null"}
_NAME: Schema = {
    "type": "string",
    "minLength": 1,
    "maxLength": MAX_NAME_LENGTH,
    "pattern": r"^[^\u0000-\u001f\u007f]+$",
    "examples": ["orders"],
}
_REFERENCE = "Reference"
_ANSWERS = (Version, Readiness, Inspection, AuditPage)
"""Structs that are answered as they are."""
_POINTER: Schema = {"type": "string", "pattern": "^(/.*)?$", "description": "RFC 6901 pointer."}


def ref(name: str) -> Schema:
    """A reference to a component schema."""
    return {"$ref": f"#/components/schemas/{name}"}


def body_name(kind: EntityKind) -> str:
    """Component name of what is shown of a kind; requests are `Create` and this."""
    return kind.body.__name__


def component_schemas() -> dict[str, Schema]:
    """Every component schema by name."""
    bodies = [kind.body for kind in KINDS.values()]
    own = [ErrorBody, ChangeDescription, *_ANSWERS]
    _, found = msgspec.json.schema_components(
        [*bodies, *own], ref_template="#/components/schemas/{name}"
    )
    parts: dict[str, Schema] = {name: _tidy(schema) for name, schema in found.items()}
    schemas: dict[str, Schema] = {}
    for kind in KINDS.values():
        name = body_name(kind)
        given = parts.pop(name)
        schemas[f"Create{name}"] = _request(kind, given)
        schemas[name] = _shown(kind, given)
        schemas[f"{name}List"] = _list(name)
    schemas["Error"] = _closed(parts.pop(ErrorBody.__name__))
    for struct in _ANSWERS:
        parts[struct.__name__] = _closed(parts[struct.__name__])
    return dict(sorted({**schemas, **parts, **_shared(parts[_REFERENCE])}.items()))


def error_schema(status: int) -> Schema:
    """The error body as it is under one status."""
    types = [ERROR_TYPES[status]] if status in ERROR_TYPES else []
    types += [error_type for _, code, error_type in CATALOG_ERRORS if code == status]
    return {
        **ref("Error"),
        "properties": {
            "code": {"const": status},
            "errorType": {"enum": list(dict.fromkeys(types))},
        },
    }


def _tidy(schema: Any) -> Any:
    """A schema as msgspec makes it, without what says nothing: titles, and null as a default."""
    if isinstance(schema, list):
        return [_tidy(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    kept: Schema = {}
    for key, value in schema.items():
        if key == "properties":
            kept[key] = {name: _tidy(inner) for name, inner in value.items()}
        elif key == "description" and isinstance(value, str):
            kept[key] = inspect.cleandoc(value)
        elif key != "title" and not (key == "default" and value is None):
            kept[key] = _tidy(value)
    return kept


def _request(kind: EntityKind, given: Schema) -> Schema:
    """The body of POST and PUT."""
    properties = {**given["properties"], "name": _NAME}
    if kind.statuses:
        properties["entityStatus"] = {"enum": [*kind.statuses, None]}
    aliases = {alias: key for alias, key in REQUEST_ALIASES.items() if key in kind.keys}
    for alias, key in aliases.items():
        properties[alias] = {
            "anyOf": [*_references(), _NULL],
            "deprecated": True,
            "description": f"The one element of `{key}`; not beside it.",
        }
    schema = {**given, "properties": properties, "additionalProperties": False}
    needed = [key for key in kind.parents if key not in given["required"]]
    if needed and len(needed) == len(kind.parents) and not kind.root:
        spellings = [*needed, *(alias for alias, key in aliases.items() if key in needed)]
        schema["anyOf"] = [{"required": [key]} for key in spellings]
    return schema


def _references() -> list[Schema]:
    return [_TEXT, ref(_REFERENCE)]


def _shown(kind: EntityKind, given: Schema) -> Schema:
    """An entity as it is answered: references resolved, nothing null, secrets left out.

    One schema serves lists, single entities and histories, so keys that depend on `fields`
    are not required.
    """
    unkept = {kind.key_of[attribute] for attribute in kind.body.unkept}
    body = {
        key: _resolved(schema)
        for key, schema in given["properties"].items()
        if key not in unkept and key != "name"
    }
    always = [key for key in given["required"] if key in body and key not in kind.optional]
    if kind.statuses:
        body["entityStatus"] = {"enum": list(kind.statuses)}
        always.append("entityStatus")
    properties = {
        "id": UUID,
        "name": _NAME,
        "fullyQualifiedName": _TEXT,
        **body,
        "version": {"type": "number", "minimum": 0.1},
        "updatedAt": {"type": "integer", "description": "Milliseconds since the Unix epoch."},
        "updatedBy": _TEXT,
        "deleted": {"const": True, "description": "There only when soft-deleted."},
        "changeDescription": ref("ChangeDescription"),
    }
    return {
        "type": "object",
        "description": given.get("description", ""),
        "properties": properties,
        "required": [
            *("id", "name", "fullyQualifiedName", "version", "updatedAt", "updatedBy"),
            *dict.fromkeys(always),
        ],
        "additionalProperties": False,
    }


def _resolved(schema: Schema) -> Schema:
    """The recorded form of a key: not null, and an object where a text may stand for one."""
    if schema == ref(_REFERENCE):
        return ref("EntityReference")
    if "items" in schema:
        return {**schema, "items": _resolved(schema["items"])}
    if "anyOf" not in schema:
        return schema
    options = [option for option in schema["anyOf"] if option != _NULL]
    if any("$ref" in option for option in options):
        options = [option for option in options if option != _TEXT]
    options = [_resolved(option) for option in options]
    rest = {key: value for key, value in schema.items() if key != "anyOf"}
    return {**options[0], **rest} if len(options) == 1 else {**rest, "anyOf": options}


def _closed(schema: Schema) -> Schema:
    """An answer that has these keys and no others."""
    return {**schema, "additionalProperties": False}


def _object(properties: Mapping[str, Schema], *optional: str, description: str = "") -> Schema:
    """An answer with these keys, all there but the `optional` ones."""
    schema: Schema = {
        "type": "object",
        "properties": dict(properties),
        "required": [key for key in properties if key not in optional],
        "additionalProperties": False,
    }
    return {**schema, "description": description} if description else schema


def _list(name: str) -> Schema:
    return _object({"data": {"type": "array", "items": ref(name)}, "paging": ref("Paging")})


def _shared(reference: Schema) -> dict[str, Schema]:
    """Schemas that no Struct describes."""
    known = {key: _resolved(value) for key, value in reference["properties"].items()}
    cursor = {"type": "string", "description": "Opaque; there only when there is such a page."}
    return {
        "EntityReference": {
            "type": "object",
            "description": "Another entity.",
            "properties": {**known, "id": UUID},
            "required": ["id", "type"],
            "additionalProperties": False,
        },
        "Paging": _object({"total": _COUNT, "before": cursor, "after": cursor}, "before", "after"),
        "EntityVersions": _object(
            {
                "entityType": {"enum": list(KINDS)},
                "versions": {
                    "type": "array",
                    "items": {"type": "string", "contentMediaType": "application/json"},
                    "description": "The entity as each version left it, the newest first.",
                },
            }
        ),
        "AuditLine": {"anyOf": [ref("AuditEvent"), _object({"paging": ref("AuditPaging")})]},
        "RestoreEntity": _object({"id": UUID}),
        "JsonPatch": {
            "type": "array",
            "description": "RFC 6902 operations on the entity as it is shown.",
            "items": {"oneOf": _patch_operations()},
        },
        "Health": _object({"status": {"const": "alive"}}),
        **_search(),
    }


def _patch_operations() -> list[Schema]:
    """Operations by the members that they need."""
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


def _search() -> dict[str, Schema]:
    """The search response."""
    sort_value = {"type": ["string", "number", "null"]}
    array: Schema = {"type": "array", "items": {"type": "object"}}
    column = {key: _TEXT for key in ("name", "dataType", "fullyQualifiedName")}
    texts = ("name", "displayName", "fullyQualifiedName", "serviceType", "description")
    source: Schema = {
        "type": "object",
        "description": "The entity's document, less the fields that were not asked for.",
        "properties": {
            "id": UUID,
            **dict.fromkeys(texts, _TEXT),
            "entityType": {"enum": list(KINDS)},
            "owners": array,
            "tags": array,
            "columns": {"type": "array", "items": {"type": "object", "properties": column}},
        },
        "additionalProperties": True,
    }
    ancestor = {
        "id": UUID,
        "type": {"enum": list(KINDS)},
        **dict.fromkeys(("name", "displayName", "fullyQualifiedName"), _TEXT),
        "deleted": {"type": "boolean"},
    }
    hit = {
        "_index": {"enum": sorted(kind.index for kind in KINDS.values())},
        "_id": UUID,
        "_score": {"type": ["number", "null"]},
        "_source": ref("SearchSource"),
        "sort": {"type": "array", "items": sort_value, "description": "With sortField."},
        "hierarchy": {
            "type": "array",
            "items": _object(ancestor, *(key for key in ancestor if key not in ("id", "type"))),
            "description": "Ancestors from the root down, with getHierarchy.",
        },
    }
    return {
        "SearchSource": source,
        "SearchHit": _object(hit, "_source", "sort", "hierarchy"),
        "SearchResponse": _object(
            {
                "took": {**_COUNT, "description": "Milliseconds."},
                "timed_out": {"type": "boolean"},
                "_shards": _object(
                    dict.fromkeys(("total", "successful", "failed", "skipped"), _COUNT)
                ),
                "hits": _object(
                    {
                        "total": _object({"value": _COUNT, "relation": {"enum": ["eq", "gte"]}}),
                        "max_score": {"type": ["number", "null"]},
                        "hits": {"type": "array", "items": ref("SearchHit")},
                    }
                ),
            }
        ),
    }
