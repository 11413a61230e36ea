"""One consistent state of the sorted read model in PostgreSQL, as verification reads it."""

from collections.abc import Iterator, Sequence
from typing import Any

from domain.event_store.port import MAX_INTEGER
from domain.event_store.postgres.link import Link
from domain.reading.horizon import Horizon
from domain.reading.moments import Moment
from projections.entities.postgres.database import EntityTables, postgres_errors
from projections.entities.replaced_states import EndedMembership, ReplacedState
from projections.entities.sql_snapshot import SqlSnapshot
from projections.entities.stored_entity import COLUMNS, StoredEntity
from projections.entities.verification_source import wrong_list
from projections.verification.report import Difference

_PART_BYTES = 8_000_000
"""Bytes of rows that one statement reads, about."""
_ROWS, _IDS = 2_000, 500
_OF = ", ".join(f"e.{column}" for column in COLUMNS.split(", "))
_SIZED = (
    f"SELECT {COLUMNS} FROM (SELECT *, sum(size) OVER (ORDER BY {{order}}"
    " ROWS UNBOUNDED PRECEDING) - size AS before FROM ({rows}) sized) summed"
    f" WHERE before < {_PART_BYTES} ORDER BY {{order}}"
)
_SIZE = "octet_length(e.core) + octet_length(e.optional) AS size"
_ALL = _SIZED.format(
    order="id",
    rows=f"SELECT {_OF}, {_SIZE} FROM {{}}.entities e WHERE e.id > %b ORDER BY e.id LIMIT {_ROWS}",
)
_SOME = _SIZED.format(
    order="n",
    rows=f"SELECT {_OF}, {_SIZE}, one.n FROM unnest(%b::text[]) WITH ORDINALITY AS one (id, n)"
    " JOIN {}.entities e ON e.id = one.id ORDER BY one.n",
)
_ALL_IDS = f"SELECT id FROM {{}}.entities WHERE id > %b ORDER BY id LIMIT {_ROWS * 10}"
_MOMENTS = f"SELECT at, position FROM {{}}.moments WHERE at > %b ORDER BY at LIMIT {_ROWS * 10}"
_REPLACED = (
    f"SELECT * FROM {{}}.history WHERE (id, until) > (%b, %b) ORDER BY id, until LIMIT {_ROWS}"
)
_ENDED = (
    "SELECT * FROM {}.history_scopes"
    " WHERE (scope, kind, deleted, name, id, until) > (%b, %b, %b, %b, %b, %b)"
    f" ORDER BY scope, kind, deleted, name, id, until LIMIT {_ROWS * 10}"
)
_CHECKPOINT = "SELECT position, fingerprint, horizon, horizon_at FROM {}.checkpoint"
_SAID = r"""
SELECT one.value COLLATE "C" AS scope, e.kind, e.deleted, e.name, e.id, e.status, e.fqn
FROM {}.entities e, json_array_elements_text(CASE
    WHEN e.scopes ~ '^\[("[^"\\]*"(, ?"[^"\\]*")*)?\]$' THEN e.scopes::json ELSE '[]' END) one
"""
"""The scopes of each entity; none where it has no list of texts, as the digest of its row tells."""
_LISTED = "SELECT scope, kind, deleted, name, id, status FROM {}.scopes"
_MISSING = f"""
SELECT said.scope, said.kind, said.id, said.fqn FROM ({_SAID}) said
WHERE NOT EXISTS (SELECT FROM {{}}.scopes s WHERE (s.scope, s.kind, s.deleted, s.name, s.id)
    = (said.scope, said.kind, said.deleted, said.name, said.id)
    AND s.status IS NOT DISTINCT FROM said.status)
ORDER BY 1, 2, 3
"""
_STRAY = f"""
SELECT scope, kind, id, name FROM (
    {_LISTED} EXCEPT SELECT scope, kind, deleted, name, id, status FROM ({_SAID}) said) stray
ORDER BY 1, 2, 3
"""


class PostgresEntitySnapshot(SqlSnapshot):
    """The rows that a connection sees in its open transaction."""

    empty_text = "'' COLLATE \"C\""

    def __init__(self, tables: EntityTables, link: Link) -> None:
        self._tables = tables
        self._link = link
        ((self.position, self.fingerprint, *horizon),) = self._rows(_CHECKPOINT)
        self.horizon = Horizon(*horizon)

    def ids(self) -> Iterator[str]:
        """The ids of all entities, ascending."""
        after = ""
        while rows := self._rows(_ALL_IDS, after):
            for (after,) in rows:
                yield after

    def entities(self, ids: Sequence[str] | None) -> Iterator[StoredEntity]:
        """Those of these entities that are stored, in the order of `ids`; None: all, by id."""
        if ids is None:
            after = ""
            while rows := self._rows(_ALL, after):
                after = rows[-1][3]
                yield from (StoredEntity(*row) for row in rows)
            return
        left = [*ids]
        while left:
            part, left = left[:_IDS], left[_IDS:]
            while part:
                rows = self._rows(_SOME, part)
                yield from (StoredEntity(*row) for row in rows)
                # What is missing at the end is not stored, or was too much for one statement.
                part = part[part.index(rows[-1][3]) + 1 :] if rows else []

    def moments(self) -> Iterator[Moment]:
        """The moments that are stored, in log order."""
        before = -MAX_INTEGER
        while rows := self._rows(_MOMENTS, before):
            before = rows[-1][0]
            yield from rows

    def replaced(self) -> Iterator[ReplacedState]:
        """The replaced states that are stored, in order of ids and of their ends."""
        after: tuple[str, int] = ("", 0)
        while rows := self._rows(_REPLACED, *after):
            for row in rows:
                yield ReplacedState(*row)
            after = rows[-1][3], rows[-1][8]

    def ended(self) -> Iterator[EndedMembership]:
        """The ended memberships that are stored, in the order of their key."""
        after: tuple[Any, ...] = ("", "", 0, "", "", 0)
        while rows := self._rows(_ENDED, *after):
            yield from rows
            after = rows[-1][:6]

    def list_differences(self) -> Iterator[Difference]:
        """Yield the rows of `scopes` and the counters that differ from the entities."""
        for sql, listed in ((_MISSING, False), (_STRAY, True)):
            for row in self._rows(sql):
                yield wrong_list(*row, listed=listed)
        yield from self.wrong_totals()

    def _rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        with postgres_errors():
            return self._link.rows(self._tables.within(sql), *values)
