"""Pages of lists, read from SQLite."""

import sqlite3
from collections.abc import Sequence
from functools import partial
from operator import itemgetter
from types import TracebackType
from typing import Any

import msgspec

from projections.entities.cursors import Place
from projections.entities.list_ends import ListEnds
from projections.entities.list_port import ListedEntity, ListRequest, WholePage, size_of
from projections.entities.list_selections import Of, Shape
from projections.entities.list_sql import Beyond, ListSql, Statement
from projections.entities.page_reading import ANY_LENGTH, PageReader
from projections.entities.sqlite.database import EntityDatabase, raise_as_ours
from projections.feeding.port import NumberOf

_SAME_ENTITY = "e.kind = k.kind AND e.deleted = k.deleted AND e.name = k.name AND e.id = k.id"

_THEN = (
    "json_each(?) one"
    " LEFT JOIN entities e INDEXED BY entities_by_id ON e.id = one.value AND e.position <= ?"
    " LEFT JOIN history h ON e.id IS NULL AND h.rowid ="
    " (SELECT p.rowid FROM history p WHERE p.id = one.value AND p.until > ?"
    " ORDER BY p.until LIMIT 1)"
)
"""The entities with some ids at a position, each in the row of one of two tables."""


class SqliteListSql(ListSql):
    """Statements for SQLite, without limits of bytes: the reader of the rows stops early."""

    by_status = " INDEXED BY entities_by_status"
    is_listed = _SAME_ENTITY

    def spell(self, sql: str) -> str:
        """A statement without the schema, which a file has only one of."""
        return sql.replace("{}.", "")

    def rows_of(
        self, ids: Sequence[str], most_bytes: int, *, backward: bool, optional: bool
    ) -> Statement:
        """A query for the rows of the entities with these ids, in their order."""
        sql = (
            f"SELECT e.name, e.id, e.core{', e.optional' * optional}"
            " FROM json_each(?) one CROSS JOIN entities e ON e.id = one.value"
        )
        return sql, (msgspec.json.encode(ids).decode(),)

    def rows_at(
        self,
        ids: Sequence[str],
        position: int,
        most_bytes: int,
        *,
        backward: bool,
        optional: bool,
    ) -> Statement:
        """A query for the rows of the entities with these ids at a position, in their order."""
        columns = (
            f"iif(e.id IS NULL, coalesce(h.{column}, x''), e.{column})"
            for column in ("core", "optional")
        )
        core, fields = columns
        sql = (
            f"SELECT coalesce(e.name, h.name), one.value, {core}{f', {fields}' * optional}"
            f" FROM {_THEN}"
        )
        return sql, (msgspec.json.encode(ids).decode(), position, position)

    def names_at(self, ids: Sequence[str], position: int) -> Statement:
        """A query for the ids and qualified names of entities at a position of the past."""
        sql = f"SELECT one.value, coalesce(e.fqn, h.fqn) FROM {_THEN}"
        return sql, (msgspec.json.encode(ids).decode(), position, position)

    def deleted_at(self, ids: Sequence[str], position: int) -> Statement:
        """A query for the ids of those that were soft-deleted at a position of the past."""
        sql = f"SELECT one.value FROM {_THEN} WHERE coalesce(e.deleted, h.deleted) = 1"
        return sql, (msgspec.json.encode(ids).decode(), position, position)

    def _rows(self, shape: Shape, beyond: Beyond, backward: bool, optional: bool) -> str:
        core, fields = "k.core", "k.optional"
        if shape.of is Of.ENDED:
            core, fields = (f"coalesce({column}, x'')" for column in (core, fields))
        if shape.scopes:
            # Not a join: it would put all rows of the page through a sorter before the first.
            core, fields = (
                f"(SELECT e.{column} FROM {{}}.entities e NOT INDEXED WHERE {_SAME_ENTITY})"
                for column in ("core", "optional")
            )
        wanted = f", {core}{f', {fields}' * optional}"
        return self._keys(shape, beyond, backward, wanted)


_SQL = SqliteListSql()
_AT_ONCE = 16
"""Rows of a small page that are fetched before their bytes are counted; each has at most as many as
the page may have."""
_CORE = itemgetter(2)


class SqliteListReader(PageReader):
    """Reads one page on this thread's connection.

    No statement is left open between two calls, so that the connection may change threads.
    """

    def __init__(
        self,
        database: EntityDatabase,
        request: ListRequest,
        place: Place | None,
        number: NumberOf = lambda kind: None,
    ) -> None:
        """`number` gives the number of the last change of the file, or of a kind in it."""
        super().__init__(_SQL, request, place)
        self._database = database
        self._number = number

    def __enter__(self) -> "SqliteListReader":
        """Take the connection; raises StoreUnavailable."""
        try:
            self._connection = self._database.connection
        except sqlite3.DatabaseError as error:
            raise_as_ours(error)
        return self

    def __exit__(self, _: object, error: BaseException | None, __: TracebackType | None) -> None:
        """End the transaction; raises what SQLite raised in the block as the catalog's errors."""
        try:
            if self._is_own:
                self._connection.close()
            elif self._connection.in_transaction:
                self.end()
        except sqlite3.DatabaseError as failure:
            raise_as_ours(failure)
        if isinstance(error, sqlite3.DatabaseError):
            raise_as_ours(error)

    @property
    def in_transaction(self) -> bool:
        """True if the connection is in a transaction."""
        return self._connection.in_transaction

    def begin(self, *, own: bool) -> None:
        """Begin a transaction; the thread's next connection is another one if it is `own`."""
        if own:
            self._database.hand_over()
            # A scan of everything through a memory map would count as this process's memory.
            self._connection.execute("PRAGMA mmap_size=0")
        self._connection.execute("BEGIN")

    def end(self) -> None:
        """End the transaction, if there is one."""
        if self._connection.in_transaction:
            # Nothing was written; on a damaged file this succeeds where a COMMIT fails.
            self._connection.execute("ROLLBACK")

    def run(self, statement: Statement) -> list[Any]:
        """The rows of a statement."""
        return self._connection.execute(*statement).fetchall()

    def read(self, statement: Statement, most_bytes: int) -> tuple[list[ListedEntity], bool]:
        """The rows of a statement about entities, and True if the bound in bytes ended them."""
        connection = self._connection
        longest = ANY_LENGTH if self._is_own else most_bytes
        unbounded = connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, longest)
        rows: list[ListedEntity] = []
        size = 0
        try:
            for row in connection.execute(*statement):
                rows.append(row)
                size += size_of(row)
                if size >= most_bytes:
                    return rows, True
        except sqlite3.DataError:
            return rows, True
        else:
            return rows, False
        finally:
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, unbounded)
            if self._is_own:
                # Many lists may wait for their clients: each without the pages of the file it has
                # read.
                connection.execute("PRAGMA shrink_memory")

    def read_range(self, most_bytes: int) -> WholePage | None:
        """Read as `whole`; what the pages of a list have in common is read once for each state."""
        state = None if self.in_transaction else self._database.loop_state
        if state is None:
            if not self.in_transaction:
                self.begin(own=False)
            total, behind = self.totals()
            # One row more than the page holds says that the list goes on.
            rows, cut_off = self.read(self._rows(self._request.limit + 1, most_bytes), most_bytes)
            return self.page_of(total, rows, behind=behind, cut_off=cut_off)
        request = self._request
        # What a filter names may be of any kind.
        kind = None if request.filters else request.kind.name
        state.begin(self._number(kind), self._number, most_bytes)
        own, self._connection = self._connection, state.connection
        try:
            ends = state.ends(self._request.identity, self._read_ends)
            return self._read_between(ends, most_bytes)
        except sqlite3.DataError:
            # A single value is larger than the page may be.
            return None
        finally:
            self._connection = own

    def _read_between(self, ends: ListEnds, most_bytes: int) -> WholePage | None:
        """The page of a list with these ends; raises sqlite3.DataError for too large a value."""
        place, backward = self._place, self._request.backward
        rows = self._rows_within(most_bytes)
        if rows is None:
            return None
        ahead = behind = False
        if rows:
            ahead = ends.goes_on(rows[-1][:2], inclusive=False, backward=backward)
        if place is not None:
            key = place.name, place.id
            behind = ends.goes_on(key, inclusive=not place.inclusive, backward=not backward)
        if backward:
            rows.reverse()
        return WholePage(ends.total, behind, rows, ahead)

    def _rows_within(self, most_bytes: int) -> list[ListedEntity] | None:
        """The rows of the page; None, once `most_bytes` are read, for a larger one."""
        cursor = self._connection.execute(*self._rows(self._request.limit, most_bytes))
        rows: list[ListedEntity] = []
        left = most_bytes
        while True:
            part = cursor.fetchmany(_AT_ONCE)
            left -= sum(map(size_of, part) if self._request.fields else map(len, map(_CORE, part)))
            if left <= 0:
                return None
            rows += part
            if len(part) < _AT_ONCE:
                return rows

    def _rows(self, most: int, most_bytes: int) -> Statement:
        request = self._request
        return self._sql.rows(
            self._selection,
            self._place,
            most,
            most_bytes,
            backward=request.backward,
            optional=bool(request.fields),
        )

    def _read_ends(self) -> ListEnds:
        keys = partial(self._sql.keys, self._selection, None, 1, fqn=False)
        first, last = ([*self.run(keys(backward=backward)), None][0] for backward in (False, True))
        ((total,),) = self.run(self._sql.total(self._selection))
        return ListEnds(total, first, last)
