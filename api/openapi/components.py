"""The component schemas, from the bodies of the kinds and our own Structs."""

import inspect
from typing import Any

import msgspec

from api.errors import ErrorBody
from api.openapi.answers import listed, shared_answers, shown
from api.openapi.json_schema import NAME, Schema, closed
from api.openapi.lineage import lineage_schemas
from api.openapi.requests import REFERENCE, bulk_request, request, shared_requests
from domain.kinds.bodies.columns import NamedPart
from domain.kinds.bodies.lineage import LineageEdge
from domain.kinds.entity_kind import EntityKind
from domain.kinds.registry import KINDS
from domain.reading.changes import ChangeDescription

_SPACES = r"\s\u001c-\u001f\u0085"
"""What Python's regular expressions count as a space, which those of JSON schemas partly do not."""


def body_name(kind: EntityKind) -> str:
    """Component name of a kind's answers; its requests are named `Create` and this name."""
    return kind.body.__name__


def component_schemas(taken: set[type], answered: set[type]) -> dict[str, Schema]:
    """Every component schema by name, with those of the Structs that routes take and answer."""
    bodies = [*(kind.body for kind in KINDS.values()), LineageEdge]
    own = [ErrorBody, ChangeDescription, *taken, *answered]
    _, generated = msgspec.json.schema_components(
        [*bodies, *own], ref_template="#/components/schemas/{name}"
    )
    components: dict[str, Schema] = {name: _tidy(schema) for name, schema in generated.items()}
    schemas: dict[str, Schema] = {}
    for kind in KINDS.values():
        name = body_name(kind)
        given = components.pop(name)
        schemas[f"Create{name}"] = request(kind, given)
        schemas[f"Create{name}List"] = bulk_request(f"Create{name}")
        schemas[name] = shown(kind, given)
        schemas[f"{name}List"] = listed(name)
    schemas |= lineage_schemas(components.pop(LineageEdge.__name__))
    for part in NamedPart.__subclasses__():
        if part.__name__ in components:
            components[part.__name__]["properties"]["name"] = NAME
    schemas["Error"] = closed(components.pop(ErrorBody.__name__))
    for struct in answered - taken:
        components[struct.__name__] = closed(components[struct.__name__])
    reference = components[REFERENCE]
    components |= {**shared_answers(reference), **shared_requests(reference)}
    return dict(sorted({**schemas, **components}.items()))


def _tidy(schema: Any) -> Any:
    """A schema of msgspec without titles and defaults of null, which say nothing.

    Patterns are rewritten as regular expressions of JSON schemas.
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
    return kept
