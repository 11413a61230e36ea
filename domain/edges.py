"""What the name of a lineage edge says: the entity that it begins at, and the one that it ends at.

An edge is an entity of the log like any other, without routes of a collection. Its ends never
change, so they are its name: an edge is unique between two entities, and its claim leads to it
from both of them.
"""

EDGE = "lineageEdge"
"""The kind of lineage edges, as it stands in events, claims and policies."""


def edge_name(from_id: str, to_id: str) -> str:
    """The qualified name of the edge between two entities, by their ids."""
    return f"{from_id}.{to_id}"


def edge_ends(fqn: str) -> tuple[str, str]:
    """The ids of the entities that the edge of a qualified name begins and ends at."""
    from_id, _, to_id = fqn.partition(".")
    return from_id, to_id
