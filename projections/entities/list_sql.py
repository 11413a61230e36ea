"""The SQL of lists for any database: rows by ranges of indexes, and totals from counters.

Each database has its `ListSql`, which spells what the databases say differently. The text of a
statement depends on the form of a list alone and is put together once for it. While that is done,
`?` stands for a value and `{}.` for the schema of the tables.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from domain.kinds.registry import ALL_KINDS
from projections.entities.commit_changes import WHOLE_KIND
from projections.entities.cursors import Place
from projections.entities.list_port import Include, ListRequest
from projections.entities.list_selections import (
    Of,
    Parameters,
    ScopeShape,
    Selection,
    Shape,
    scope_shape,
)
from projections.entities.replaced_states import ANY_STATUS
from projections.entities.scopes import NOWHERE, Sought, former_scope, sought_scope

AFTER_ANY_ID = "~"
"""An id above those of all entities."""
_STATES = {Include.NON_DELETED: (0,), Include.DELETED: (1,), Include.ALL: (0, 1)}
"""The values of the `deleted` column that a read sees."""
_STATEMENTS = 256
"""Number of statements and selections of a database that are kept as they were put together."""

_NONE: Mapping[str, str] = MappingProxyType({})

Statement = tuple[str, Parameters]
Beyond = bool | None
"""True if a place itself is beyond it; None for no place."""


def told_place(place: Place) -> Place:
    """A place that every database can take, with the same entities before and behind it.

    `place` has a name with a NUL, which no database takes and no entity has.
    """
    # Longer names that begin with the part before the NUL come behind the place.
    return Place(place.name.partition("\0")[0], AFTER_ANY_ID)


def _text(value: str) -> str:
    """The value, or NOWHERE for one with a NUL, which no database takes."""
    return NOWHERE if "\0" in value else value


class ListSql(ABC):
    """Puts together the statements about lists, as one database spells them."""

    by_status = ""
    """Follows the table of a list that is narrowed by a status alone."""
    by_name = "kind = ? AND fqn = ?"
    """The condition on the entity with a qualified name."""
    key = "name_key(kind, fqn)"
    """The key of an entity's name in hexadecimal digits."""
    is_listed = "e.id = k.id"
    """The condition on the entity that a row of `scopes` lists."""

    limits_branches = False
    """True if the rows of each deletion state are sought up to the limit before they are merged."""

    def __init__(self) -> None:
        self._spelled = lru_cache(_STATEMENTS)(self._spell)
        self._selected = lru_cache(_STATEMENTS)(self._select)

    def name_values(self, kind: str, fqn: str) -> Parameters:
        """The values of `by_name`."""
        return kind, fqn

    @abstractmethod
    def spell(self, sql: str) -> str:
        """A statement as the database takes it."""

    def select(self, request: ListRequest, scopes: Mapping[str, str] = _NONE) -> Selection:
        """The rows of the list that a request pages through, but for its filter by names.

        `scopes` has the scopes that parameters mean, where these are known.
        """
        # Most lists have neither, and sorting nothing takes longer than the rest of this.
        filters = tuple(sorted(request.filters.items())) if request.filters else ()
        known = tuple(sorted(scopes.items())) if scopes else ()
        return self._selected(request.kind.name, request.include, request.status, filters, known)

    def holder(self, kind: str, fqn: str, *, of_now: bool) -> Statement:
        """A query for the id of the entity that has a qualified name, or had it before."""
        if of_now:
            sql = f"SELECT id FROM {{}}.entities WHERE {self.by_name}"
            return self.spell(sql), self.name_values(kind, fqn)
        sql = "SELECT id FROM {}.scopes WHERE scope = ? AND kind = ?"
        return self.spell(sql), (former_scope(fqn), kind)

    def has_scope(self, scope: str) -> Statement:
        """A query for a row if an entity is in a scope, or was in a past that is kept."""
        sql = (
            "SELECT 1 FROM {}.scopes WHERE scope = ?"
            " UNION ALL SELECT 1 FROM {}.history_scopes WHERE scope = ? LIMIT 1"
        )
        return self.spell(sql), (scope, scope)

    def kind_of(self, entity_id: str) -> Statement:
        """A query for the kind and the id of an entity."""
        return self.spell("SELECT kind, id FROM {}.entities WHERE id = ?"), (_text(entity_id),)

    def rows(
        self,
        selection: Selection,
        place: Place | None,
        limit: int,
        most_bytes: int,
        *,
        backward: bool = False,
        optional: bool,
    ) -> Statement:
        """A query for rows beyond a place, nearest first: name, id, core and,
        if they are asked for, the optional fields.

        The database may end with the row that makes them have `most_bytes` together. JSON of the
        past that was too large to be kept is empty.
        """
        beyond = place and place.inclusive
        sql = self._spelled(self._rows, selection.shape, beyond, backward, optional)
        return sql, (*self._keys_values(selection, place, limit), *self._bound(most_bytes))

    def total(self, selection: Selection) -> Statement:
        """A query for the number of entities of a list."""
        times = 1 if len(selection.scopes) < 2 else len(selection.shape.states)
        sql = self._spelled(self._total, selection.shape)
        return f"SELECT {sql}", selection.values * times

    @abstractmethod
    def rows_of(
        self, ids: Sequence[str], most_bytes: int, *, backward: bool, optional: bool
    ) -> Statement:
        """A query for rows as those of `rows`, of the entities with these ids, in this order."""

    @abstractmethod
    def rows_at(
        self,
        ids: Sequence[str],
        position: int,
        most_bytes: int,
        *,
        backward: bool,
        optional: bool,
    ) -> Statement:
        """A query for the rows of `rows_of` as the entities were at a position of the past.

        JSON that was too large to be kept is empty.
        """

    @abstractmethod
    def names_at(self, ids: Sequence[str], position: int) -> Statement:
        """A query for the ids and qualified names of entities at a position of the past."""

    @abstractmethod
    def deleted_at(self, ids: Sequence[str], position: int) -> Statement:
        """A query for the ids, among these, of entities that were soft-deleted at a position."""

    def counted(self, selection: Selection) -> Statement:
        """A query that counts rows, in place of a total that is kept."""
        values = selection.values * len(selection.shape.states)
        return f"SELECT {self._spelled(self._counted, selection.shape)}", values

    def total_at(self, selection: Selection, position: int) -> Statement:
        """A query for how many entities of a kind there were at a position of the past, in the
        states and with the status of a list, and for how many of them are purged by now.
        """
        kind, *status = selection.of_kind
        values = kind, *(status or (ANY_STATUS,)), position
        return self._spelled(self._total_at, selection.shape.states), values * (
            2 * len(selection.shape.states)
        )

    def past_of(self, selection: Selection) -> Statement:
        """A query for the newest position of a list's kind, the rows that are kept of its past, and
        the entities that are stored; the first two are NULL for a kind that was never there.

        Two columns more have the position and the time of the horizon, NULL before any commit.
        """
        return self._spelled(self._past_of, selection.shape.states), selection.of_kind[:1] * 2

    def keys(
        self, selection: Selection, place: Place | None, limit: int, *, backward: bool, fqn: bool
    ) -> Statement:
        """A query for the names and ids of a list beyond a place, nearest first.

        With `fqn` it gives the qualified names as well.
        """
        of = place and place.inclusive, backward, fqn
        return self._spelled(self._named_keys, selection.shape, *of), self._keys_values(
            selection, place, limit
        )

    def goes_on(self, selection: Selection, place: Place, *, backward: bool) -> Statement:
        """A query for whether the list has anything beyond a place, in a direction."""
        sql = self._spelled(self._goes_on, selection.shape, place.inclusive, backward)
        beyond = (*selection.values, place.name, place.id)
        return f"SELECT {sql}", beyond * len(selection.shape.states)

    def counts(self, selection: Selection) -> Statement:
        """A query for how many entities each of a list's scopes has, of any status.

        Without a scope that is how many the kind has.
        """
        states, kind = selection.shape.states, selection.of_kind[:1]
        shapes = [Shape(states, False, (scope,)) for scope in selection.shape.scopes]
        totals = [self._spelled(self._kept, shape) for shape in shapes or [Shape(states, False)]]
        values = tuple(value for given in selection.scopes or [()] for value in (*given, *kind))
        return f"SELECT {', '.join(totals)}", values

    def ended(self, selection: Selection, most: int) -> Statement:
        """A query for how many memberships of a list's first scope have ended, at most `most`."""
        sql = self._spelled(self._ended, selection.shape.scopes[0], selection.shape.states)
        return sql, (*selection.scopes[0], *selection.of_kind[:1], most)

    def _ended(self, scope: ScopeShape, states: tuple[int, ...]) -> str:
        return (
            f"SELECT count(*) FROM (SELECT 1 FROM {{}}.history_scopes WHERE"
            f" scope = {self._scope(scope)} AND kind = ?"
            f" AND deleted IN ({', '.join(map(str, states))}) LIMIT ?) ended"
        )

    def _select(
        self,
        kind: str,
        include: Include,
        status: str | None,
        filters: tuple[tuple[str, str], ...],
        known: tuple[tuple[str, str], ...],
    ) -> Selection:
        of_kind = (kind,) if status is None else (kind, _text(status))
        scopes = dict(known)
        sought = [
            Sought(otherwise=scopes[parameter])
            if parameter in scopes
            else sought_scope(ALL_KINDS[kind], parameter, value)
            for parameter, value in filters
        ]
        shape = Shape(_STATES[include], status is not None, tuple(map(scope_shape, sought)))
        return Selection(shape, of_kind, tuple(map(self._scope_values, sought)))

    def _keys_values(self, selection: Selection, place: Place | None, limit: int) -> Parameters:
        """The values of `_keys`."""
        beyond = () if place is None else (place.name, place.id)
        times = len(selection.shape.states)
        ends = (limit,) if times > 1 and self.limits_branches else ()
        return (*(*selection.values, *beyond, *ends) * times, limit)

    def _spell(self, make: Callable[..., str], *of: Any) -> str:
        return self.spell(make(*of))

    def _bound(self, most_bytes: int) -> Parameters:
        """The values by which `_rows` is bounded in bytes."""
        return ()

    @abstractmethod
    def _rows(self, shape: Shape, beyond: Beyond, backward: bool, optional: bool) -> str:
        """The SQL of `rows`, in either direction."""

    def _keys(self, shape: Shape, beyond: Beyond, backward: bool, wanted: str) -> str:
        """The names and ids of a list in order, and what else is wanted of their table `k`."""
        way = " DESC" if backward else ""
        branches = [
            f"SELECT k.name, k.id{wanted} FROM {self._source(shape, state, beyond, backward)}"
            for state in shape.states
        ]
        end = f" ORDER BY name{way}, id{way} LIMIT ?"
        if len(branches) > 1 and self.limits_branches:
            branches = [f"({branch}{end})" for branch in branches]
        return " UNION ALL ".join(branches) + end

    def _named_keys(self, shape: Shape, beyond: Beyond, backward: bool, fqn: bool) -> str:
        of_entity = f", (SELECT e.fqn FROM {{}}.entities e WHERE {self.is_listed}) AS fqn"
        wanted = (of_entity if shape.scopes else ", k.fqn") if fqn else ""
        return self._keys(shape, beyond, backward, wanted)

    def _total(self, shape: Shape) -> str:
        """Return the SQL of the number of entities of a list."""
        if len(shape.scopes) < 2:
            return self._kept(shape)
        return self._counted(shape)

    def _counted(self, shape: Shape) -> str:
        parts = [f"(SELECT count(*) FROM {self._source(shape, each)})" for each in shape.states]
        return f"({' + '.join(parts)})"

    def _past_of(self, states: tuple[int, ...]) -> str:
        stored = self._kept(Shape(states, False))
        return (
            f"SELECT max(position), CAST(sum(n) AS int8), {stored},"
            " (SELECT horizon FROM {}.checkpoint), (SELECT horizon_at FROM {}.checkpoint)"
            " FROM {}.pasts WHERE kind = ?"
        )

    def _total_at(self, states: tuple[int, ...]) -> str:
        of = "kind = ? AND deleted = {} AND status = ? AND position <= ?"
        then = f"SELECT n FROM {{}}.kind_totals WHERE {of} ORDER BY position DESC LIMIT 1"
        gone = f"SELECT CAST(sum(n) AS int8) FROM {{}}.forgotten WHERE {of}"
        sums = (
            " + ".join(f"coalesce(({sql.format('{}', state)}), 0)" for state in states)
            for sql in (then, gone)
        )
        return f"SELECT {', '.join(sums)}"

    def _kept(self, shape: Shape) -> str:
        """Return the SQL of the number of entities of a list whose number is kept."""
        scope = self._scope(shape.scopes[0]) if shape.scopes else f"'{WHOLE_KIND}'"
        states = ", ".join(map(str, shape.states))
        return (
            f"(SELECT CAST(coalesce(sum(n), 0) AS int8) FROM {{}}.counters WHERE scope = {scope}"
            f" AND kind = ? AND deleted IN ({states}){' AND status = ?' * shape.status})"
        )

    def _goes_on(self, shape: Shape, inclusive: bool, backward: bool) -> str:
        parts = [
            f"EXISTS (SELECT 1 FROM {self._source(shape, state, inclusive, backward)})"
            for state in shape.states
        ]
        return f"({' OR '.join(parts)})"

    def _scope(self, shape: ScopeShape) -> str:
        """An expression for a scope: of the first entity that exists, or of the first label."""
        lookup = (
            f"(SELECT '{shape.prefix}' || {self.key if shape.keyed else 'id'}"
            " FROM {}.entities WHERE "
        )
        by_names, by_former, by_id = (
            [f"{lookup}{self.by_name})"] * shape.names,
            [f"{lookup}id = (SELECT f.id FROM {{}}.scopes f WHERE f.scope = ? AND f.kind = ?))"]
            * shape.names,
            [f"{lookup}id = ?)"] * shape.by_id,
        )
        by_label = ["(SELECT l.scope FROM {}.scopes l WHERE l.scope = ? LIMIT 1)"] * shape.labels
        scopes = (*by_names, *by_former, *by_id, *by_label, "CAST(? AS text)")
        return f"coalesce({', '.join(scopes)})" if len(scopes) > 1 else scopes[0]

    def _scope_values(self, sought: Sought) -> Parameters:
        """The values of `_scope`."""
        keys = [value for named in sought.names for value in self.name_values(*named)]
        formers = [value for kind, fqn in sought.names for value in (former_scope(fqn), kind)]
        ids = () if sought.entity_id is None else (sought.entity_id,)
        return (*keys, *formers, *ids, *sought.labels, _text(sought.otherwise))

    def _source(
        self, shape: Shape, state: int, beyond: Beyond = None, backward: bool = False
    ) -> str:
        """FROM and WHERE of the rows in one deletion state; `k` is the table with the sort key.

        Conditions that take long come last, for SQLite evaluates conditions in this order.
        """
        ended = shape.of is Of.ENDED
        if shape.scopes:
            table = "history_scopes" if ended else "scopes"
            sql = f"{{}}.{table} k WHERE k.scope = {self._scope(shape.scopes[0])} AND"
        elif ended:
            sql = "{}.history k WHERE"
        else:
            sql = f"{{}}.entities k{self.by_status * shape.status} WHERE"
        sql += f" k.kind = ? AND k.deleted = {state}" + " AND k.status = ?" * shape.status
        if ended:
            sql += " AND k.since <= ? AND k.until > ?"
        elif shape.of is Of.CURRENT:
            sql += f" AND k.{'since' if shape.scopes else 'position'} <= ?"
        if shape.has_end:
            sql += f" AND (k.name, k.id) {'>=' if backward else '<='} (?, ?)"
        for scope in shape.scopes[1:]:
            sql += f" AND {self._also_in(scope, is_past=shape.of is not Of.NOW)}"
        if beyond is not None:
            sql += f" AND (k.name, k.id) {'<' if backward else '>'}{'=' * beyond} (?, ?)"
        return sql

    def _also_in(self, scope: ScopeShape, *, is_past: bool) -> str:
        """The condition that the entity of a row `k` is in another scope as well."""
        member = (
            f"EXISTS (SELECT 1 FROM {{}}.{{table}} o WHERE o.scope = {self._scope(scope)}"
            " AND o.kind = k.kind AND o.deleted = k.deleted AND o.name = k.name"
            " AND o.id = k.id{then})"
        )
        if not is_past:
            return member.replace("{table}", "scopes").replace("{then}", "")
        still = member.replace("{table}", "scopes").replace("{then}", " AND o.since <= ?")
        ended = member.replace("{table}", "history_scopes").replace(
            "{then}", " AND o.since <= ? AND o.until > ?"
        )
        return f"({still} OR {ended})"
