"""Reads one page of a list in the same way from every database."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

from domain.reading.horizon import Horizon
from projections.entities.cursors import Place
from projections.entities.list_port import ListedEntity, ListRequest, PastOfList, WholePage, size_of
from projections.entities.list_selections import Selection
from projections.entities.list_sql import ListSql, Statement, told_place
from projections.entities.name_filters import NameFilter
from projections.entities.past_edges import PastEdges
from projections.entities.past_list import PastList
from projections.entities.scopes import LABEL_ROOTS, NOWHERE, Sought, scope_of_then, sought_scope

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
        self._place = place
        if place is not None and "\0" in place.name:
            self._place = told_place(place)
        self._selection = sql.select(request)
        self.has_keys = request.names is None and self._selection.has_keys
        """True if an index gives the rows of the list, so that none is passed over."""
        self._past: PastList | None = None
        """The list, where it is of the past and differs from that of the present."""
        self._is_own = False
        """True if the connection is of this reader alone, kept for as long as it reads."""

    @abstractmethod
    def run(self, statement: Statement) -> list[Any]:
        """The rows of a statement."""

    @abstractmethod
    def read(self, statement: Statement, most_bytes: int) -> tuple[list[ListedEntity], bool]:
        """The rows of a statement about entities, and whether their size ended them.

        They end with the row that makes them have `most_bytes` together; and before a row with a
        value of that size, unless the connection is this reader's own.
        """

    @abstractmethod
    def read_range(self, most_bytes: int) -> WholePage | None:
        """All of a page of at least one entity that is one range of an index; see `whole`."""

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

    @property
    def may_take_long(self) -> bool:
        """True if nobody waits for the reading."""
        return self._is_own

    def passed_over(self) -> int:
        """Return the most rows that are looked at to find those of the list; 0 by keys.

        Raises BeforeHorizon for a list of a past that is not kept any more.
        """
        past = self._request.past
        if self.has_keys and past is None:
            return 0
        if not self.in_transaction:
            self.begin(own=False)
        if past is not None:
            ((newest, replaced, stored, horizon, at),) = self.run(
                self._sql.past_of(self._selection)
            )
            Horizon(horizon or 0, at or 0).refuse(past.position)
            if (newest or 0) > past.position:
                return self._passed_over_in_past(past, stored, replaced)
            if self.has_keys:
                return 0
        counts: Sequence[int]
        (counts,) = self.run(self._sql.counts(self._selection))
        self._selection = self._selection.narrowest_first(counts)
        return min(counts)

    def _passed_over_in_past(self, past: PastOfList, stored: int, replaced: int) -> int:
        """The result of `passed_over` for a list of the past that has changed since."""
        names = self._request.names
        selection = self._selection = self._selection_of_then(past)
        if selection.scopes:
            (counts,) = self.run(self._sql.counts(selection))
            selection, stored = selection.narrowest_first(counts), min(counts)
            ((replaced,),) = self.run(self._sql.ended(selection, _MOST_ROWS + 1))
        self._past = PastList(self._sql, self, selection, names, past)
        return self._past.passed_over(self._request.limit, stored, replaced)

    def _selection_of_then(self, past: PastOfList) -> Selection:
        """The rows of the list, with labels sought by the names that they had then.

        The scope of a label contains the name of the label, which may have been renamed since.
        """
        request, labels = self._request, dict[str, str]()
        for parameter, value in request.filters.items():
            sought = sought_scope(request.kind, parameter, value)
            if sought.keyed:
                labels[parameter] = self._scope_of_then(sought, value, past.position)
        return self._sql.select(request, labels) if labels else self._selection

    def _scope_of_then(self, sought: Sought, value: str, position: int) -> str:
        roots = tuple((kind, value) for kind in LABEL_ROOTS)
        for kind, entity_id in self._holders(sought, (*sought.names, *roots)):
            named = self.run(self._sql.names_at([entity_id], position))
            fqn = named[0][1] if named else None
            # The entity may not have existed at the position.
            return NOWHERE if fqn is None else scope_of_then(sought, kind, fqn)
        for scope in sought.labels:
            if self.run(self._sql.has_scope(scope)):
                return scope
        return sought.otherwise

    def _holders(
        self, sought: Sought, names: Sequence[tuple[str, str]]
    ) -> Iterator[tuple[str, str]]:
        """Kind and id of the entities that are meant; those that have a name now come first."""
        if sought.entity_id is not None:
            yield from self.run(self._sql.kind_of(sought.entity_id))
            return
        for of_now in (True, False):
            for kind, fqn in names:
                for (entity_id,) in self.run(self._sql.holder(kind, fqn, of_now=of_now)):
                    yield kind, entity_id

    def purged(self) -> int:
        """Return the entities of a list of the past that are purged; see `WholePage.purged`."""
        return 0 if self._past is None else self._past.purged()

    def whole(self, most_bytes: int) -> WholePage | None:
        """All of the page; None where its entities have `most_bytes`."""
        request, listed = self._request, self._listed
        if request.limit and listed is None:
            return self.read_range(most_bytes)
        total, behind = self.totals()
        rows: list[ListedEntity] = []
        cut_off = False
        if request.limit and listed is not None:
            rows, cut_off = listed.read(
                self._place,
                request.limit + 1,
                most_bytes,
                backward=request.backward,
                optional=bool(request.fields),
            )
        return self.page_of(total, rows, behind=behind, cut_off=cut_off)

    def page_of(
        self, total: int, rows: list[ListedEntity], *, behind: bool, cut_off: bool
    ) -> WholePage | None:
        """The page with these rows, the nearest first; None where size ended them before that.

        If the list goes on, `rows` has one row more than the page may have.
        """
        limit = self._request.limit
        ahead = len(rows) > limit
        if cut_off and not ahead:
            return None
        del rows[limit:]
        if self._request.backward:
            rows.reverse()
        return WholePage(total, behind, rows, ahead, self.purged())

    def totals(self) -> tuple[int, bool]:
        """Return the total, and whether the list goes on behind the cursor."""
        listed, place = self._listed, self._place
        if listed is not None:
            total = listed.count()
        else:
            ((total,),) = self.run(self._sql.total(self._selection))
        if place is None or not self._request.limit:
            return total, False
        # The row of the cursor belongs to exactly one of the two directions.
        place = Place(place.name, place.id, inclusive=not place.inclusive)
        return total, self._goes_on(place, backward=not self._request.backward)

    def edges(self, past: PastOfList) -> PastEdges:
        """The edges of the lineage in the past that the list is of, in a state of their own.

        Raises BeforeHorizon.
        """
        self.hand_over()
        return PastEdges(self._sql, self, past)

    def hand_over(self) -> None:
        """Go on in a transaction of its own, which any thread may use and nobody waits for."""
        self.end()
        self.begin(own=True)
        self._is_own = True
        self.passed_over()

    def parts(self, part_bytes: int) -> Iterator[list[ListedEntity]]:
        """All entities of the page; see `ListReader.parts`.

        They are read forward, also where the page lies before its cursor: backward, all of them
        would have to be held before the first could be shown.
        """
        start, left = self._place, self._request.limit
        if self._request.backward:
            start, left = self._beginning(start, left)
        while left:
            part = self._part(start, min(left, _MOST_ROWS), part_bytes)
            if not part:
                break
            # The place is taken first: the consumer of a part may clear it.
            start, left = Place(part[-1][0], part[-1][1]), left - len(part)
            yield part

    def goes_on(self, place: Place) -> bool:
        """Return True if the list goes on beyond a place, in the direction of the page."""
        return self._goes_on(place, backward=self._request.backward)

    def _goes_on(self, place: Place, *, backward: bool) -> bool:
        if (listed := self._listed) is not None:
            return listed.goes_on(place, backward=backward)
        return bool(self.run(self._sql.goes_on(self._selection, place, backward=backward))[0][0])

    def _part(self, place: Place | None, limit: int, part_bytes: int) -> list[ListedEntity]:
        """At most `limit` rows beyond a place, up to the one with which they have `part_bytes`."""
        optional = bool(self._request.fields)
        if (listed := self._listed) is not None:
            rows, _ = listed.read(place, limit, part_bytes, backward=False, optional=optional)
            return rows
        statement = self._sql.rows(self._selection, place, limit, part_bytes, optional=optional)
        return self.read(statement, part_bytes)[0]

    def _beginning(self, place: Place | None, limit: int) -> tuple[Place | None, int]:
        """Return the beginning of the page before a place, and its rows, at most `limit`."""
        if (listed := self._listed) is not None:
            return listed.beginning(place, limit)
        sql, values = self._sql.keys(self._selection, place, limit, backward=True, fqn=False)
        ((count,),) = self.run((f"SELECT count(*) FROM ({sql}) k", values))
        if not count:
            return None, 0
        ((name, entity_id),) = self.run(
            (self._sql.spell(f"SELECT * FROM ({sql}) k LIMIT 1 OFFSET ?"), (*values, count - 1))
        )
        return Place(name, entity_id, inclusive=True), count

    @property
    def _listed(self) -> "PastList | NamedList | None":
        """The list, where its rows are not those of one range of an index."""
        if self._past is not None:
            return self._past
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
