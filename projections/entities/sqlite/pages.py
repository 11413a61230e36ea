"""Pages of lists, read from SQLite."""

import sqlite3
from collections.abc import Sequence
from types import TracebackType
from typing import Any

import msgspec

from projections.entities.cursors import Place
from projections.entities.list_sql import Beyond, ListSql, Shape, Statement
from projections.entities.page_reading import PageReader
from projections.entities.port import ListedEntity, ListRequest
from projections.entities.sqlite.database import EntityDatabase
from projections.entities.sqlite.errors import raise_as_ours

_SAME_ENTITY = "e.kind = k.kind AND e.deleted = k.deleted AND e.name = k.name AND e.id = k.id"


class SqliteListSql(ListSql):
    """Statements for SQLite, whose reader ends what it has read enough of."""

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
            f"SELECT e.name, e.id, e.core, {'e.optional' if optional else 'NULL'}"
            " FROM json_each(?) one CROSS JOIN entities e ON e.id = one.value"
        )
        return sql, (msgspec.json.encode(ids).decode(),)

    def _page(
        self, shape: Shape, beyond: Beyond, any_rows: bool, backward: bool, optional: bool
    ) -> str:
        """The total and whether the list goes on behind the place come in a row of their own."""
        head = f"SELECT {self._head(shape, beyond, any_rows, backward)}, NULL, NULL"
        if not any_rows:
            return head
        return f"{head} UNION ALL SELECT * FROM ({self._rows(shape, beyond, backward, optional)})"

    def _rows(self, shape: Shape, beyond: Beyond, backward: bool, optional: bool) -> str:
        core, fields = "k.core", "k.optional"
        if shape.scopes:
            # Not a join: it would put all rows of the page through a sorter before the first.
            core, fields = (
                f"(SELECT e.{column} FROM {{}}.entities e NOT INDEXED WHERE {_SAME_ENTITY})"
                for column in ("core", "optional")
            )
        return self._keys(shape, beyond, backward, f", {core}, {fields if optional else 'NULL'}")


_SQL = SqliteListSql()


class SqliteListReader(PageReader):
    """Reads one page on this thread's connection.

    No statement is left open between two calls, so that the connection may change threads.
    """

    def __init__(self, database: EntityDatabase, request: ListRequest, place: Place | None) -> None:
        super().__init__(_SQL, request, place)
        self._database = database

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
            else:
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
        """The rows of a statement about entities, and whether their size ended them.

        A value that is too large for the connection does that before the row that has it.
        """
        connection = self._connection
        unbounded = connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, self._longest)
        try:
            return _read(connection.execute(*statement), most_bytes)
        except sqlite3.DataError:
            return [], True
        finally:
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, unbounded)
            if self._is_own:
                # Many lists may wait for their clients: each without the pages of the file it has
                # read.
                connection.execute("PRAGMA shrink_memory")

    def read_page(
        self, statement: Statement, most_bytes: int
    ) -> tuple[int, bool, list[ListedEntity], bool]:
        """The answer to a `ListSql.page`; see `PageReader.read_page`."""
        connection = self._connection
        unbounded = connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, self._longest)
        try:
            rows = connection.execute(*statement)
            total, behind, _, _ = next(rows)
            return total, bool(behind), *_read(rows, most_bytes)
        except sqlite3.DataError:
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, unbounded)
            # The row of the total is lost with the first entity, which is too large.
            count = self._sql.page(self._selection, None, 0, 0, backward=False, optional=False)
            return self.run(count)[0][0], self._goes_on_behind(), [], True
        finally:
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, unbounded)


def _read(rows: sqlite3.Cursor, most_bytes: int) -> tuple[list[ListedEntity], bool]:
    """The rows until they have `most_bytes`, and whether that or a value too large ended them."""
    entities: list[ListedEntity] = []
    size = 0
    try:
        for row in rows:
            entities.append(row)
            _, _, core, optional = row
            size += len(core) if optional is None else len(core) + len(optional)
            if size >= most_bytes:
                rows.close()
                return entities, True
    except sqlite3.DataError:
        return entities, True
    return entities, False
