"""Lists narrowed by names, which this process decides on: PostgreSQL has other expressions."""

from collections.abc import Callable, Iterator
from typing import Any

from projections.entities.cursors import Place
from projections.entities.name_filters import NameFilter
from projections.entities.port import ListedEntity
from projections.entities.postgres import list_sql
from projections.entities.postgres.list_sql import Selection

Run = Callable[[list_sql.Statement], list[Any]]
"""Gives the rows of a statement, in the state that the page is read from."""
_KEYS = 1_000
"""Entities whose names one statement reads."""
_FQN = {False: ", k.fqn", True: ", (SELECT e.fqn FROM {}.entities e WHERE e.id = k.id) AS fqn"}
"""The qualified name as a column, by whether the list is narrowed to a scope as well."""


class NamedList:
    """The rows of a selection that a filter admits."""

    def __init__(self, run: Run, selection: Selection, names: NameFilter) -> None:
        self._run = run
        self._selection = selection
        self._names = names

    def count(self) -> int:
        """How many entities the list has."""
        return sum(len(keys) for keys in self._admitted(None, backward=False))

    def read(
        self, place: Place | None, limit: int, most_bytes: int, *, backward: bool, optional: bool
    ) -> list[ListedEntity]:
        """At most `limit` rows beyond a place, the nearest first, as `list_sql.rows` has them."""
        read: list[ListedEntity] = []
        size = 0
        for keys in self._admitted(place, backward=backward):
            left = [entity_id for _, entity_id in keys[: limit - len(read)]]
            while left and size < most_bytes:
                statement = list_sql.rows_of(
                    left, most_bytes - size, backward=backward, optional=optional
                )
                rows = self._run(statement)
                read += rows
                left = left[len(rows) :]
                size += sum(map(size_of, rows))
            if len(read) == limit or size >= most_bytes:
                break
        return read

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
        wanted = _FQN[bool(self._selection.scopes)]
        while True:
            rows = self._run(
                list_sql.keys(self._selection, place, _KEYS, backward=backward, wanted=wanted)
            )
            admitted = [(name, each) for name, each, fqn in rows if self._names.admits(fqn)]
            if admitted:
                yield admitted
            if len(rows) < _KEYS:
                return
            place = Place(rows[-1][0], rows[-1][1])


def size_of(row: ListedEntity) -> int:
    """Bytes of the JSON of a row."""
    return len(row[2]) if row[3] is None else len(row[2]) + len(row[3])
