"""The rows of a list at a position of the past.

Some of them are stored still, others were replaced since: two ranges of keys, which are put
together here. One statement for both would look through all of the second range for each page near
its end; so that is asked for up to the last key of the first one alone.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Any, Protocol

from projections.entities.cursors import Place
from projections.entities.list_sql import ListSql, Of, Selection, Statement
from projections.entities.name_filters import NameFilter
from projections.entities.port import ListedEntity, PastOfList

_KEYS = 1_000
"""Entities whose names or rows one statement reads."""


class Asking(Protocol):
    """What asks a database, in one state of it."""

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
            arms = (self._selection.at(self._past.position, of) for of in (Of.CURRENT, Of.ENDED))
            return sum(self._asking.run(self._sql.counted(arm))[0][0] for arm in arms)
        then, gone = self._kept()
        return then - gone

    def purged(self) -> int:
        """Return how many entities that were there are purged by now; see `WholePage.purged`."""
        return self._kept()[1]

    def passed_over(self, limit: int, stored: int, replaced: int) -> int:
        """Return the most rows that are looked at for a page of `limit`, about.

        Without a filter the rows of the kind that are `stored` and those `replaced` lie between
        those of the page as they come; a list that is narrowed is counted.
        """
        if self._names is not None or self._selection.scopes:
            return stored + replaced
        then, gone = self._kept()
        return limit * (stored + replaced) // (then - gone) if then > gone else 0

    def read(
        self, place: Place | None, limit: int, most_bytes: int, *, backward: bool, optional: bool
    ) -> tuple[list[ListedEntity], bool]:
        """At most `limit` rows beyond a place, the nearest first, and whether size ended them.

        A state that was too large to be kept ends them too, unless the reading may take long.
        """
        rows: list[ListedEntity] = []
        size = 0
        keys = islice(self._keys(place, min(limit, _KEYS), backward=backward), limit)
        while part := [*islice(keys, _KEYS)]:
            while part:
                ids = [entity_id for _, entity_id in part]
                statement = self._sql.rows_at(
                    ids,
                    self._past.position,
                    most_bytes - size,
                    backward=backward,
                    optional=optional,
                )
                found, _ = self._asking.read(statement, most_bytes - size)
                if not found:
                    return rows, True
                for name, entity_id, core, more in found:
                    if not core or more == b"":
                        if not self._asking.may_take_long:
                            return rows, True
                        core, more = self._past.fold(entity_id, self._past.position)
                    row = name, entity_id, core, more if optional else None
                    rows.append(row)
                    size += len(core) + len(row[3] or b"")
                    if size >= most_bytes:
                        return rows, True
                part = part[len(found) :]
        return rows, False

    def goes_on(self, place: Place, *, backward: bool) -> bool:
        """Return True if the list has anything beyond a place, in a direction."""
        return next(self._keys(place, 1, backward=backward), None) is not None

    def beginning(self, place: Place | None, limit: int) -> tuple[Place | None, int]:
        """Return the beginning of the page before a place, and its rows, at most `limit`."""
        first, number = None, 0
        for key in islice(self._keys(place, _KEYS, backward=True), limit):
            first, number = Place(*key, inclusive=True), number + 1
        return first, number

    def _kept(self) -> tuple[int, int]:
        """The number of entities that were there, and of those of them that are purged by now."""
        ((then, gone),) = self._asking.run(self._sql.total_at(self._selection, self._past.position))
        return then, gone

    def _keys(
        self, place: Place | None, at_once: int, *, backward: bool
    ) -> Iterator[tuple[str, str]]:
        """The names and ids of the list beyond a place, the nearest first."""
        position = self._past.position
        while True:
            current = self._some(self._selection.at(position, Of.CURRENT), place, at_once, backward)
            end = current[-1] if len(current) == at_once else None
            ended = self._selection.at(position, Of.ENDED, end)
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
        """Those that the filter by names admits, by the names of then."""
        if self._names is None or not keys:
            return keys
        ids = [entity_id for _, entity_id in keys]
        fqns: dict[str, str] = dict(self._asking.run(self._sql.names_at(ids, self._past.position)))
        return [key for key in keys if self._names.admits(fqns[key[1]])]
