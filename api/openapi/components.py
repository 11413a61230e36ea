"""The component schemas, from the bodies of the kinds and our own Structs."""

import inspect
from typing import Any

import msgspec

from api.errors import ErrorBody
from api.openapi.answers import resolved, shared_answers, shown
from api.openapi.json_schema import (
    NAME,
    NULL,
    TEXT,
    UUID,
    Schema,
    array,
    closed,
    closed_object,
    ref,
)
from api.openapi.requests import (
    REFERENCE,
    bulk_request,
    referring,
    request,
    shared_requests,
    to_kinds,
)
from domain.contracts.validation.results import LatestResult
from domain.edges import DETAIL_KEYS
from domain.kinds.bodies.columns import NamedPart
from domain.kinds.bodies.lineage import RUNNING_KINDS, LineageEdge
from domain.kinds.entity_kind import EntityKind
from domain.kinds.registry import KINDS
from domain.openmetadata.verdicts import Verdict
from domain.reading.changes import ChangeDescription

_SPACES = r"\s\u001c-\u001f\u0085"
"""Characters that are a space for Python's regular expressions, but not for those of JSON."""


def body_name(kind: EntityKind) -> str:
    """Component name of a kind's answers; its requests are named `Create` and this name."""
    return kind.body.__name__


def component_schemas(taken: set[type], answered: set[type]) -> dict[str, Schema]:
    """Every component schema by name, with those of the Structs that routes take and answer."""
    bodies = [*(kind.body for kind in KINDS.values()), LineageEdge]
    told = {ChangeDescription, LatestResult, Verdict}
    own = [ErrorBody, *told, *taken, *answered]
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
        schemas[f"{name}List"] = closed_object({"data": array(ref(name)), "paging": ref("Paging")})
    schemas |= _lineage_schemas(components.pop(LineageEdge.__name__))
    for part in NamedPart.__subclasses__():
        if part.__name__ in components:
            components[part.__name__]["properties"]["name"] = NAME
    schemas["Error"] = closed(components.pop(ErrorBody.__name__))
    for struct in told.union(answered) - taken:
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


def _lineage_schemas(given: Schema) -> dict[str, Schema]:
    """The component schemas by name, made from that of `LineageEdge` as it is recorded."""
    recorded = {key: given["properties"][key] for key in DETAIL_KEYS}
    asked = {
        key: value if "anyOf" in value else {"anyOf": [value, NULL]}
        for key, value in recorded.items()
    }
    asked["pipeline"] = referring(asked["pipeline"], to_kinds(RUNNING_KINDS), TEXT)
    end = {**ref(REFERENCE), "properties": {"type": {"enum": list(KINDS)}}, "required": ["type"]}
    edge = {
        "fromEntity": end,
        "toEntity": end,
        "description": {"anyOf": [TEXT, NULL]},
        "lineageDetails": {"anyOf": [ref("CreateLineageDetails"), NULL]},
    }
    step = {"fromEntity": UUID, "toEntity": UUID, "lineageDetails": ref("LineageDetails")}
    nodes: Schema = array(ref("EntityReference"))
    steps: Schema = array(ref("LineageStep"))
    return {
        "AddLineage": closed_object({"edge": closed_object(edge, "description", "lineageDetails")}),
        "CreateLineageDetails": closed_object(asked, *asked),
        "LineageDetails": closed_object(
            {key: resolved(value) for key, value in recorded.items()},
            *recorded,
            description="How the entity at the end of an edge is made of the one at its beginning.",
        ),
        "LineageEdge": closed_object(
            {
                "edge": ref("LineageDetails"),
                "lastSeen": {
                    "type": "integer",
                    "description": "There only where a pipeline has told of the edge: when it did"
                    " so last, to the hour, in milliseconds since 1970.",
                },
            },
            "lastSeen",
        ),
        "Deleted": closed_object({"deleted": {"type": "integer", "minimum": 0}}),
        "LineageStep": closed_object(step),
        "EntityLineage": closed_object(
            {
                "entity": ref("EntityReference"),
                "nodes": nodes,
                "upstreamEdges": steps,
                "downstreamEdges": steps,
                "truncated": {"const": True, "description": "There only when there is more."},
            },
            "truncated",
        ),
    }
