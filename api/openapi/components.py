"""The component schemas, from the bodies of the kinds and our own Structs."""

import inspect
from typing import Any

import msgspec

from api.errors import ErrorBody
from api.openapi.answers import listed, shared_answers, shown
from api.openapi.json_schema import NAME, Schema, closed
from api.openapi.requests import REFERENCE, request, shared_requests
from api.routes.audit import AuditPage
from api.routes.system import Readiness, Version
from domain.bodies.columns import Named
from domain.changes import ChangeDescription
from domain.kinds import EntityKind
from domain.registry import KINDS
from projections.inspection import Inspection

_ANSWERS = (Version, Readiness, Inspection, AuditPage)
"""Structs that are answered as they are."""


_SPACES = r"\s\u001c-\u001f\u0085"
"""Spaces as Python's regular expressions have them; those of JSON schemas have fewer."""


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
        schemas[f"Create{name}"] = request(kind, given)
        schemas[name] = shown(kind, given)
        schemas[f"{name}List"] = listed(name)
    for part in Named.__subclasses__():
        if part.__name__ in parts:
            parts[part.__name__]["properties"]["name"] = NAME
    schemas["Error"] = closed(parts.pop(ErrorBody.__name__))
    for struct in _ANSWERS:
        parts[struct.__name__] = closed(parts[struct.__name__])
    reference = parts[REFERENCE]
    parts |= {**shared_answers(reference), **shared_requests(reference)}
    return dict(sorted({**schemas, **parts}.items()))


def _tidy(schema: Any) -> Any:
    """A schema as msgspec makes it, without what says nothing: titles, and null as a default.

    Patterns are said in the regular expressions of JSON schemas.
    """
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
        elif key == "pattern":
            kept[key] = value.replace(r"[^\s@]", f"[^@{_SPACES}]").replace(r"\S", f"[^{_SPACES}]")
        elif key != "title" and not (key == "default" and value is None):
            kept[key] = _tidy(value)
    if kept.get("type") == "integer":
        # Larger ones are decoded as floats, and refused.
        kept = {"minimum": -(2**63), "maximum": 2**64 - 1, **kept}
    return kept
