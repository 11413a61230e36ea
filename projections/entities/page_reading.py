"""Reads one page of a list in the same way from every database."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

from projections.entities.cursors import Place
from projections.entities.list_sql import ListSql, Selection, Statement, place_of
from projections.entities.name_filters import NameFilter
from projections.entities.port import ListedEntity, ListHead, ListRequest

_MOST_ROWS = 2_000
"""Rows that one statement reads at most: PostgreSQL measures all of them before it ends."""

_KEYS = 1_000
"""Entities whose names one statement reads, where a list is narrowed by names."""
ANY_LENGTH = -1
"""Stands for no bound of a value's bytes."""


class PageReader(ABC):
    """Reads one page; the reader of each database derives from it and asks its database."""

    def __init__(self, sql: ListSql, request: ListRequest, place: Place | None) -> None:
        self._sql = sql
        self._request = request
        self._place = place_of(place)
        self._selection = sql.select(request)
        self.has_keys = request.names is None and self._selection.has_keys
        """True if an index gives the rows of the list, so that none is passed over."""
        self._is_own = False
        """True if the connection is of this reader alone, kept for as long as it reads."""
        self._longest = ANY_LENGTH
        """Bytes of a value above which a database need not read it; it ends the reading then."""

    @abstractmethod
    def run(self, statement: Statement) -> list[Any]:
        """The rows of a statement."""

    @abstractmethod
    def read(self, statement: Statement, most_bytes: int) -> tuple[list[ListedEntity], bool]:
        """The rows of a statement about entities, and whether their size ended them.

        The row with which they have `most_bytes` does that.
        """

    @abstractmethod
    def read_page(
        self, statement: Statement, most_bytes: int
    ) -> tuple[int, bool, list[ListedEntity], bool]:
        """The answer to a `ListSql.page`, whose rows are those of `read`.

        It is the total, whether the list goes on behind the cursor, the rows, and whether their
        size ended them.
        """

    @property
    @abstractmethod
    def in_transaction(self) -> bool:
        """True if all that is asked for now is answered from one state of the database."""

    @abstractmethod
    def begin(self, *, own: bool) -> None:
        """Begin a transaction, on a connection of this reader's `own` to keep it for long."""

    @abstractmethod
    def end(self) -> None:
        """End the transaction, if there is one."""

    def passed_over(self) -> int:
        """Return the most rows that are looked at to find those of the list; 0 by keys."""
        if self.has_keys:
            return 0
        self._begin_once()
        counts: Sequence[int]
        (counts,) = self.run(self._sql.counts(self._selection))
        self._selection = self._selection.narrowest_first(counts)
        return min(counts)

    def head(self, most_bytes: int) -> ListHead:
        """The beginning of the page: what is read before its rows have `most_bytes`.

        A page of usual size is one statement, which needs no transaction to see one state.
        """
        if not self.has_keys:
            self._begin_once()
        self._longest = most_bytes
        head = self._head(most_bytes)
        if not head.cut_off or self._is_own:
            return head
        # It is read again, for the rest must be of the state that the beginning is of.
        self.hand_over()
        return self._head(most_bytes)

    def hand_over(self) -> None:
        """Go on in a transaction of its own, which any thread may use and nobody waits for."""
        if not self._is_own:
            self.end()
            self.begin(own=True)
            self._is_own = True

    def rest(
        self, count: int, nearest: Place | None, part_bytes: int
    ) -> Iterator[list[ListedEntity]]:
        """The entities of the page that are not in its head; see `ListReader.rest`.

        They are read forward, also where the page lies before its cursor: backward, all of them
        would have to be held before the first could be shown.
        """
        self._longest = ANY_LENGTH
        start, left = nearest or self._place, self._request.limit - count
        if self._request.backward:
            start, left = self._beginning(start, left)
        while left:
            part, _ = self._read(start, min(left, _MOST_ROWS), part_bytes, backward=False)
            if not part:
                break
            # Whoever takes a part may clear it.
            start, left = Place(part[-1][0], part[-1][1]), left - len(part)
            yield part

    def goes_on(self, place: Place) -> bool:
        """Return True if the list goes on beyond a place, in the direction of the page."""
        return self._goes_on(place, backward=self._request.backward)

    def _begin_once(self) -> None:
        if not self.in_transaction:
            self.begin(own=False)

    def _head(self, most_bytes: int) -> ListHead:
        limit = self._request.limit
        total, behind, rows, cut_off = self._counted_and_read(most_bytes)
        cut_off = cut_off or len(rows) == _MOST_ROWS + 1 <= limit
        ahead = len(rows) > limit
        if ahead:
            rows.pop()
        if cut_off and len(rows) == limit and self.in_transaction:
            # Only the row beyond the page was not read.
            ahead, cut_off = ahead or self.goes_on(Place(rows[-1][0], rows[-1][1])), False
        if self._request.backward:
            rows.reverse()
        return ListHead(total, rows, cut_off, ahead, behind)

    def _counted_and_read(self, most_bytes: int) -> tuple[int, bool, list[ListedEntity], bool]:
        """Return this reader's page, in the form of `read_page`."""
        request, place, named = self._request, self._place, self._named()
        limit, backward = request.limit, request.backward
        # One row more than the page holds says that the list goes on.
        most = min(limit, _MOST_ROWS) + 1 if limit else 0
        if named is None:
            statement = self._sql.page(
                self._selection,
                place,
                most,
                most_bytes,
                backward=backward,
                optional=bool(request.fields),
            )
            return self.read_page(statement, most_bytes)
        total = named.count()
        if not limit:
            return total, False, [], False
        behind = self._goes_on_behind()
        return total, behind, *self._read(place, most, most_bytes, backward=backward)

    def _goes_on_behind(self) -> bool:
        """Return True if the list goes on behind the cursor."""
        place = self._place
        if place is None:
            return False
        # Whoever comes from the other side sees the place of the cursor so.
        place = Place(place.name, place.id, inclusive=not place.inclusive)
        return self._goes_on(place, backward=not self._request.backward)

    def _goes_on(self, place: Place, *, backward: bool) -> bool:
        named = self._named()
        if named is not None:
            return named.goes_on(place, backward=backward)
        return bool(self.run(self._sql.goes_on(self._selection, place, backward=backward))[0][0])

    def _read(
        self, place: Place | None, limit: int, most_bytes: int, *, backward: bool
    ) -> tuple[list[ListedEntity], bool]:
        """At most `limit` rows beyond a place, the nearest first, as `read` gives them."""
        optional, named = bool(self._request.fields), self._named()
        if named is not None:
            return named.read(place, limit, most_bytes, backward=backward, optional=optional)
        statement = self._sql.rows(
            self._selection, place, limit, most_bytes, backward=backward, optional=optional
        )
        return self.read(statement, most_bytes)

    def _beginning(self, place: Place | None, limit: int) -> tuple[Place | None, int]:
        """Return the beginning of the page before a place, and its rows, at most `limit`."""
        named = self._named()
        if named is not None:
            return named.beginning(place, limit)
        sql, values = self._sql.keys(self._selection, place, limit, backward=True, fqn=False)
        ((count,),) = self.run((f"SELECT count(*) FROM ({sql}) k", values))
        if not count:
            return None, 0
        ((name, entity_id),) = self.run(
            (self._sql.spell(f"SELECT * FROM ({sql}) k LIMIT 1 OFFSET ?"), (*values, count - 1))
        )
        return Place(name, entity_id, inclusive=True), count

    def _named(self) -> "NamedList | None":
        names = self._request.names
        return None if names is None else NamedList(self._sql, self, self._selection, names)


class NamedList:
    """The rows of a selection that a filter by names admits.

    This process decides on them, as databases have other regular expressions.
    """

    def __init__(
        self, sql: ListSql, asking: "PageReader", selection: Selection, names: NameFilter
    ) -> None:
        self._sql = sql
        self._asking = asking
        self._selection = selection
        self._names = names

    def count(self) -> int:
        """Return the number of entities of the list."""
        return sum(len(keys) for keys in self._admitted(None, backward=False))

    def read(
        self, place: Place | None, limit: int, most_bytes: int, *, backward: bool, optional: bool
    ) -> tuple[list[ListedEntity], bool]:
        """At most `limit` rows beyond a place, the nearest first, and whether size ended them."""
        rows: list[ListedEntity] = []
        size = 0
        for keys in self._admitted(place, backward=backward):
            left = [entity_id for _, entity_id in keys[: limit - len(rows)]]
            while left:
                statement = self._sql.rows_of(
                    left, most_bytes - size, backward=backward, optional=optional
                )
                part, cut_off = self._asking.read(statement, most_bytes - size)
                rows += part
                if cut_off:
                    return rows, True
                left = left[len(part) :]
                size += sum(map(size_of, part))
            if len(rows) == limit:
                break
        return rows, False

    def goes_on(self, place: Place, *, backward: bool) -> bool:
        """Return True if the list has anything beyond a place, in a direction."""
        return next(self._admitted(place, backward=backward), None) is not None

    def beginning(self, place: Place | None, limit: int) -> tuple[Place | None, int]:
        """Return the beginning of the page before a place, and its rows, at most `limit`."""
        first, number = None, 0
        for keys in self._admitted(place, backward=True):
            part = keys[: limit - number]
            first, number = Place(*part[-1], inclusive=True), number + len(part)
            if number == limit:
                break
        return first, number

    def _admitted(self, place: Place | None, *, backward: bool) -> Iterator[list[tuple[str, str]]]:
        """Name and id of what the filter admits, in parts, none of which is empty."""
        while True:
            statement = self._sql.keys(self._selection, place, _KEYS, backward=backward, fqn=True)
            rows = self._asking.run(statement)
            admitted = [(name, each) for name, each, fqn in rows if self._names.admits(fqn)]
            if admitted:
                yield admitted
            if len(rows) < _KEYS:
                return
            place = Place(rows[-1][0], rows[-1][1])


def size_of(row: ListedEntity) -> int:
    """Bytes of the JSON of a row."""
    return len(row[2]) if row[3] is None else len(row[2]) + len(row[3])
