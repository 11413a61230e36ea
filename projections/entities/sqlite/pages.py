"""Pages of lists, read from SQLite in one transaction each."""

import sqlite3
from collections.abc import Iterator
from types import TracebackType

from projections.entities.cursors import Place
from projections.entities.forward_reading import read_forward
from projections.entities.port import ListedEntity, ListHead, ListRequest
from projections.entities.sqlite import list_sql
from projections.entities.sqlite.database import EntityDatabase
from projections.entities.sqlite.errors import raise_as_ours


class SqliteListReader:
    """Reads one page on this thread's connection, which it holds in a transaction meanwhile.

    No statement is left open between two calls, so that the connection may change threads.
    """

    def __init__(self, database: EntityDatabase, request: ListRequest, place: Place | None) -> None:
        self._database = database
        self._request = request
        self._place = place
        self._handed_over = False

    def __enter__(self) -> "SqliteListReader":
        """Begins the transaction; raises StoreUnavailable."""
        try:
            self._connection = self._database.connection
            self._connection.execute("BEGIN")
            try:
                self._selection = list_sql.select(self._connection, self._request)
            except BaseException:
                self._end()
                raise
        except sqlite3.DatabaseError as error:
            raise_as_ours(error)
        return self

    def __exit__(self, _: object, error: BaseException | None, __: TracebackType | None) -> None:
        """Ends the transaction; raises what SQLite raised in the block as the catalog's errors."""
        try:
            self._end()
        except sqlite3.DatabaseError as failure:
            raise_as_ours(failure)
        if isinstance(error, sqlite3.DatabaseError):
            raise_as_ours(error)

    def _end(self) -> None:
        if self._handed_over:
            self._connection.close()
        elif self._connection.in_transaction:
            # Nothing was written; on a damaged file this succeeds where a COMMIT fails.
            self._connection.execute("ROLLBACK")

    def passed_over(self) -> int:
        """How many rows are looked at, at most, to find those of the list; 0 when keys find
        them."""
        return list_sql.passed_over(self._connection, self._selection)

    def head(self, most_bytes: int) -> ListHead:
        """The beginning of the page: what is read before its rows have `most_bytes`."""
        connection, request, place = self._connection, self._request, self._place
        total = list_sql.count(connection, self._selection)
        if request.limit == 0:
            return ListHead(total, [], False, False, False)
        # A value of more bytes raises sqlite3.DataError before it is read.
        unbounded = connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, most_bytes)
        try:
            # One row more than the page holds says that the list goes on.
            entities, cut_off = self._read(
                place, request.limit + 1, most_bytes, backward=request.backward
            )
        finally:
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, unbounded)
        ahead = len(entities) > request.limit
        if ahead:
            entities.pop()
        if cut_off and len(entities) == request.limit:
            # Only the row beyond the page was not read.
            last = Place(entities[-1][0], entities[-1][1])
            ahead, cut_off = ahead or self.goes_on(last), False
        behind = False
        if place is not None:
            nearest = (
                Place(entities[0][0], entities[0][1])
                if entities
                else Place(place.name, place.id, inclusive=True)
            )
            behind = list_sql.goes_on(
                connection, self._selection, nearest, backward=not request.backward
            )
        if request.backward:
            entities.reverse()
        return ListHead(total, entities, cut_off, ahead, behind)

    def rest(
        self, count: int, nearest: Place | None, part_bytes: int
    ) -> Iterator[list[ListedEntity]]:
        """The entities of the page that are not in its head; see `ListReader.rest`."""

        def beginning(place: Place | None, left: int) -> tuple[Place | None, int]:
            return list_sql.beginning(self._connection, self._selection, place, left) or (place, 0)

        def read(start: Place | None, left: int) -> list[ListedEntity]:
            part, _ = self._read(start, left, part_bytes, backward=False)
            # Many lists may wait for their clients: each without the pages of the file it has read.
            self._connection.execute("PRAGMA shrink_memory")
            return part

        return read_forward(
            self._request,
            self._place if nearest is None else nearest,
            self._request.limit - count,
            beginning=beginning,
            read=read,
        )

    def goes_on(self, place: Place) -> bool:
        """Whether the list goes on beyond a place, in the direction that the page is read in."""
        return list_sql.goes_on(
            self._connection, self._selection, place, backward=self._request.backward
        )

    def hand_over(self) -> None:
        """Lets another thread go on with the connection, which is closed at the end then."""
        self._database.hand_over()
        self._handed_over = True
        # A scan of everything through a memory map would count as this process's memory.
        self._connection.execute("PRAGMA mmap_size=0")

    def _read(
        self, place: Place | None, limit: int, most_bytes: int, *, backward: bool
    ) -> tuple[list[ListedEntity], bool]:
        """At most `limit` rows beyond a place, the nearest first, and whether size ended them.

        The row with which they have `most_bytes` does that, and a value that is too large for the
        connection, before the row that has it.
        """
        sql, parameters = list_sql.rows(
            self._selection, place, backward=backward, optional=bool(self._request.fields)
        )
        entities: list[ListedEntity] = []
        size = 0
        try:
            rows = self._connection.execute(sql, (*parameters, limit))
            for row in rows:
                entities.append(row)
                size += len(row[2]) if row[3] is None else len(row[2]) + len(row[3])
                if size >= most_bytes:
                    rows.close()
                    return entities, True
        except sqlite3.DataError:
            return entities, True
        return entities, False
