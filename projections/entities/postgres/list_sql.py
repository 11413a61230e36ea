"""Which rows a list shows, as SQL for PostgreSQL: ranges of indexes, and totals from counters.

In all of it `{}` stands for the schema of the generation. A list that is narrowed to the scope of
one entity says which one in front of the statement, since a caller may give its name.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import msgspec

from domain.kinds.names import name_key
from projections.entities.commit_changes import WHOLE_KIND
from projections.entities.cursors import Place
from projections.entities.port import Include, ListRequest
from projections.entities.scopes import NOWHERE, Sought

_AFTER_ANY_ID = "~"
"""An id above those of all entities."""
_STATES = {Include.NON_DELETED: (0,), Include.DELETED: (1,), Include.ALL: (0, 1)}
"""The values of the `deleted` column that a read sees."""

_SHAPES = 256
"""How many statements are kept as they were put together."""

Parameters = tuple[Any, ...]
Statement = tuple[str, Parameters]


class ScopeShape(msgspec.Struct, frozen=True):
    """How a scope is found, but for the values by which it is."""

    prefix: str
    """Stands before the rest of the scope of an entity that is found."""
    keyed: bool
    """Whether the rest of the scope is the key of the entity's name, rather than its id."""
    names: int
    """By how many names an entity is looked up."""
    by_id: bool
    """Whether an entity is looked up by its id."""


class Shape(msgspec.Struct, frozen=True):
    """What the SQL for a list depends on, and its values do not."""

    states: tuple[int, ...]
    status: bool
    scopes: tuple[ScopeShape, ...]


class Selection(msgspec.Struct, frozen=True):
    """The rows of a list."""

    shape: Shape
    scopes: tuple[Parameters, ...]
    """The values by which each scope is found; see `_scope`."""
    rest: Parameters
    """The kind, and the status if one is asked for."""

    @property
    def found_by_keys(self) -> bool:
        """Whether an index finds the rows, so that none is passed over."""
        return not self.scopes or len(self.scopes) + self.shape.status < 2

    @property
    def values(self) -> Parameters:
        """The values of `_source`, but for a place."""
        values = (*self.scopes[0], *self.rest) if self.scopes else self.rest
        for scope in self.scopes[1:]:
            values += scope
        return values


def select(request: ListRequest) -> Selection:
    """The rows of the list that a request pages through, but for its filter by names."""
    sought = request.sought
    status = () if request.status is None else (_text(request.status),)
    shape = Shape(_STATES[request.include], bool(status), tuple(map(_shape, sought)))
    return Selection(shape, tuple(map(_found_by, sought)), (request.kind.name, *status))


def _shape(sought: Sought) -> ScopeShape:
    by_id = sought.entity_id is not None
    return ScopeShape(sought.prefix, sought.keyed, len(sought.names), by_id)


def _found_by(sought: Sought) -> Parameters:
    """The values of `_scope`."""
    keys = [name_key(*named) for named in sought.names]
    ids = () if sought.entity_id is None else (sought.entity_id,)
    return (*keys, *ids, _text(sought.otherwise))


def place_of(place: Place | None) -> Place | None:
    """A place that PostgreSQL can be told, with the same entities on each of its sides."""
    if place is None or "\0" not in place.name:
        return place
    # No name has the character: those that begin with what is before it come behind the place.
    return Place(place.name.partition("\0")[0], _AFTER_ANY_ID)


def _text(value: str) -> str:
    """A value that no entity has, in place of one that PostgreSQL cannot be told."""
    return NOWHERE if "\0" in value else value


def page(
    selection: Selection,
    place: Place | None,
    limit: int,
    most_bytes: int,
    *,
    backward: bool,
    optional: bool,
) -> Statement:
    """A query for a list's total, whether it goes on behind a place, and the rows beyond that.

    The first two stand in each row, and the others, which are those of `rows`, are NULL without any
    row. For a limit of 0 there is none.
    """
    given = selection.values
    beyond = given if place is None else (*given, place.name, place.id)
    times = len(selection.shape.states)
    values = given * (1 if len(selection.scopes) < 2 else times)
    if limit:
        values += beyond * times if place is not None else ()
        values += (*beyond, limit) * times + ((limit,) if times > 1 else ()) + (most_bytes,)
    sql = _page_sql(selection.shape, place and (place.inclusive,), bool(limit), backward, optional)
    return sql, values


def rows(
    selection: Selection,
    place: Place | None,
    limit: int,
    most_bytes: int,
    *,
    backward: bool,
    optional: bool,
) -> Statement:
    """A query for (name, id, core, optional or NULL) of a list beyond a place, nearest first.

    It ends with the row that makes the rows have `most_bytes`.
    """
    sql = _rows_sql(selection.shape, place and (place.inclusive,), backward, optional)
    return sql, (*_keys_values(selection, place, limit), most_bytes)


def rows_of(ids: Sequence[str], most_bytes: int, *, backward: bool, optional: bool) -> Statement:
    """As `rows`, of the entities with these ids."""
    sql = f"(SELECT name, id, core, {_OPTIONAL[optional]}"
    sql += f" FROM {{}}.entities k WHERE id = ANY (%b::text[]) ORDER BY {_order(backward)})"
    return _bounded(sql, backward, optional), ([*ids], most_bytes)


def keys(
    selection: Selection, place: Place | None, limit: int, *, backward: bool, wanted: str = ""
) -> Statement:
    """A query for the names and ids of a list beyond a place, nearest first.

    `wanted` are more columns of the table that has them.
    """
    sql = _keys_sql(selection.shape, place and (place.inclusive,), backward, wanted)
    return sql, _keys_values(selection, place, limit)


def goes_on(selection: Selection, place: Place, *, backward: bool) -> Statement:
    """A query for whether the list has anything beyond a place, in a direction."""
    sql = _goes_on_sql(selection.shape, place.inclusive, backward)
    beyond = (*selection.values, place.name, place.id)
    return f"SELECT {sql}", beyond * len(selection.shape.states)


def narrowest(selection: Selection) -> Statement:
    """A query for how many entities the narrowest of a list's scopes has, of any status."""
    states, kind = selection.shape.states, selection.rest[:1]
    shapes = [Shape(states, False, (scope,)) for scope in selection.shape.scopes]
    totals = [_total_sql(shape) for shape in shapes or [Shape(states, False, ())]]
    values = tuple(value for given in selection.scopes or [()] for value in (*given, *kind))
    return f"SELECT least({', '.join(totals)})", values


def _keys_values(selection: Selection, place: Place | None, limit: int) -> Parameters:
    beyond = () if place is None else (place.name, place.id)
    times = len(selection.shape.states)
    return (*selection.values, *beyond, limit) * times + ((limit,) if times > 1 else ())


Beyond = tuple[bool] | None
"""Whether a place itself is beyond it; None for no place."""
_OPTIONAL = {False: "NULL::bytea AS optional", True: "optional"}
_SIZE = {False: "octet_length(core)", True: "octet_length(core) + octet_length(optional)"}


@lru_cache(_SHAPES)
def _page_sql(shape: Shape, beyond: Beyond, any_rows: bool, backward: bool, optional: bool) -> str:
    total = _total_sql(shape) if len(shape.scopes) < 2 else _counted_sql(shape)
    behind, found = "false", "SELECT NULL, NULL, NULL, NULL WHERE false"
    if any_rows:
        found = _rows_sql(shape, beyond, backward, optional)
        if beyond is not None:
            behind = _goes_on_sql(shape, not beyond[0], not backward)
    return f"SELECT m.*, p.* FROM (SELECT {total}, {behind}) m LEFT JOIN ({found}) p ON true"


@lru_cache(_SHAPES)
def _rows_sql(shape: Shape, beyond: Beyond, backward: bool, optional: bool) -> str:
    if not shape.scopes:
        wanted = f", k.core, {'k.' if optional else ''}{_OPTIONAL[optional]}"
        sql = _keys_sql(shape, beyond, backward, wanted)
    else:
        sql = (
            f"(SELECT k.name, k.id, e.core, {'e.' if optional else ''}{_OPTIONAL[optional]}"
            f" FROM {_keys_sql(shape, beyond, backward, '')} k"
            f" JOIN {{}}.entities e ON e.id = k.id ORDER BY {_order(backward)})"
        )
    return _bounded(sql, backward, optional)


@lru_cache(_SHAPES)
def _keys_sql(shape: Shape, beyond: Beyond, backward: bool, wanted: str) -> str:
    order = _order(backward)
    # Each branch is limited, so that none reads all of its rows.
    branches = [
        f"(SELECT k.name, k.id{wanted} FROM {_source(shape, state)}"
        f"{_beyond(beyond, backward)} ORDER BY {order} LIMIT %b)"
        for state in shape.states
    ]
    if len(branches) == 1:
        return branches[0]
    return f"(SELECT * FROM ({' UNION ALL '.join(branches)}) k ORDER BY {order} LIMIT %b)"


def _bounded(sql: str, backward: bool, optional: bool) -> str:
    order = _order(backward).replace("k.", "")
    return (
        "SELECT name, id, core, optional FROM ("
        f"SELECT *, sum(size) OVER (ORDER BY {order} ROWS UNBOUNDED PRECEDING) - size AS before"
        f" FROM (SELECT *, {_SIZE[optional]} AS size FROM {sql} r) sized) summed"
        " WHERE before < %b"
    )


def _total_sql(shape: Shape) -> str:
    """How many entities a list has of which that is kept."""
    scope = _scope(shape.scopes[0]) if shape.scopes else f"'{WHOLE_KIND}'"
    states = ", ".join(map(str, shape.states))
    return (
        f"(SELECT coalesce(sum(n), 0)::int8 FROM {{}}.counters WHERE scope = {scope}"
        f" AND kind = %b AND deleted IN ({states}){' AND status = %b' * shape.status})"
    )


def _counted_sql(shape: Shape) -> str:
    """How many entities a list has, which are counted one by one."""
    parts = [f"(SELECT count(*) FROM {_source(shape, state)})" for state in shape.states]
    return f"({' + '.join(parts)})"


def _goes_on_sql(shape: Shape, inclusive: bool, backward: bool) -> str:
    beyond = _beyond((inclusive,), backward)
    parts = [f"EXISTS (SELECT FROM {_source(shape, state)}{beyond})" for state in shape.states]
    return f"({' OR '.join(parts)})"


def _order(backward: bool) -> str:
    return "k.name DESC, k.id DESC" if backward else "k.name, k.id"


def _beyond(beyond: Beyond, backward: bool) -> str:
    if beyond is None:
        return ""
    return f" AND (k.name, k.id) {'<' if backward else '>'}{'=' * beyond[0]} (%b, %b)"


def _scope(shape: ScopeShape) -> str:
    """An expression for a scope, of the entity that is found first."""
    rest = "encode(fqn_key, 'hex')" if shape.keyed else "id"
    lookup = f"(SELECT '{shape.prefix}' || {rest} FROM {{}}.entities WHERE "
    by_names, by_id = [f"{lookup}fqn_key = %b)"] * shape.names, [f"{lookup}id = %b)"] * shape.by_id
    return f"coalesce({', '.join((*by_names, *by_id, '%b::text'))})"


def _source(shape: Shape, state: int) -> str:
    """FROM and WHERE of the rows in one deletion state; `k` is the table with the sort key."""
    sql = "{}.entities k WHERE"
    if shape.scopes:
        sql = f"{{}}.scopes k WHERE k.scope = {_scope(shape.scopes[0])} AND"
    sql += f" k.kind = %b AND k.deleted = {state}" + " AND k.status = %b" * shape.status
    for scope in shape.scopes[1:]:
        sql += (
            f" AND EXISTS (SELECT FROM {{}}.scopes o WHERE o.scope = {_scope(scope)}"
            " AND o.kind = k.kind AND o.deleted = k.deleted AND o.name = k.name AND o.id = k.id)"
        )
    return sql
