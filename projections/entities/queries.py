"""Reads of the sorted read model: pages of a list, single entities, documents by id."""

import sqlite3
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from typing import Any

import msgspec

from domain.errors import InvalidInput, NotFound
from domain.events import Body
from domain.kinds import EntityKind
from projections.entities.cursors import Place, decode, encode
from projections.entities.projection import WHOLE_KIND
from projections.entities.store import EntityStore, errors_told

STREAM_FROM = 2_000
"""Pages with more items than this are streamed rather than held in memory."""
_CHUNK_BYTES = 256 * 1024
_NOWHERE = "-"
"""A scope that no entity has: the filter names something that does not exist."""

_to_keys = msgspec.json.Decoder(Body)


class Include(StrEnum):
    """Which entities a read sees, by deletion state."""

    NON_DELETED = "non-deleted"
    DELETED = "deleted"
    ALL = "all"

    @property
    def states(self) -> tuple[int, ...]:
        """Values of the `deleted` column."""
        return _STATES[self]


_STATES = {Include.NON_DELETED: (0,), Include.DELETED: (1,), Include.ALL: (0, 1)}


class ListRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One page of a list."""

    kind: EntityKind
    limit: int
    fields: tuple[str, ...] = ()
    before: str | None = None
    after: str | None = None
    include: Include = Include.NON_DELETED
    status: str | None = None
    filters: Mapping[str, str] = {}
    """List parameter -> id or qualified name, as the kind's filters take them."""

    @property
    def identity(self) -> str:
        """What a cursor of this list is bound to."""
        narrowed = sorted(self.filters.items())
        return repr((self.kind.name, self.include.value, self.status, narrowed))


class _Selection(msgspec.Struct, frozen=True):
    """The rows of a list: deletion states, status and scopes, the narrowest scope first."""

    kind: str
    states: tuple[int, ...]
    status: str | None
    scopes: tuple[str, ...]


class Page(msgspec.Struct, frozen=True):
    """A page as finished bytes: in one chunk, or streamed in many."""

    chunks: Generator[bytes]
    streamed: bool

    def close(self) -> None:
        """Let go of the snapshot that a streamed page reads."""
        self.chunks.close()


def list_page(store: EntityStore, request: ListRequest) -> Page:
    """The envelope of one page; raises InvalidInput for a cursor of another list.

    A streamed page reads one snapshot on a connection of its own until its chunks are used up
    or closed.
    """
    if request.before and request.after:
        raise InvalidInput("only one of before and after may be given")
    cursor = request.before or request.after
    place = None
    if cursor:
        place = decode(cursor, request.identity, backward=bool(request.before))
    if request.limit > STREAM_FROM:
        return Page(_streamed(store, request, place), streamed=True)
    with errors_told(), _snapshot(store.connection) as connection:
        body = _page(connection, request, place)
    return Page((chunk for chunk in (body,)), streamed=False)


@contextmanager
def _snapshot(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """One consistent state of the file for all statements inside."""
    connection.execute("BEGIN")
    try:
        yield connection
    finally:
        connection.execute("COMMIT")


def _page(connection: sqlite3.Connection, request: ListRequest, place: Place | None) -> bytes:
    selection = _select(connection, request)
    total = _total(connection, selection)
    if request.limit == 0:
        return b'{"data":[],"paging":{"total":%d}}' % total
    backward = bool(request.before)
    sql, parameters = _range(selection, request, place, backward=backward)
    rows = connection.execute(sql, (*parameters, request.limit + 1)).fetchall()
    more = len(rows) > request.limit
    rows = rows[: request.limit]
    if backward:
        rows.reverse()
    first = Place(rows[0][0], rows[0][1]) if rows else None
    last = Place(rows[-1][0], rows[-1][1]) if rows else None
    paging = _paging(connection, selection, request, place, (first, last), more, total)
    return b'{"data":[%b],"paging":%b}' % (b",".join(_items(request, rows)), paging)


def _streamed(store: EntityStore, request: ListRequest, place: Place | None) -> Generator[bytes]:
    """The same envelope in chunks of bounded size, from one snapshot."""
    with errors_told():
        connection = store.connect()
        # A scan of everything through a memory map would count as this process's memory.
        connection.execute("PRAGMA mmap_size=0")
    try:
        with errors_told(), _snapshot(connection):
            selection = _select(connection, request)
            total = _total(connection, selection)
            backward = bool(request.before)
            sql, parameters = _range(selection, request, place, backward=backward)
            if backward:
                # The nearest items before the place, shown in ascending order.
                sql = f"SELECT * FROM ({sql}) ORDER BY name, id"
            rows = connection.execute(sql, (*parameters, request.limit))
            first = last = None
            size, chunk = 0, [b'{"data":[']
            while batch := rows.fetchmany(500):
                separator = b"" if first is None else b","
                first = first or Place(batch[0][0], batch[0][1])
                last = Place(batch[-1][0], batch[-1][1])
                chunk.append(separator + b",".join(_items(request, batch)))
                size += len(chunk[-1])
                if size >= _CHUNK_BYTES:
                    yield b"".join(chunk)
                    size, chunk = 0, []
            edge = first if backward else last
            more = edge is not None and _exists(connection, selection, edge, backward=backward)
            ends = (first, last)
            paging = _paging(connection, selection, request, place, ends, more, total)
            chunk.append(b'],"paging":%b}' % paging)
            yield b"".join(chunk)
    finally:
        connection.close()


def _select(connection: sqlite3.Connection, request: ListRequest) -> _Selection:
    """Resolve the request's filters to scopes, the one with fewest entities first."""
    kind = request.kind
    scopes = [
        value if kind.filters_by_id else _scope(connection, kind, parameter, value)
        for parameter, value in sorted(request.filters.items())
    ]
    selection = _Selection(kind.name, request.include.states, request.status, ())
    if len(scopes) > 1:
        scopes.sort(key=lambda scope: _counted(connection, selection, scope))
    return msgspec.structs.replace(selection, scopes=tuple(scopes)) if scopes else selection


def _scope(connection: sqlite3.Connection, kind: EntityKind, parameter: str, fqn: str) -> str:
    """The id of the entity that a filter names, among the kinds that its key refers to."""
    key = kind.filters[parameter]
    kinds = next(kind.references[name] for name, k in kind.key_of.items() if k == key)
    for referred in kinds:
        found = connection.execute(
            "SELECT id FROM entities WHERE kind = ? AND fqn = ?", (referred, fqn)
        ).fetchone()
        if found is not None:
            return str(found[0])
    return _NOWHERE


def _counted(connection: sqlite3.Connection, selection: _Selection, scope: str) -> int:
    """How many entities a scope holds, from the counters."""
    marks = ",".join("?" * len(selection.states))
    sql = f"SELECT sum(n) FROM counters WHERE kind = ? AND scope = ? AND deleted IN ({marks})"
    parameters: tuple[Any, ...] = (selection.kind, scope, *selection.states)
    if selection.status is not None:
        sql, parameters = sql + " AND status = ?", (*parameters, selection.status)
    return connection.execute(sql, parameters).fetchone()[0] or 0


def _total(connection: sqlite3.Connection, selection: _Selection) -> int:
    """The number of entities in the list; counted one by one only under several filters."""
    if len(selection.scopes) < 2:
        scope = selection.scopes[0] if selection.scopes else WHOLE_KIND
        return _counted(connection, selection, scope)
    total = 0
    for state in selection.states:
        source, parameters = _source(selection, state)
        total += connection.execute(f"SELECT count(*) {source}", parameters).fetchone()[0]
    return total


def _source(selection: _Selection, state: int) -> tuple[str, tuple[Any, ...]]:
    """FROM and WHERE of the rows in one deletion state; `k` is the table with the sort key."""
    if not selection.scopes:
        if selection.status is None:
            return "FROM entities k WHERE kind = ? AND deleted = ?", (selection.kind, state)
        return (
            "FROM entities k INDEXED BY entities_by_status"
            " WHERE kind = ? AND deleted = ? AND status = ?",
            (selection.kind, state, selection.status),
        )
    scope, *others = selection.scopes
    sql = "FROM scopes k WHERE scope = ? AND kind = ? AND deleted = ?"
    parameters: tuple[Any, ...] = (scope, selection.kind, state)
    if selection.status is not None:
        sql, parameters = sql + " AND status = ?", (*parameters, selection.status)
    for other in others:
        sql += (
            " AND EXISTS (SELECT 1 FROM scopes o WHERE o.scope = ? AND o.kind = k.kind"
            " AND o.deleted = k.deleted AND o.name = k.name AND o.id = k.id)"
        )
        parameters = (*parameters, other)
    return sql, parameters


def _keys(
    selection: _Selection, place: Place | None, *, backward: bool
) -> tuple[str, tuple[Any, ...]]:
    """The list's sort keys beyond a place; the caller adds the value of the final LIMIT."""
    compare = ("<" if backward else ">") + ("=" if place and place.inclusive else "")
    order = "DESC" if backward else "ASC"
    parts: list[str] = []
    parameters: tuple[Any, ...] = ()
    for state in selection.states:
        source, values = _source(selection, state)
        if place is not None:
            source, values = (
                f"{source} AND (name, id) {compare} (?, ?)",
                (
                    *values,
                    place.name,
                    place.id,
                ),
            )
        parts.append(f"SELECT name, id, deleted {source}")
        parameters += values
    return f"{' UNION ALL '.join(parts)} ORDER BY name {order}, id {order} LIMIT ?", parameters


def _range(
    selection: _Selection, request: ListRequest, place: Place | None, *, backward: bool
) -> tuple[str, tuple[Any, ...]]:
    """The rows (name, id, core, optional) of a page; the caller adds the value of LIMIT."""
    keys, parameters = _keys(selection, place, backward=backward)
    wanted = "core, optional" if request.fields else "core, NULL"
    if not selection.scopes:
        # The keys are in the rows themselves: range scans, merged when there are two.
        return keys.replace("SELECT name, id, deleted", f"SELECT name, id, {wanted}"), parameters
    order = "DESC" if backward else "ASC"
    return (
        f"SELECT e.name AS name, e.id AS id, {wanted} FROM ({keys}) p JOIN entities e"
        f" ON e.kind = '{selection.kind}' AND e.deleted = p.deleted"
        f" AND e.name = p.name AND e.id = p.id ORDER BY p.name {order}, p.id {order}"
    ), parameters


def _exists(
    connection: sqlite3.Connection,
    selection: _Selection,
    place: Place,
    *,
    backward: bool,
) -> bool:
    """Whether the list goes on beyond a place."""
    sql, parameters = _keys(selection, place, backward=backward)
    return connection.execute(sql, (*parameters, 1)).fetchone() is not None


def _paging(
    connection: sqlite3.Connection,
    selection: _Selection,
    request: ListRequest,
    place: Place | None,
    ends: tuple[Place | None, Place | None],
    more: bool,
    total: int,
) -> bytes:
    """The paging object: a cursor for each side on which there is something.

    `more` says whether there is something further in the direction of travel. A page that
    concurrent deletes have emptied leads back from the place of its own cursor.
    """
    first, last = ends
    backward = bool(request.before)
    paging: dict[str, Any] = {"total": total}
    behind = last if backward else first
    if behind is None and place is not None:
        behind = Place(place.name, place.id, inclusive=True)
    turned = (
        place is not None
        and behind is not None
        and _exists(connection, selection, behind, backward=not backward)
    )
    before, after = (more, turned) if backward else (turned, more)
    if before and (start := first or behind):
        paging["before"] = encode(start, request.identity, backward=True)
    if after and (end := last or behind):
        paging["after"] = encode(end, request.identity, backward=False)
    return msgspec.json.encode(paging)


def _items(request: ListRequest, rows: Sequence[tuple[Any, ...]]) -> list[bytes]:
    """The finished items of rows (name, id, core, optional)."""
    if not request.fields:
        return [row[2] for row in rows]
    return [_with_fields(request.kind, row[2], row[3], request.fields) for row in rows]


def _with_fields(
    kind: EntityKind,
    core: bytes,
    optional: bytes,
    fields: Iterable[str],
    large: Iterable[str] = (),
) -> bytes:
    """The core with optional fields spliced in.

    Of `fields` an absent array shows as []; those of `large` show when they are there.
    """
    held = _to_keys.decode(optional)
    wanted: dict[str, Any] = {field: held[field] for field in large if field in held}
    for field in fields:
        if field in held:
            wanted[field] = held[field]
        elif field in kind.arrays:
            wanted[field] = []
    if not wanted:
        return core
    return core[:-1] + b"," + msgspec.json.encode(wanted)[1:]


def read_one(
    store: EntityStore,
    kind: EntityKind,
    *,
    entity_id: str | None = None,
    fqn: str | None = None,
    fields: Iterable[str] = (),
    include: Include = Include.NON_DELETED,
) -> tuple[bytes, int]:
    """The entity's JSON with its large fields and those asked for, and its position.

    Raises NotFound when there is none, or none in the deletion state asked for.
    """
    column, value = ("id", entity_id) if entity_id is not None else ("fqn", fqn)
    with errors_told():
        row = store.connection.execute(
            f"SELECT core, optional, deleted, position FROM entities"
            f" WHERE kind = ? AND {column} = ?",
            (kind.name, value),
        ).fetchone()
    if row is None or row[2] not in include.states:
        raise NotFound(f"{kind.name} instance for {value} not found")
    return _with_fields(kind, row[0], row[1], fields, large=kind.large), row[3]


def read_documents(store: EntityStore, entity_ids: Iterable[str]) -> dict[str, bytes]:
    """Whole documents (every field that is there) by id; ids that are not there are left out."""
    found: dict[str, bytes] = {}
    with errors_told():
        for entity_id in entity_ids:
            row = store.connection.execute(
                "SELECT core, optional FROM entities WHERE id = ?", (entity_id,)
            ).fetchone()
            if row is not None:
                core, optional = row
                found[entity_id] = core if optional == b"{}" else core[:-1] + b"," + optional[1:]
    return found
