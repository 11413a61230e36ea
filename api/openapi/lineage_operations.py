"""The operations of the lineage, and the schemas of what they take and answer."""

from collections.abc import Mapping
from types import MappingProxyType

from api.openapi.answers import resolved
from api.openapi.json_schema import NULL, TEXT, UUID, Schema, closed_object, ref
from api.openapi.operation import Operation
from api.openapi.operations import WRITE_ERRORS, WRITE_HEADERS, WRITTEN
from api.openapi.parameters import REQUEST_HEADERS
from api.openapi.requests import REFERENCE, referring, to_kinds
from api.routes.lineage.paths import BASE
from domain.edges import DETAIL_KEYS
from domain.kinds.bodies.lineage import RUNNING_KINDS
from domain.kinds.registry import KINDS

TAG = "lineage"
_NAMED = f"{BASE}/{{entity_type}}/name/{{fqn}}"
_BOTH_NAMED = f"{_NAMED}/{{to_type}}/name/{{to_fqn}}"
_BOTH_BY_ID = f"{BASE}/{{entity_type}}/{{entity_id}}/{{to_type}}/{{to_id}}"
_READ_ERRORS = (400, 404, 503)
_WALK = (
    "Breadth first, each entity and each edge once. A pipeline or stored procedure has the edges"
    " that name it too. Soft-deleted entities are there, with `deleted`; kinds that the caller may"
    " not view are left out, and what lies behind them. `truncated` says that there is more."
)
_PUT = (
    "What is not given of the details is removed. Columns that the entities do not have are left"
    " out. A bot's write keeps a description and the mappings that a person patched in, and of an"
    " edge of the source `Manual` also the source and all of its mappings."
)


def _walk(id: str, summary: str) -> Operation:
    return Operation(
        id=id, summary=summary, about=_WALK, answers={200: "EntityLineage"}, errors=_READ_ERRORS
    )


def _edge(id: str, summary: str, path: str | None = None) -> Operation:
    return Operation(
        id=id,
        summary=summary,
        path=path,
        answers={200: "LineageEdge"},
        errors=_READ_ERRORS,
        headers=("ETag", "X-Catalog-Position"),
    )


def _write(
    id: str, summary: str, about: str = "", body: str | None = None, path: str | None = None
) -> Operation:
    return Operation(
        id=id,
        summary=summary,
        about=about,
        path=path,
        answers={200: "LineageDetails"},
        errors=WRITE_ERRORS,
        body=body,
        body_types=("application/json", "application/json-patch+json")
        if body == "JsonPatch"
        else ("application/json",),
        takes=tuple(REQUEST_HEADERS),
        headers=WRITE_HEADERS,
    )


def _by_source(id: str, summary: str, path: str | None = None) -> Operation:
    return Operation(
        id=id,
        summary=summary,
        about="Those that end at the entity; of `PipelineLineage` and `OpenLineage` also those that"
        " name it as their pipeline.",
        path=path,
        answers={200: "LineageDeletion"},
        errors=(400, 404, 408, 409, 413, 415, 503),
        takes=("X-Request-Id",),
        headers=WRITTEN,
    )


LINEAGE_OPERATIONS: Mapping[tuple[str, str], tuple[str, Operation]] = MappingProxyType(
    {
        (method, path): (TAG, operation)
        for method, path, operation in (
            ("put", BASE, _write("addLineageEdge", "Draw an edge", _PUT, "AddLineage")),
            (
                "get",
                f"{BASE}/{{entity_type}}/{{entity_id}}",
                _walk("getLineage", "Get the lineage of an entity"),
            ),
            ("get", _NAMED, _walk("getLineageByFQN", "Get the lineage of an entity by its name")),
            (
                "put",
                _NAMED,
                _write(
                    "addLineageEdgeByName",
                    "Draw an edge between entities by their names",
                    _PUT,
                    "CreateLineageDetails",
                    _BOTH_NAMED,
                ),
            ),
            (
                "patch",
                _NAMED,
                _write(
                    "patchLineageEdgeByName",
                    "Patch the details of an edge by the names of its entities",
                    "RFC 6902, applied to the details as they are shown.",
                    "JsonPatch",
                    _BOTH_NAMED,
                ),
            ),
            (
                "delete",
                _NAMED,
                _write(
                    "deleteLineageEdgeByName",
                    "Remove an edge by the names of its entities",
                    path=_BOTH_NAMED,
                ),
            ),
            (
                "patch",
                _BOTH_BY_ID,
                _write(
                    "patchLineageEdge",
                    "Patch the details of an edge",
                    "RFC 6902, applied to the details as they are shown.",
                    "JsonPatch",
                ),
            ),
            ("delete", _BOTH_BY_ID, _write("deleteLineageEdge", "Remove an edge")),
            (
                "delete",
                f"{BASE}/{{entity_type}}/{{entity_id}}/type/{{source}}",
                _by_source("deleteLineageEdgeByType", "Remove the edges of a source"),
            ),
            (
                "delete",
                f"{BASE}/source/name/{{entity_type}}/{{fqn}}",
                _by_source(
                    "deleteLineageEdgeByTypeAndName",
                    "Remove the edges of a source by the entity's name",
                    f"{BASE}/source/name/{{entity_type}}/{{fqn}}/type/{{source}}",
                ),
            ),
            (
                "get",
                f"{BASE}/getLineageEdge/{{from_id}}/{{to_id}}",
                _edge("getLineageEdge", "Get an edge"),
            ),
            (
                "get",
                f"{BASE}/getLineageEdge/{{entity_type}}/name/{{fqn}}",
                _edge(
                    "getLineageEdgeByName",
                    "Get an edge by the names of its entities",
                    f"{BASE}/getLineageEdge/{{entity_type}}/name/{{fqn}}/{{to_type}}/name/{{to_fqn}}",
                ),
            ),
        )
    }
)
"""(method, path of the route) -> tag and operation."""


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
