"""Which rows a list shows, as SQL: range scans over the sort key, and totals from counters."""

import sqlite3
from functools import lru_cache
from typing import Any

import msgspec

from projections.entities.commit_changes import WHOLE_KIND
from projections.entities.cursors import Place
from projections.entities.port import Include, ListRequest
from projections.entities.scopes import Sought

ADMITS = "admits"
"""The function of SQL that decides by an entity's qualified name whether the list shows it."""

Parameters = tuple[Any, ...]
_STATES = {Include.NON_DELETED: (0,), Include.DELETED: (1,), Include.ALL: (0, 1)}
"""The values of the `deleted` column that a read sees."""


class Selection(msgspec.Struct, frozen=True):
    """The rows of a list; of several scopes the one with the fewest entities comes first."""

    kind: str
    states: tuple[int, ...]
    status: str | None = None
    scopes: tuple[str, ...] = ()
    names: bool = False
    """Whether the connection's function ADMITS decides on each row as well."""


def select(connection: sqlite3.Connection, request: ListRequest) -> Selection:
    """The rows of the list that a request pages through; its filters are resolved to scopes."""
    if request.names is not None:
        connection.create_function(ADMITS, 1, request.names.admits, deterministic=True)
    selection = Selection(
        request.kind.name,
        _STATES[request.include],
        request.status,
        names=request.names is not None,
    )
    if not request.filters:
        return selection
    scopes = [_scope(connection, sought) for sought in request.sought]
    if len(scopes) > 1:
        scopes.sort(key=lambda scope: _counted(connection, selection, scope))
    return msgspec.structs.replace(selection, scopes=tuple(scopes))


def _scope(connection: sqlite3.Connection, sought: Sought) -> str:
    """The scope that a filter means."""
    lookups: list[tuple[str, tuple[str, ...]]] = [(_BY_NAME, named) for named in sought.names]
    if sought.entity_id is not None:
        lookups.append((_BY_ID, (sought.entity_id,)))
    for sql, given in lookups:
        if (match := connection.execute(sql, given).fetchone()) is not None:
            return sought.scope(*match)
    return sought.otherwise


_BY_NAME = "SELECT id, kind, fqn FROM entities WHERE kind = ? AND fqn = ?"
_BY_ID = "SELECT id, kind, fqn FROM entities WHERE id = ?"


def count(connection: sqlite3.Connection, selection: Selection) -> int:
    """How many entities the list has; under several filters, or by names, they are counted one
    by one."""
    if len(selection.scopes) < 2 and not selection.names:
        scope = selection.scopes[0] if selection.scopes else WHOLE_KIND
        return _counted(connection, selection, scope)
    total = 0
    for state in selection.states:
        source = _source(len(selection.scopes), selection.status is not None, selection.names)
        row = connection.execute(f"SELECT count(*) {source}", _values(selection, state)).fetchone()
        total += row[0]
    return total


def passed_over(connection: sqlite3.Connection, selection: Selection) -> int:
    """How many rows are looked at, at most, to find those of the list; 0 when keys find them."""
    found = not selection.scopes or len(selection.scopes) + (selection.status is not None) < 2
    if found and not selection.names:
        return 0
    whole = msgspec.structs.replace(selection, status=None)
    scope = selection.scopes[0] if selection.scopes else WHOLE_KIND
    return _counted(connection, whole, scope)


def _counted(connection: sqlite3.Connection, selection: Selection, scope: str) -> int:
    """How many entities a scope holds, from the counters."""
    kind, states, status = selection.kind, selection.states, selection.status
    sql = _COUNTERS if len(states) == 1 else _COUNTERS_OF_ALL
    parameters: Parameters = (kind, scope, *states)
    if status is not None:
        sql, parameters = sql + " AND status = ?", (*parameters, status)
    return connection.execute(sql, parameters).fetchone()[0] or 0


_COUNTERS = "SELECT sum(n) FROM counters WHERE kind = ? AND scope = ? AND deleted = ?"
_COUNTERS_OF_ALL = "SELECT sum(n) FROM counters WHERE kind = ? AND scope = ? AND deleted IN (?,?)"


def rows(
    selection: Selection, place: Place | None, *, backward: bool, optional: bool
) -> tuple[str, Parameters]:
    """SQL for (name, id, core, optional or NULL) of the list beyond a place, nearest first.

    The parameters lack the last one, the value of LIMIT.
    """
    wanted = _WANTED[bool(selection.scopes), optional]
    return _select_keys(selection, place, backward, wanted), _parameters(selection, place)


_OF_ENTITY = (
    "(SELECT e.{} FROM entities e NOT INDEXED WHERE e.kind = k.kind AND e.deleted = k.deleted"
    " AND e.name = k.name AND e.id = k.id)"
)
"""A column of the entity that a row of `scopes` is about. Not a join: it would put all rows of
the page through a sorter before the first."""
_WANTED = {
    (False, False): "core, NULL",
    (False, True): "core, optional",
    (True, False): f"{_OF_ENTITY.format('core')}, NULL",
    (True, True): f"{_OF_ENTITY.format('core')}, {_OF_ENTITY.format('optional')}",
}
"""What is read of each row, by whether the list is narrowed and `optional` is wanted."""


def beginning(
    connection: sqlite3.Connection, selection: Selection, place: Place | None, limit: int
) -> tuple[Place, int] | None:
    """Where the page of at most `limit` rows before a place begins, and how many rows it has.

    None when the list has nothing before the place.
    """
    keys = _select_keys(selection, place, True, "deleted")
    parameters = _parameters(selection, place)
    counting = f"SELECT count(*) FROM ({keys})"
    n: int = connection.execute(counting, (*parameters, limit)).fetchone()[0]
    if not n:
        return None
    first = connection.execute(f"{keys} OFFSET ?", (*parameters, 1, n - 1)).fetchone()
    return Place(first[0], first[1], inclusive=True), n


def goes_on(
    connection: sqlite3.Connection, selection: Selection, place: Place, *, backward: bool
) -> bool:
    """Whether the list has anything beyond a place, in the direction of travel."""
    sql = _select_keys(selection, place, backward, "deleted")
    return connection.execute(sql, (*_parameters(selection, place), 1)).fetchone() is not None


def _comparison(place: Place | None, backward: bool) -> str:
    if place is None:
        return ""
    return ("<" if backward else ">") + ("=" if place.inclusive else "")


def _select_keys(selection: Selection, place: Place | None, backward: bool, wanted: str) -> str:
    return _keys(
        len(selection.scopes),
        len(selection.states),
        selection.status is not None,
        selection.names,
        _comparison(place, backward),
        backward,
        wanted,
    )


@lru_cache
def _keys(
    scopes: int,
    states: int,
    status: bool,
    names: bool,
    comparison: str,
    backward: bool,
    wanted: str,
) -> str:
    """The list's sort keys, and what else is wanted of the table that holds them."""
    order = "DESC" if backward else "ASC"
    beyond = f" AND (name, id) {comparison} (?, ?)" if comparison else ""
    part = f"SELECT name, id, {wanted} {_source(scopes, status, names, beyond)}"
    return f"{' UNION ALL '.join([part] * states)} ORDER BY name {order}, id {order} LIMIT ?"


def _source(scopes: int, status: bool, names: bool, beyond: str = "") -> str:
    """FROM and WHERE of the rows in one deletion state; `k` is the table with the sort key.

    What is dear to decide comes last, for SQLite evaluates terms in this order.
    """
    fqn = _OF_ENTITY.format("fqn") if scopes else "k.fqn"
    if not scopes:
        index = " INDEXED BY entities_by_status" if status else ""
        sql = f"FROM entities k{index} WHERE kind = ? AND deleted = ?"
    else:
        sql = "FROM scopes k WHERE scope = ? AND kind = ? AND deleted = ?"
    return (
        sql
        + " AND status = ?" * status
        + " AND EXISTS (SELECT 1 FROM scopes o WHERE o.scope = ? AND o.kind = k.kind"
        " AND o.deleted = k.deleted AND o.name = k.name AND o.id = k.id)"
        * max(scopes - 1, 0)
        + beyond
        + f" AND {ADMITS}({fqn})" * names
    )


def _values(selection: Selection, state: int) -> Parameters:
    """Values for the placeholders of `_source`."""
    status = () if selection.status is None else (selection.status,)
    scopes = selection.scopes
    return (*scopes[:1], selection.kind, state, *status, *scopes[1:])


def _parameters(selection: Selection, place: Place | None) -> Parameters:
    """Values for the placeholders of `_keys`, but for its LIMIT."""
    beyond = () if place is None else (place.name, place.id)
    if len(selection.states) == 1:
        return (*_values(selection, selection.states[0]), *beyond)
    return tuple(
        value for state in selection.states for value in (*_values(selection, state), *beyond)
    )
