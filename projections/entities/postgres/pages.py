"""Pages of lists from PostgreSQL: a page of usual size is one statement, which sees one state."""

from operator import itemgetter
from types import TracebackType
from typing import Any

import psycopg

from domain.event_store.postgres.link import Link
from projections.entities.cursors import Place
from projections.entities.list_sql import Statement
from projections.entities.named_lists import size_of
from projections.entities.page_reading import PageReader
from projections.entities.port import ListedEntity, ListRequest
from projections.entities.postgres.database import EntityTables
from projections.entities.postgres.errors import raise_as_ours
from projections.entities.postgres.list_sql import PostgresListSql

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
        """Ends the transaction; raises what PostgreSQL raised in the block as our errors."""
        self.end()
        if isinstance(error, psycopg.Error):
            raise_as_ours(error)

    @property
    def in_transaction(self) -> bool:
        """Whether there is a transaction."""
        return self._link is not None

    def begin(self, *, own: bool) -> None:
        """Begins a transaction, on a connection that is not of the pool to keep it for long."""
        self._link = self._tables.begin(own=own)

    def end(self) -> None:
        """Gives the connection back, if there is one."""
        link, self._link = self._link, None
        if link is not None:
            self._tables.end(link, own=self._is_own)

    def run(self, statement: Statement) -> list[Any]:
        """The rows of a statement; outside of a transaction it must give one at least."""
        if self._link is None:
            return self._tables.ask_live(statement)
        return self._link.rows(self._tables.within(statement[0]), *statement[1])

    def read(self, statement: Statement, most_bytes: int) -> tuple[list[ListedEntity], bool]:
        """The rows of a statement about entities, which ends them by their size."""
        rows = self.run(statement)
        return rows, sum(map(size_of, rows)) >= most_bytes

    def read_page(
        self, statement: Statement, most_bytes: int
    ) -> tuple[int, bool, list[ListedEntity], bool]:
        """The answer to a `ListSql.page`; see `PageReader.read_page`."""
        rows = self.run(statement)
        total, behind = rows[0][:2]
        entities = [row[2:] for row in rows if row[2] is not None]
        # Whoever joins the rows may give them in any order.
        entities.sort(key=_KEY, reverse=self._request.backward)
        return total, behind, entities, sum(map(size_of, entities)) >= most_bytes

    def _read(
        self, place: Place | None, limit: int, most_bytes: int, *, backward: bool
    ) -> tuple[list[ListedEntity], bool]:
        rows, cut_off = super()._read(place, limit, most_bytes, backward=backward)
        rows.sort(key=_KEY, reverse=backward)
        return rows, cut_off
