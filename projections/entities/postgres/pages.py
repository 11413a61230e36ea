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
from projections.entities.port import ListedEntity, ListHead, ListRequest
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
        self._is_own = False
        """Whether that connection is of this reader alone, and not of the pool."""

    def __enter__(self) -> "PostgresListReader":
        """Nothing is read before it is asked for."""
        return self

    def __exit__(self, _: object, error: BaseException | None, __: TracebackType | None) -> None:
        """Ends the transaction; raises what PostgreSQL raised in the block as our errors."""
        self._end()
        if isinstance(error, psycopg.Error):
            raise_as_ours(error)

    @property
    def sees_one_state(self) -> bool:
        """Whether there is a transaction."""
        return self._link is not None

    def passed_over(self) -> int:
        """How many rows are looked at, at most, to find those of the list; 0 when keys find
        them."""
        if not self.has_keys:
            self._begin(own=False)
        return super().passed_over()

    def head(self, most_bytes: int) -> ListHead:
        """The beginning of the page: what is read before its rows have `most_bytes`."""
        if not self._is_own:
            if not self.has_keys:
                self._begin(own=False)
            head = super().head(most_bytes)
            if not head.cut_off:
                return head
            # It is read again, for the rest must be of the state that the beginning is of.
            self.hand_over()
        return super().head(most_bytes)

    def hand_over(self) -> None:
        """Goes on with a connection that no other reader waits for."""
        if not self._is_own:
            self._end()
            self._begin(own=True)

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

    def _begin(self, *, own: bool) -> None:
        """Begins the transaction, unless there is one."""
        if self._link is None:
            self._link = self._tables.begin(own=own)
            self._is_own = own

    def _end(self) -> None:
        link, self._link = self._link, None
        if link is not None:
            self._tables.end(link, own=self._is_own)
