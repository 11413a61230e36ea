"""The rows of a list at a position of the past.

Some of them are stored still, others were replaced since: two ranges of keys, which are put
together here. One statement for both would look through all of the second range for each page near
its end; so that is asked for up to the last key of the first one alone.
"""

from collections.abc import Iterator
from functools import cached_property
from itertools import islice
from operator import itemgetter
from typing import Any, Protocol

from projections.entities.cursors import Place
from projections.entities.list_port import ListedEntity, PastOfList, size_of
from projections.entities.list_selections import Of, Selection
from projections.entities.list_sql import ListSql, Statement
from projections.entities.name_filters import NameFilter

_KEY = itemgetter(0, 1)
_KEYS = 1_000
"""Entities whose names or rows one statement reads."""


class Asking(Protocol):
    """The reads of a list of the past, in one state of a database."""

    @property
    def may_take_long(self) -> bool:
        """True if nobody waits for the reading."""

    def run(self, statement: Statement) -> list[Any]:
        """The rows of a statement."""

    def read(self, statement: Statement, most_bytes: int) -> tuple[list[ListedEntity], bool]:
        """The rows of a statement about entities, and whether their size ended them."""


class PastList:
    """A list at a position of the past."""

    def __init__(
        self,
        sql: ListSql,
        asking: Asking,
        selection: Selection,
        names: NameFilter | None,
        past: PastOfList,
    ) -> None:
        self._sql = sql
        self._asking = asking
        self._selection = selection
        self._names = names
        self._past = past

    def count(self) -> int:
        """Return the number of entities of the list."""
        if self._names is not None:
            return sum(1 for _ in self._keys(None, _KEYS, backward=False))
        if self._selection.scopes:
            arms = (self._current, self._ended())
            return sum(self._asking.run(self._sql.counted(arm))[0][0] for arm in arms)
        then, gone = self._kept
        return then - gone

    def purged(self) -> int:
        """Return how many entities that were there are purged by now; see `WholePage.purged`."""
        return self._kept[1]

    def passed_over(self, limit: int, stored: int, replaced: int) -> int:
        """Return about how many rows are looked at, at most, for a page of `limit` entities.

        Without a filter, the page is taken to have its share of the rows that are `stored` now and
        of those `replaced`; for a narrowed list all of them count.
        """
        if self._names is not None or self._selection.scopes:
            return stored + replaced
        then, gone = self._kept
        return limit * (stored + replaced) // (then - gone) if then > gone else 0

    def read(
        self, place: Place | None, limit: int, most_bytes: int, *, backward: bool, optional: bool
    ) -> tuple[list[ListedEntity], bool]:
        """At most `limit` rows beyond a place, the nearest first, and whether size ended them.

        A state that was too large to be kept also ends the rows, unless the reading may take long.
        """
        if not self._selection.scopes and self._names is None:
            parts = self._merged(place, limit, most_bytes, backward=backward, optional=optional)
        else:
            parts = self._by_keys(place, limit, most_bytes, backward=backward, optional=optional)
        rows: list[ListedEntity] = []
        size = 0
        for part, cut_off in parts:
            for row in part:
                if not all(row[2:]):
                    if not self._asking.may_take_long:
                        return rows, True
                    core, fields = self._past.fold(row[1], self._past.position)
                    row = (*row[:2], core, fields) if optional else (*row[:2], core)
                rows.append(row)
                size += size_of(row)
                if size >= most_bytes:
                    return rows, True
            if cut_off:
                return rows, True
        return rows, False

    def _merged(
        self, place: Place | None, limit: int, most_bytes: int, *, backward: bool, optional: bool
    ) -> Iterator[tuple[list[ListedEntity], bool]]:
        """The rows of both ranges in order, at once."""
        end: tuple[str, str] | None = None
        rows: list[ListedEntity] = []
        is_cut = False
        for arm in (self._current, None):
            if arm is None:
                arm = self._ended(end)
            statement = self._sql.rows(
                arm, place, limit, most_bytes, backward=backward, optional=optional
            )
            found, cut_off = self._asking.read(statement, most_bytes)
            if cut_off and not found:
                yield [], True
                return
            rows += found
            is_cut = is_cut or cut_off
            if cut_off or len(found) == limit:
                # What comes beyond in the one range may have something before it in the other.
                end = found[-1][0], found[-1][1]
        rows.sort(key=_KEY, reverse=backward)
        if end is not None:
            rows = [row for row in rows if (_KEY(row) >= end if backward else _KEY(row) <= end)]
        yield rows[:limit], is_cut

    def _by_keys(
        self, place: Place | None, limit: int, most_bytes: int, *, backward: bool, optional: bool
    ) -> Iterator[tuple[list[ListedEntity], bool]]:
        """The rows of a list that is narrowed, by their ids."""
        keys = islice(self._keys(place, min(limit, _KEYS), backward=backward), limit)
        while part := [*islice(keys, _KEYS)]:
            while part:
                ids = [entity_id for _, entity_id in part]
                statement = self._sql.rows_at(
                    ids, self._past.position, most_bytes, backward=backward, optional=optional
                )
                found, _ = self._asking.read(statement, most_bytes)
                yield found, not found
                part = part[len(found) :]

    def goes_on(self, place: Place, *, backward: bool) -> bool:
        """Return True if the list has anything beyond a place, in a direction."""
        if self._names is not None:
            return next(self._keys(place, 1, backward=backward), None) is not None

        def has_any(arm: Selection) -> bool:
            return bool(self._asking.run(self._sql.goes_on(arm, place, backward=backward))[0][0])

        return has_any(self._current) or has_any(self._ended())

    def beginning(self, place: Place | None, limit: int) -> tuple[Place | None, int]:
        """Return the beginning of the page before a place, and its rows, at most `limit`."""
        first, number = None, 0
        for key in islice(self._keys(place, _KEYS, backward=True), limit):
            first, number = Place(*key, inclusive=True), number + 1
        return first, number

    @cached_property
    def _current(self) -> Selection:
        """The range of the states that are still stored."""
        return self._selection.at(self._past.position, Of.CURRENT)

    def _ended(self, end: tuple[str, str] | None = None) -> Selection:
        """The range of the states that were replaced since, up to a name and id."""
        return self._selection.at(self._past.position, Of.ENDED, end)

    @cached_property
    def _kept(self) -> tuple[int, int]:
        """The number of entities at the position, and how many of them are purged by now."""
        ((then, gone),) = self._asking.run(self._sql.total_at(self._selection, self._past.position))
        return then, gone

    def _keys(
        self, place: Place | None, at_once: int, *, backward: bool
    ) -> Iterator[tuple[str, str]]:
        """The names and ids of the list beyond a place, the nearest first."""
        while True:
            current = self._some(self._current, place, at_once, backward)
            ended = self._ended(current[-1] if len(current) == at_once else None)
            keys = sorted(current + self._some(ended, place, at_once, backward), reverse=backward)
            keys = keys[:at_once]
            yield from self._admitted(keys)
            if len(keys) < at_once:
                return
            place = Place(*keys[-1])

    def _some(
        self, arm: Selection, place: Place | None, limit: int, backward: bool
    ) -> list[tuple[str, str]]:
        statement = self._sql.keys(arm, place, limit, backward=backward, fqn=False)
        return [(row[0], row[1]) for row in self._asking.run(statement)]

    def _admitted(self, keys: list[tuple[str, str]]) -> list[tuple[str, str]]:
        """Name and id of the entities whose names of then the filter by names admits."""
        if self._names is None or not keys:
            return keys
        ids = [entity_id for _, entity_id in keys]
        fqns: dict[str, str] = dict(self._asking.run(self._sql.names_at(ids, self._past.position)))
        return [key for key in keys if self._names.admits(fqns[key[1]])]
