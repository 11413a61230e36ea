"""The schemas of what the operations of the lineage take and answer."""

from api.openapi.answers import resolved
from api.openapi.json_schema import NULL, TEXT, UUID, Schema, closed_object, ref
from api.openapi.requests import REFERENCE, referring, to_kinds
from domain.edges import DETAIL_KEYS
from domain.kinds.bodies.lineage import RUNNING_KINDS
from domain.kinds.registry import KINDS


def lineage_schemas(given: Schema) -> dict[str, Schema]:
    """The component schemas by name, made from that of `LineageEdge` as it is recorded."""
    recorded = {key: given["properties"][key] for key in DETAIL_KEYS}
    asked = {key: _or_null(value) for key, value in recorded.items()}
    asked["pipeline"] = referring(asked["pipeline"], to_kinds(RUNNING_KINDS), TEXT)
    end = {**ref(REFERENCE), "properties": {"type": {"enum": list(KINDS)}}, "required": ["type"]}
    edge = {
        "fromEntity": end,
        "toEntity": end,
        "description": {"anyOf": [TEXT, NULL]},
        "lineageDetails": {"anyOf": [ref("CreateLineageDetails"), NULL]},
    }
    step = {"fromEntity": UUID, "toEntity": UUID, "lineageDetails": ref("LineageDetails")}
    nodes: Schema = {"type": "array", "items": ref("EntityReference")}
    steps: Schema = {"type": "array", "items": ref("LineageStep")}
    return {
        "AddLineage": closed_object({"edge": closed_object(edge, "description", "lineageDetails")}),
        "CreateLineageDetails": closed_object(asked, *asked),
        "LineageDetails": closed_object(
            {key: resolved(value) for key, value in recorded.items()},
            *recorded,
            description="How the entity at the end of an edge is made of the one at its beginning.",
        ),
        "LineageEdge": closed_object({"edge": ref("LineageDetails")}),
        "LineageDeletion": closed_object({"deleted": {"type": "integer", "minimum": 0}}),
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


def _or_null(schema: Schema) -> Schema:
    if "anyOf" in schema:
        return schema
    return {"anyOf": [schema, NULL]}
