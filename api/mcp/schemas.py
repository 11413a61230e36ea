"""JSON Schemas of Structs as tools show them, of which a client's model reads each character."""

from typing import Any

import msgspec

_LEFT_OUT = ("title", "default", "maxLength", "minLength")
"""Keywords that help no model to choose a value; lengths are refused where they are too large."""


def schema_of(struct: type[msgspec.Struct], *, whole: bool = True) -> dict[str, Any]:
    """The schema of a Struct, with those of the Structs in it; docstrings are for engineers.

    The descriptions are those of `Meta`. Where it is not `whole`, a Struct in it is any object.
    """
    (top,), components = msgspec.json.schema_components([struct], ref_template="#/$defs/{name}")
    own = components.pop(top["$ref"].rpartition("/")[2])
    shown: dict[str, Any] = _short(own)
    if not whole:
        shown = _of_objects(shown)
        return shown
    if components:
        shown["$defs"] = {name: _short(each) for name, each in components.items()}
    return shown


def _of_objects(schema: Any) -> Any:
    """A schema in which a reference to another one stands for any object."""
    if isinstance(schema, list):
        return [_of_objects(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return {"type": "object"}
    return {key: _of_objects(value) for key, value in schema.items()}


def _short(schema: Any, *, names: bool = False) -> Any:
    """A schema without what is left out; in `names` every key is the name of a property."""
    if isinstance(schema, list):
        return [_short(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    is_struct = schema.get("type") == "object" and "properties" in schema
    left_out = () if names else (*_LEFT_OUT, *(("description",) if is_struct else ()))
    return {
        key: _short(value, names=key == "properties" and not names)
        for key, value in schema.items()
        if key not in left_out and not (key == "required" and not value)
    }
