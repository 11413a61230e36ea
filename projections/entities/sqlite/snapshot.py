"""One consistent state of the sorted read model in SQLite, as verification reads it."""

import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any

from domain.reading.horizon import Horizon
from domain.reading.moments import Moment
from projections.entities.replaced_states import EndedMembership, ReplacedState
from projections.entities.sql_snapshot import SqlSnapshot
from projections.entities.sqlite.database import sqlite_errors
from projections.entities.stored_entity import COLUMNS, StoredEntity
from projections.entities.verification_source import wrong_list
from projections.verification.report import Difference

READ_ENTITIES = f"SELECT {COLUMNS} FROM entities"
"""Gives the columns of a StoredEntity, in its order."""
_SAID_AND_LISTED = """
FROM entities e INDEXED BY sqlite_autoindex_entities_1
CROSS JOIN json_each(iif(json_valid(e.scopes), e.scopes, '[]')) one
LEFT JOIN scopes s ON s.scope = one.value AND s.kind = e.kind AND s.deleted = e.deleted
    AND s.name = e.name AND s.id = e.id AND s.status IS e.status
"""
"""The scopes of each entity, beside the row of `scopes` that lists it, if there is one. The
entities come first, so that the scopes of each are read and parsed once, however many they are. The
index of the primary key is named because entities are stored in its order: by itself SQLite would
take the index of the ids, and look up each entity."""
_WRONG_SCOPES = f"""
SELECT coalesce(sum(said - listed), 0),
    (SELECT count(*) FROM scopes) - coalesce(sum(distinctly), 0)
FROM (SELECT count(*) AS said, count(s.scope) AS listed, count(DISTINCT s.scope) AS distinctly
    {_SAID_AND_LISTED} GROUP BY e.kind, e.deleted, e.name, e.id)
"""
"""The numbers of missing and of stray rows. Counting takes no memory; only where rows are wrong are
they looked for, the stray ones by a temporary table of all scopes."""
_MISSING_SCOPES = f"""
SELECT one.value, e.kind, e.id, e.fqn {_SAID_AND_LISTED} WHERE s.scope IS NULL
"""
_STRAY_SCOPES = f"""
SELECT scope, kind, id, name FROM (
    SELECT scope, kind, deleted, name, id FROM scopes
    EXCEPT SELECT s.scope, s.kind, s.deleted, s.name, s.id {_SAID_AND_LISTED})
"""


class SqliteEntitySnapshot(SqlSnapshot):
    """The rows that a connection sees in its open transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self.position: int = 0
        self.fingerprint: str = ""
        self.horizon = Horizon()
        for row in connection.execute(
            "SELECT position, fingerprint, horizon, horizon_at FROM checkpoint"
        ):
            self.position, self.fingerprint = row[:2]
            self.horizon = Horizon(*row[2:])

    def ids(self) -> Iterator[str]:
        """The ids of all entities, ascending."""
        for (entity_id,) in self._rows("SELECT id FROM entities ORDER BY id"):
            yield entity_id

    def entities(self, ids: Sequence[str] | None) -> Iterator[StoredEntity]:
        """The stored ones among these entities, in the order of `ids`; for None, all by id."""
        if ids is None:
            for row in self._rows(f"{READ_ENTITIES} ORDER BY id"):
                yield StoredEntity(*row)
            return
        # Once for all of them, as there may be a hundred thousand.
        with sqlite_errors():
            for entity_id in ids:
                for row in self._connection.execute(f"{READ_ENTITIES} WHERE id = ?", (entity_id,)):
                    yield StoredEntity(*row)

    def moments(self) -> Iterator[Moment]:
        """The moments that are stored, in log order."""
        return self._rows("SELECT at, position FROM moments ORDER BY at")

    def replaced(self) -> Iterator[ReplacedState]:
        """The replaced states that are stored, in order of ids and of their ends."""
        for row in self._rows("SELECT * FROM history ORDER BY id, until"):
            yield ReplacedState(*row)

    def ended(self) -> Iterator[EndedMembership]:
        """The ended memberships that are stored, in any order."""
        return self._rows("SELECT * FROM history_scopes")

    def list_differences(self) -> Iterator[Difference]:
        """Yield the rows of `scopes` and the counters that differ from the entities."""
        ((missing, stray),) = self._rows(_WRONG_SCOPES)
        for sql, count, listed in ((_MISSING_SCOPES, missing, False), (_STRAY_SCOPES, stray, True)):
            if count:
                for row in self._rows(sql):
                    yield wrong_list(*row, listed=listed)
        yield from self.wrong_totals()

    def _rows(self, sql: str, *values: Any) -> Iterator[Any]:
        with sqlite_errors():
            # `yield from` would close the cursor of a reader that stopped early: an error if the
            # connection was closed before.
            for row in self._connection.execute(sql.replace("{}.", ""), values):  # noqa: UP028
                yield row
