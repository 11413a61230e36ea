"""Pages of lists from PostgreSQL: a page of usual size is one statement, which sees one state."""

from collections.abc import Iterator
from operator import itemgetter
from types import TracebackType
from typing import Any

import psycopg

from domain.event_store.postgres.link import Link
from projections.entities.cursors import Place
from projections.entities.forward_reading import read_forward
from projections.entities.port import ListedEntity, ListHead, ListRequest
from projections.entities.postgres import list_sql
from projections.entities.postgres.database import EntityTables
from projections.entities.postgres.errors import raise_as_ours
from projections.entities.postgres.named_lists import NamedList, Run, size_of

_KEY = itemgetter(0, 1)
"""Name and id of a row."""
_MOST_ROWS = 2_000
"""Rows that one statement reads at most: it measures all of them before it ends."""


class PostgresListReader:
    """Reads one page; what takes more than one statement is read in a transaction."""

    def __init__(self, tables: EntityTables, request: ListRequest, place: Place | None) -> None:
        self._tables = tables
        self._request = request
        self._place = list_sql.place_of(place)
        self._selection = list_sql.select(request)
        self._keyed = self._selection.found_by_keys and request.names is None
        self._named: NamedList | None = None
        if request.names is not None:
            self._named = NamedList(self._run, self._selection, request.names)
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

    def passed_over(self) -> int:
        """How many rows are looked at, at most, to find those of the list; 0 when keys find
        them."""
        if self._keyed:
            return 0
        self._begin(own=False)
        counts = list_sql.narrowest(self._selection)
        return int(self._run(counts)[0][0])

    def head(self, most_bytes: int) -> ListHead:
        """The beginning of the page: what is read before its rows have `most_bytes`."""
        if not self._is_own:
            if self._keyed:
                head = self._head(self._tables.ask_live, most_bytes)
            else:
                self._begin(own=False)
                head = self._head(self._run, most_bytes)
            if not head.cut_off:
                return head
            # It is read again, for the rest must be of the state that the beginning is of.
            self.hand_over()
        return self._head(self._run, most_bytes)

    def rest(
        self, count: int, nearest: Place | None, part_bytes: int
    ) -> Iterator[list[ListedEntity]]:
        """The entities of the page that are not in its head; see `ListReader.rest`."""

        def read(start: Place | None, left: int) -> list[ListedEntity]:
            return self._read(start, min(left, _MOST_ROWS), part_bytes, backward=False)

        return read_forward(
            self._request,
            self._place if nearest is None else nearest,
            self._request.limit - count,
            beginning=self._beginning,
            read=read,
        )

    def goes_on(self, place: Place) -> bool:
        """Whether the list goes on beyond a place, in the direction that the page is read in."""
        return self._goes_on(place, backward=self._request.backward)

    def hand_over(self) -> None:
        """Goes on with a connection that no other reader waits for."""
        if not self._is_own:
            self._end()
            self._begin(own=True)

    def _begin(self, *, own: bool) -> None:
        """Begins the transaction, unless there is one."""
        if self._link is None:
            self._link = self._tables.begin(own=own)
            self._is_own = own

    def _end(self) -> None:
        link, self._link = self._link, None
        if link is not None:
            self._tables.end(link, own=self._is_own)

    def _run(self, statement: list_sql.Statement) -> list[Any]:
        """The rows of a statement in the transaction."""
        assert self._link is not None
        return self._link.rows(self._tables.within(statement[0]), *statement[1])

    def _head(self, run: Run, most_bytes: int) -> ListHead:
        limit, backward, place = self._request.limit, self._request.backward, self._place
        total, behind, read = self._counted_and_read(run, most_bytes)
        if limit == 0:
            return ListHead(total, [], False, False, False)
        size = sum(map(size_of, read))
        cut_off = size >= most_bytes or len(read) == _MOST_ROWS + 1 <= limit
        ahead = len(read) > limit
        if ahead:
            read.pop()
        if cut_off and len(read) == limit and self._link is not None:
            # Only the row beyond the page was not read.
            ahead, cut_off = ahead or self.goes_on(Place(read[-1][0], read[-1][1])), False
        if backward:
            read.reverse()
        return ListHead(total, read, cut_off, ahead, place is not None and behind)

    def _counted_and_read(self, run: Run, most_bytes: int) -> tuple[int, bool, list[ListedEntity]]:
        """The total, whether the list goes on behind the cursor, and the rows nearest first."""
        limit, backward, selection = self._request.limit, self._request.backward, self._selection
        # One row more than the page holds says that the list goes on.
        most = min(limit, _MOST_ROWS) + 1
        if self._named is not None:
            total = self._named.count()
            if limit == 0:
                return total, False, []
            other = self._other_side()
            behind = other is not None and self._named.goes_on(other, backward=not backward)
            return total, behind, self._read(self._place, most, most_bytes, backward=backward)
        statement = list_sql.page(
            selection,
            self._place,
            most if limit else 0,
            most_bytes,
            backward=backward,
            optional=bool(self._request.fields),
        )
        found = run(statement)
        total, behind = found[0][:2]
        read = [row[2:] for row in found if row[2] is not None]
        # Whoever joins the rows may give them in any order.
        read.sort(key=_KEY, reverse=backward)
        return total, behind, read

    def _other_side(self) -> Place | None:
        """The place of the cursor, as those see it who come from the other side."""
        place = self._place
        return place and Place(place.name, place.id, inclusive=not place.inclusive)

    def _read(
        self, place: Place | None, limit: int, most_bytes: int, *, backward: bool
    ) -> list[ListedEntity]:
        """At most `limit` rows beyond a place, the nearest first, that end by their size."""
        optional = bool(self._request.fields)
        if self._named is not None:
            return self._named.read(place, limit, most_bytes, backward=backward, optional=optional)
        statement = list_sql.rows(
            self._selection, place, limit, most_bytes, backward=backward, optional=optional
        )
        return sorted(self._run(statement), key=_KEY, reverse=backward)

    def _goes_on(self, place: Place, *, backward: bool) -> bool:
        if self._named is not None:
            return self._named.goes_on(place, backward=backward)
        return bool(self._run(list_sql.goes_on(self._selection, place, backward=backward))[0][0])

    def _beginning(self, place: Place | None, limit: int) -> tuple[Place | None, int]:
        """Where the page of at most `limit` rows before a place begins, and how many it has."""
        if self._named is not None:
            return self._named.beginning(place, limit)
        sql, values = list_sql.keys(self._selection, place, limit, backward=True)
        ((count,),) = self._run((f"SELECT count(*) FROM {sql} k", values))
        if not count:
            return None, 0
        ((name, entity_id),) = self._run(
            (f"SELECT * FROM {sql} k OFFSET %b LIMIT 1", (*values, count - 1))
        )
        return Place(name, entity_id, inclusive=True), count
