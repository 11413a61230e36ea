"""Pages of lists from PostgreSQL: a page of usual size is one statement, which sees one state."""

from collections.abc import Sequence
from operator import itemgetter
from types import TracebackType
from typing import Any

import psycopg

from domain.event_store.postgres.link import Link, spelled
from domain.kinds.names import name_key
from projections.entities.cursors import Place
from projections.entities.list_port import ListedEntity, ListRequest, WholePage, size_of
from projections.entities.list_selections import Of, Parameters, Selection, Shape
from projections.entities.list_sql import Beyond, ListSql, Statement
from projections.entities.page_reading import PageReader
from projections.entities.postgres.database import EntityTables, raise_as_ours

_COLUMNS = {False: "core", True: "core, optional"}
_SIZE = {False: "octet_length(core)", True: "octet_length(core) + octet_length(optional)"}


class PostgresListSql(ListSql):
    """Statements for PostgreSQL, which itself ends the rows that have enough bytes.

    `{}` stands for the schema of the generation in all of them.
    """

    by_name = "fqn_key = ?"
    key = "encode(fqn_key, 'hex')"
    limits_branches = True

    def name_values(self, kind: str, fqn: str) -> Parameters:
        """The key of the name, which is what the names are found by."""
        return (name_key(kind, fqn),)

    def spell(self, sql: str) -> str:
        """A statement whose values are sent in binary."""
        return spelled(sql)

    def rows_of(
        self, ids: Sequence[str], most_bytes: int, *, backward: bool, optional: bool
    ) -> Statement:
        """A query for the rows of the entities with these ids, in the order of a list."""
        return self._spelled(_rows_of, backward, optional), ([*ids], most_bytes)

    def rows_at(
        self,
        ids: Sequence[str],
        position: int,
        most_bytes: int,
        *,
        backward: bool,
        optional: bool,
    ) -> Statement:
        """A query for the rows of the entities with these ids at a position, in list order."""
        sql = self._spelled(_rows_at, backward, optional)
        return sql, ([*ids], position, position, most_bytes)

    def names_at(self, ids: Sequence[str], position: int) -> Statement:
        """A query for the ids and qualified names of entities at a position of the past."""
        sql = self.spell(f"SELECT one.id, coalesce(e.fqn, h.fqn) FROM {_THEN}")
        return sql, ([*ids], position, position)

    def deleted_at(self, ids: Sequence[str], position: int) -> Statement:
        """A query for the ids of those that were soft-deleted at a position of the past."""
        sql = f"SELECT one.id FROM {_THEN} WHERE coalesce(e.deleted, h.deleted) = 1"
        return self.spell(sql), ([*ids], position, position)

    def page(
        self,
        selection: Selection,
        place: Place | None,
        limit: int,
        most_bytes: int,
        *,
        backward: bool,
        optional: bool,
    ) -> Statement:
        """A query for the total of a list, and whether it goes on behind a place, before each row.

        Those of `rows` follow; without one they are NULL.
        """
        values, times = selection.values, len(selection.shape.states)
        head = values * (1 if len(selection.scopes) < 2 else times)
        if place is not None:
            head += (*values, place.name, place.id) * times
        sql = self._spelled(
            self._page, selection.shape, place and place.inclusive, backward, optional
        )
        keys = self._keys_values(selection, place, limit)
        return sql, (*head, *keys, *self._bound(most_bytes))

    def _bound(self, most_bytes: int) -> Parameters:
        return (most_bytes,)

    def _page(self, shape: Shape, beyond: Beyond, backward: bool, optional: bool) -> str:
        head = self._head(shape, beyond, backward)
        rows = self._rows(shape, beyond, backward, optional)
        return f"SELECT m.*, p.* FROM (SELECT {head}) m LEFT JOIN ({rows}) p ON true"

    def _head(self, shape: Shape, beyond: Beyond, backward: bool) -> str:
        """The total, and whether the list goes on behind a place, as two columns."""
        behind = "false" if beyond is None else self._goes_on(shape, not beyond, not backward)
        return f"{self._total(shape)} AS total, {behind} AS behind"

    def _rows(self, shape: Shape, beyond: Beyond, backward: bool, optional: bool) -> str:
        if not shape.scopes:
            core, fields = "k.core", ", k.optional"
            if shape.of is Of.ENDED:
                core = "coalesce(k.core, ''::bytea) AS core"
                fields = ", coalesce(k.optional, ''::bytea) AS optional"
            wanted = f", {core}{fields * optional}"
            return _bounded(self._keys(shape, beyond, backward, wanted), backward, optional)
        sql = (
            f"SELECT k.name, k.id, e.core{', e.optional' * optional}"
            f" FROM ({self._keys(shape, beyond, backward, '')}) k"
            f" JOIN {{}}.entities e ON e.id = k.id ORDER BY {_order(backward)}"
        )
        return _bounded(sql, backward, optional)


def _rows_of(backward: bool, optional: bool) -> str:
    sql = (
        f"SELECT name, id, {_COLUMNS[optional]} FROM {{}}.entities"
        f" WHERE id = ANY (?::text[]) ORDER BY {_order(backward)}"
    )
    return _bounded(sql, backward, optional)


_THEN = (
    "unnest(?::text[]) AS one (id)"
    " LEFT JOIN {}.entities e ON e.id = one.id AND e.position <= ?"
    " LEFT JOIN LATERAL (SELECT * FROM {}.history p WHERE e.id IS NULL AND p.id = one.id"
    " AND p.until > ? ORDER BY p.until LIMIT 1) h ON true"
)
"""The entities with some ids at a position, each in the row of one of two tables."""


def _rows_at(backward: bool, optional: bool) -> str:
    core, fields = (
        f"coalesce(CASE WHEN e.id IS NULL THEN h.{column} ELSE e.{column} END, ''::bytea)"
        for column in ("core", "optional")
    )
    sql = (
        f"SELECT coalesce(e.name, h.name) AS name, one.id, {core} AS core"
        f"{f', {fields} AS optional' * optional} FROM {_THEN}"
    )
    return _bounded(sql, backward, optional)


def _bounded(sql: str, backward: bool, optional: bool) -> str:
    """Limit a query to its first rows, which end with the row that reaches the bound in bytes."""
    summed = f"sum(size) OVER (ORDER BY {_order(backward)} ROWS UNBOUNDED PRECEDING)"
    return (
        f"SELECT name, id, {_COLUMNS[optional]} FROM (SELECT *, {summed} - size AS before"
        f" FROM (SELECT *, {_SIZE[optional]} AS size FROM ({sql}) r) sized) summed"
        " WHERE before < ?"
    )


def _order(backward: bool) -> str:
    return "name DESC, id DESC" if backward else "name, id"


_SQL = PostgresListSql()
_KEY = itemgetter(0, 1)
"""Name and id of a row."""


class PostgresListReader(PageReader):
    """Reads one page; what takes more than one statement is read in a transaction."""

    def __init__(self, tables: EntityTables, request: ListRequest, place: Place | None) -> None:
        super().__init__(_SQL, request, place)
        self._tables = tables
        self._link: Link | None = None
        """The connection with the transaction, if there is one."""

    def __enter__(self) -> "PostgresListReader":
        """Nothing is read before it is asked for."""
        return self

    def __exit__(self, _: object, error: BaseException | None, __: TracebackType | None) -> None:
        """End the transaction; raises what PostgreSQL raised in the block as our errors."""
        self.end()
        if isinstance(error, psycopg.Error):
            raise_as_ours(error)

    @property
    def in_transaction(self) -> bool:
        """True if there is a transaction."""
        return self._link is not None

    def begin(self, *, own: bool) -> None:
        """Begin a transaction, on a connection of its own to keep it for long."""
        self._link = self._tables.begin(own=own)

    def end(self) -> None:
        """Give the connection back, if there is one."""
        link, self._link = self._link, None
        if link is not None:
            self._tables.end(link, own=self._is_own)

    def run(self, statement: Statement) -> list[Any]:
        """The rows of a statement; outside of a transaction it must give one at least."""
        if self._link is None:
            return self._tables.ask_live(statement)
        return self._link.rows(self._tables.within(statement[0]), *statement[1])

    def read(self, statement: Statement, most_bytes: int) -> tuple[list[ListedEntity], bool]:
        """The rows of a statement about entities, and True if they reach the bound in bytes."""
        rows = self.run(statement)
        # Whoever joins them may give them in any order.
        rows.sort(key=_KEY, reverse=self._request.backward and not self._is_own)
        return rows, sum(map(size_of, rows)) >= most_bytes

    def read_range(self, most_bytes: int) -> WholePage | None:
        """Read as `whole`, in one statement, which sees one state without a transaction."""
        request = self._request
        statement = _SQL.page(
            self._selection,
            self._place,
            # One row more than the page holds says that the list goes on.
            request.limit + 1,
            most_bytes,
            backward=request.backward,
            optional=bool(request.fields),
        )
        rows = self.run(statement)
        total, behind = rows[0][:2]
        rows = [row[2:] for row in rows if row[2] is not None]
        rows.sort(key=_KEY, reverse=request.backward)
        cut_off = sum(map(size_of, rows)) >= most_bytes
        return self.page_of(total, rows, behind=behind, cut_off=cut_off)
