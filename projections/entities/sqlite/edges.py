"""The edges of the lineage in SQLite: rows of `entities` that `scopes` finds by their ends.

An edge is narrowed to the entities that it begins and ends at, and to its pipeline, and its name
is the id of its end. So the edges that end at an entity are one range of `scopes`, and all others
of the entity the two ranges beside it.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from itertools import chain

import msgspec

from domain.edges import EDGE, edge_name

_OF_SCOPE = (
    "SELECT e.core FROM scopes s JOIN entities e"
    " ON e.kind = s.kind AND e.deleted = 0 AND e.name = s.name AND e.id = s.id"
    f" WHERE s.scope = ? AND s.kind = '{EDGE}' AND s.deleted = 0 AND s.name {{}} ?"
    " ORDER BY s.name, s.id"
)
_ENDING, _BEFORE, _AFTER = (_OF_SCOPE.format(sign) for sign in ("=", "<", ">"))
_OF_NAME = f"SELECT core FROM entities WHERE kind = '{EDGE}' AND fqn = ?"
_DELETED = (
    "SELECT e.id FROM json_each(?) one CROSS JOIN entities e ON e.id = one.value"
    " WHERE e.deleted = 1"
)


class SqliteEdgeReader:
    """Reads edges on a connection that sees one state of the file."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def ending_at(self, entity_id: str) -> Iterator[bytes]:
        """The JSON of the edges that end at an entity, in order of their ids."""
        return self._cores(_ENDING, entity_id, entity_id)

    def leaving(self, entity_id: str) -> Iterator[bytes]:
        """The JSON of the edges that begin at an entity, or have it as their pipeline."""
        return chain(
            self._cores(_BEFORE, entity_id, entity_id),
            # The one that begins and ends there has the place between the two ranges.
            self._cores(_OF_NAME, edge_name(entity_id, entity_id)),
            self._cores(_AFTER, entity_id, entity_id),
        )

    def deleted(self, ids: Sequence[str]) -> set[str]:
        """Which of these entities are soft-deleted."""
        rows = self._connection.execute(_DELETED, (msgspec.json.encode([*ids]).decode(),))
        return {entity_id for (entity_id,) in rows}

    def _cores(self, sql: str, *parameters: str) -> Iterator[bytes]:
        for (core,) in self._connection.execute(sql, parameters):
            yield core
