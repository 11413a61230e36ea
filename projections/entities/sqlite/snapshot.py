"""One consistent state of the sorted read model in SQLite, as verification reads it."""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence

from domain.reading.horizon import Horizon
from domain.reading.moments import Moment
from projections.entities.commit_changes import WRONG_COUNTERS
from projections.entities.daily_counts import DayCount
from projections.entities.past_verification import totals_at
from projections.entities.replaced_states import EndedMembership, ReplacedState, Series
from projections.entities.sqlite.database import sqlite_errors
from projections.entities.sqlite.tables import read_digests
from projections.entities.stored_entity import StoredEntity, held_digests
from projections.entities.verification_source import wrong_list, wrong_total
from projections.verification.report import Difference

_COLUMNS = ", ".join(StoredEntity.__struct_fields__)
READ_ENTITIES = f"SELECT {_COLUMNS} FROM entities"
"""Gives the columns of a StoredEntity, in its order."""
_SAID_AND_LISTED = """
FROM entities e INDEXED BY sqlite_autoindex_entities_1
CROSS JOIN json_each(iif(json_valid(e.scopes), e.scopes, '[]')) one
LEFT JOIN scopes s ON s.scope = one.value AND s.kind = e.kind AND s.deleted = e.deleted
    AND s.name = e.name AND s.id = e.id AND s.status IS e.status
"""
"""The scopes of each entity, beside the row of `scopes` that lists it, if there is one. The
entities come first, so that what one says is read and parsed once, however much it is. They are
read in the order in which they are stored, which the index of the primary key is: SQLite would take
that of the ids, and look up each entity.
"""
_WRONG_SCOPES = f"""
SELECT coalesce(sum(said - listed), 0),
    (SELECT count(*) FROM scopes) - coalesce(sum(distinctly), 0)
FROM (SELECT count(*) AS said, count(s.scope) AS listed, count(DISTINCT s.scope) AS distinctly
    {_SAID_AND_LISTED} GROUP BY e.kind, e.deleted, e.name, e.id)
"""
"""The numbers of missing rows and of stray ones. Counting keeps nothing; only where rows are wrong
are they sought, the stray ones with the help of a temporary table of all.
"""
_MISSING_SCOPES = f"""
SELECT one.value, e.kind, e.id, e.fqn {_SAID_AND_LISTED} WHERE s.scope IS NULL
"""
_STRAY_SCOPES = f"""
SELECT scope, kind, id, name FROM (
    SELECT scope, kind, deleted, name, id FROM scopes
    EXCEPT SELECT s.scope, s.kind, s.deleted, s.name, s.id {_SAID_AND_LISTED})
"""

_WRONG_COUNTERS = WRONG_COUNTERS.format(schema="", empty="''")


class SqliteEntitySnapshot:
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

    def moments(self) -> Iterator[Moment]:
        """The moments that are stored, in log order."""
        with sqlite_errors():
            yield from self._connection.execute("SELECT at, position FROM moments ORDER BY at")

    def replaced(self) -> Iterator[ReplacedState]:
        """The replaced states that are stored, in order of ids and of their ends."""
        with sqlite_errors():
            for row in self._connection.execute("SELECT * FROM history ORDER BY id, until"):
                yield ReplacedState(*row)

    def ended(self) -> Iterator[EndedMembership]:
        """The ended memberships that are stored, in any order."""
        with sqlite_errors():
            yield from self._connection.execute("SELECT * FROM history_scopes")

    def pasts(self) -> dict[str, tuple[int, int]]:
        """Kind -> number and digest of both, as kept while commits were applied."""
        with sqlite_errors():
            rows = self._connection.execute("SELECT kind, n, sum FROM pasts WHERE n <> 0")
            return held_digests(rows)

    def totals_at(
        self, positions: Sequence[int]
    ) -> Sequence[tuple[Mapping[Series, int], Mapping[Series, int]]]:
        """The totals of all kinds at some positions: counted, and as they are kept."""
        with sqlite_errors():
            return totals_at(self._connection.execute, positions)

    def days(self) -> Iterator[DayCount]:
        """The counts of days that are stored."""
        with sqlite_errors():
            yield from self._connection.execute("SELECT * FROM days")

    def list_differences(self) -> Iterator[Difference]:
        """Yield the rows of `scopes` and the counters that differ from the entities."""
        with sqlite_errors():
            missing, stray = self._connection.execute(_WRONG_SCOPES).fetchone()
            for sql, count, listed in (
                (_MISSING_SCOPES, missing, False),
                (_STRAY_SCOPES, stray, True),
            ):
                if count:
                    for row in self._connection.execute(sql):
                        yield wrong_list(*row, listed=listed)
            for row in self._connection.execute(_WRONG_COUNTERS):
                yield wrong_total(*row)
