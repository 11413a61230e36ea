"""Lineage edges: the entities in the name of an edge, and the keys that are its details.

The name says which entity it begins at, and which one it ends at. An edge is an entity of the log
like any other, without routes of a collection. Its ends never change, so they are its name: an edge
is unique between two entities, and its claim leads to it from both of them.
"""

from collections.abc import Mapping

from msgspec import Raw

from domain.events import Body

EDGE = "lineageEdge"
"""The kind of lineage edges, as it stands in events, claims and policies."""
SET_HERE = ("createdAt", "createdBy", "updatedAt", "updatedBy")
"""The keys of an edge's details that the catalog sets itself."""
DETAIL_KEYS = (
    "sqlQuery",
    "columnsLineage",
    "pipeline",
    "description",
    "source",
    "assetEdges",
    "tempLineageTables",
    *SET_HERE,
)
"""The keys of an edge that its `lineageDetails` show, the last four set by the catalog."""


def edge_name(from_id: str, to_id: str) -> str:
    """The qualified name of the edge between two entities, by their ids."""
    return f"{from_id}.{to_id}"


def edge_ends(fqn: str) -> tuple[str, str]:
    """The ids of the entities that the edge of a qualified name begins and ends at."""
    from_id, _, to_id = fqn.partition(".")
    return from_id, to_id


def details_of(fields: Mapping[str, Raw]) -> Body:
    """The `lineageDetails` among the fields of an edge's document."""
    held = {"columnsLineage": Raw(b"[]"), **fields}
    return {key: held[key] for key in DETAIL_KEYS if key in held}
