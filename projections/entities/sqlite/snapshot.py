"""One consistent state of the sorted read model in SQLite, as verification reads it."""

import sqlite3
from collections.abc import Iterator, Sequence

from projections.entities.port import WrongList, WrongTotal
from projections.entities.sqlite.errors import sqlite_errors
from projections.entities.sqlite.tables import read_digests
from projections.entities.stored_entity import StoredEntity

_COLUMNS = ", ".join(StoredEntity.__struct_fields__)
READ_ENTITIES = f"SELECT {_COLUMNS} FROM entities"
"""Gives the columns of a StoredEntity, in its order."""
_STRAY_SCOPES = """
SELECT scope, kind, id, name FROM scopes s WHERE NOT EXISTS (
    SELECT 1 FROM entities e, json_each(iif(json_valid(e.scopes), e.scopes, '[]')) one
    WHERE e.kind = s.kind AND e.deleted = s.deleted AND e.name = s.name AND e.id = s.id
    AND e.status IS s.status AND one.value = s.scope)
"""
_MISSING_SCOPES = """
SELECT one.value, e.kind, e.id, e.fqn
FROM entities e, json_each(iif(json_valid(e.scopes), e.scopes, '[]')) one
WHERE NOT EXISTS (SELECT 1 FROM scopes s WHERE s.scope = one.value AND s.kind = e.kind
    AND s.deleted = e.deleted AND s.name = e.name AND s.id = e.id AND s.status IS e.status)
"""
_WRONG_COUNTERS = """
WITH due AS (
    SELECT kind, '' AS scope, deleted, coalesce(status, '') AS status, count(*) AS n
    FROM entities GROUP BY 1, 3, 4
    UNION ALL SELECT kind, scope, deleted, coalesce(status, ''), count(*)
    FROM scopes GROUP BY 1, 2, 3, 4),
held AS (SELECT kind, scope, deleted, status, n FROM counters WHERE n != 0),
wrong AS (
    SELECT kind, scope, deleted, status FROM (SELECT * FROM held EXCEPT SELECT * FROM due)
    UNION SELECT kind, scope, deleted, status FROM (SELECT * FROM due EXCEPT SELECT * FROM held))
SELECT kind, scope, deleted, status, coalesce(due.n, 0), coalesce(held.n, 0)
FROM wrong LEFT JOIN due USING (kind, scope, deleted, status)
LEFT JOIN held USING (kind, scope, deleted, status) ORDER BY 1, 2, 3, 4
"""


class SqliteEntitySnapshot:
    """The rows that a connection sees in its open transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self.position: int = 0
        self.fingerprint: str = ""
        for row in connection.execute("SELECT position, fingerprint FROM checkpoint"):
            self.position, self.fingerprint = row

    def ids(self) -> Iterator[str]:
        """The ids of all entities, ascending."""
        with sqlite_errors():
            for (entity_id,) in self._connection.execute("SELECT id FROM entities ORDER BY id"):
                yield entity_id

    def entities(self, ids: Sequence[str] | None) -> Iterator[StoredEntity]:
        """Those of these entities that are stored, in the order of `ids`; None: all, by id."""
        with sqlite_errors():
            if ids is None:
                for row in self._connection.execute(f"{READ_ENTITIES} ORDER BY id"):
                    yield StoredEntity(*row)
                return
            for entity_id in ids:
                for row in self._connection.execute(f"{READ_ENTITIES} WHERE id = ?", (entity_id,)):
                    yield StoredEntity(*row)

    def digests(self) -> dict[str, tuple[int, int]]:
        """Kind -> number and digest of its entities, as kept while commits were applied."""
        with sqlite_errors():
            return read_digests(self._connection)

    def wrong_lists(self) -> Iterator[WrongList]:
        """Where the rows of `scopes` are not what the entities say."""
        with sqlite_errors():
            for scope, kind, entity_id, name in self._connection.execute(_MISSING_SCOPES):
                yield WrongList(scope, kind, entity_id, name, False)
            for scope, kind, entity_id, name in self._connection.execute(_STRAY_SCOPES):
                yield WrongList(scope, kind, entity_id, name, True)

    def wrong_totals(self) -> Iterator[WrongTotal]:
        """Where the counters are not the numbers of rows."""
        with sqlite_errors():
            for kind, scope, deleted, *rest in self._connection.execute(_WRONG_COUNTERS):
                yield WrongTotal(kind, scope, bool(deleted), *rest)
