"""Small JSON schemas of which the other schemas of the document are made."""

from collections.abc import Mapping
from typing import Any

from domain.kinds.names import MAX_NAME_LENGTH

Schema = dict[str, Any]

UUID: Schema = {"type": "string", "format": "uuid"}
TEXT: Schema = {"type": "string"}
COUNT: Schema = {"type": "integer", "minimum": 0}
NULL: Schema = {"type": "null"}
NAME: Schema = {
    "type": "string",
    "minLength": 1,
    "maxLength": MAX_NAME_LENGTH,
    "pattern": r"^[^\u0000-\u001f\u007f-\u009f]+$",
    "examples": ["orders"],
}


def ref(name: str) -> Schema:
    """A reference to a component schema."""
    return {"$ref": f"#/components/schemas/{name}"}


def array(items: Schema, **more: Any) -> Schema:
    """The schema of a list; `more` are its keywords beside `items`."""
    return {"type": "array", "items": items, **more}


def closed(schema: Schema) -> Schema:
    """The schema of an object, closed: keys other than those of the schema are wrong."""
    return {**schema, "additionalProperties": False}


def closed_object(
    properties: Mapping[str, Schema], *optional: str, description: str = ""
) -> Schema:
    """The schema of an object with these keys alone, all required but the `optional` ones."""
    schema: Schema = {
        "type": "object",
        "properties": dict(properties),
        "required": [key for key in properties if key not in optional],
        "additionalProperties": False,
    }
    return {**schema, "description": description} if description else schema
