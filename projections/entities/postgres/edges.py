"""The edges of the lineage in PostgreSQL: rows of `entities` that `scopes` finds by their ends.

An edge is narrowed to the entities that it begins and ends at, and to its pipeline, and its name
is the id of its end. So the edges that end at an entity are one range of `scopes`, and all others
of the entity the two ranges beside it.
"""

from collections.abc import Iterator, Sequence
from itertools import chain

from domain.edges import EDGE, edge_name
from domain.event_store.postgres.link import Link
from domain.kinds.names import name_key
from projections.entities.postgres.database import EntityTables
from projections.entities.postgres.errors import postgres_errors

_AT_ONCE = 100
"""Edges that one statement reads."""
_OF_SCOPE = (
    "SELECT s.name, s.id, e.core FROM (SELECT name, id FROM {{}}.scopes"
    f" WHERE scope = %b AND kind = '{EDGE}' AND deleted = 0 AND name {{}} %b"
    f" AND (name, id) > (%b, %b) ORDER BY name, id LIMIT {_AT_ONCE}) s"
    " JOIN {{}}.entities e ON e.id = s.id ORDER BY s.name, s.id"
)
_ENDING, _BEFORE, _AFTER = (_OF_SCOPE.format(sign) for sign in ("=", "<", ">"))
_OF_NAME = "SELECT core FROM {}.entities WHERE fqn_key = %b"
_DELETED = "SELECT id FROM {}.entities WHERE id = ANY (%b::text[]) AND deleted = 1"


class PostgresEdgeReader:
    """Reads edges on a connection that sees one state of the tables."""

    def __init__(self, tables: EntityTables, link: Link) -> None:
        self._tables = tables
        self._link = link

    def ending_at(self, entity_id: str) -> Iterator[bytes]:
        """The JSON of the edges that end at an entity, in order of their ids."""
        return self._cores(_ENDING, entity_id)

    def leaving(self, entity_id: str) -> Iterator[bytes]:
        """The JSON of the edges that begin at an entity, or have it as their pipeline."""
        return chain(
            self._cores(_BEFORE, entity_id),
            # The one that begins and ends there has the place between the two ranges.
            self._to_itself(entity_id),
            self._cores(_AFTER, entity_id),
        )

    def deleted(self, ids: Sequence[str]) -> set[str]:
        """Which of these entities are soft-deleted."""
        with postgres_errors():
            rows = self._link.rows(self._tables.within(_DELETED), [*ids])
        return {entity_id for (entity_id,) in rows}

    def _to_itself(self, entity_id: str) -> Iterator[bytes]:
        key = name_key(EDGE, edge_name(entity_id, entity_id))
        for (core,) in self._link.rows(self._tables.within(_OF_NAME), key):
            yield core

    def _cores(self, sql: str, entity_id: str) -> Iterator[bytes]:
        after = ("", "")
        while rows := self._link.rows(self._tables.within(sql), entity_id, entity_id, *after):
            for name, edge_id, core in rows:
                after = name, edge_id
                yield core
            if len(rows) < _AT_ONCE:
                return
