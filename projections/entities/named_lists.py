"""Lists narrowed by names, which this process decides on: databases have other expressions."""

from collections.abc import Iterator
from typing import Any, Protocol

from projections.entities.cursors import Place
from projections.entities.list_sql import ListSql, Selection, Statement
from projections.entities.name_filters import NameFilter
from projections.entities.port import ListedEntity

_KEYS = 1_000
"""Entities whose names one statement reads."""


class Asking(Protocol):
    """Asks a database, in the state that a page is read from."""

    def run(self, statement: Statement) -> list[Any]:
        """The rows of a statement."""

    def read(self, statement: Statement, most_bytes: int) -> tuple[list[ListedEntity], bool]:
        """The rows of a statement about entities, and whether their size ended them.

        The row with which they have `most_bytes` does that.
        """


class NamedList:
    """The rows of a selection that a filter admits."""

    def __init__(
        self, sql: ListSql, asking: Asking, selection: Selection, names: NameFilter
    ) -> None:
        self._sql = sql
        self._asking = asking
        self._selection = selection
        self._names = names

    def count(self) -> int:
        """How many entities the list has."""
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
        """Whether the list has anything beyond a place, in a direction."""
        return next(self._admitted(place, backward=backward), None) is not None

    def beginning(self, place: Place | None, limit: int) -> tuple[Place | None, int]:
        """Where the page of at most `limit` rows before a place begins, and how many it has."""
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
