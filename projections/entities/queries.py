"""Reads of the sorted read model: pages of a list, single entities, documents by id."""

import sqlite3
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence

import msgspec

from domain.errors import InvalidInput, NotFound
from domain.kinds import EntityKind
from projections.entities import selection
from projections.entities.cursors import Place, decode, encode
from projections.entities.items import with_fields
from projections.entities.selection import Include, Selection
from projections.entities.store import EntityStore, sqlite_errors

MOST_ROWS, MOST_BYTES = 2_000, 1024 * 1024
"""What `list_page` reads at most: some milliseconds of work, and memory that many can ask for."""
MOST_CUT_BYTES = 256 * 1024
"""The same where something is cut from each item, which must be decoded for that."""
_CHUNK_BYTES = 256 * 1024


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
    cut: Callable[[bytes], bytes] | None = None
    """What becomes of each item's JSON before it is shown; None: nothing."""

    @property
    def backward(self) -> bool:
        """Whether the page lies before its cursor."""
        return bool(self.before)

    @property
    def identity(self) -> str:
        """What a cursor of this list is bound to."""
        narrowed = sorted(self.filters.items())
        return f"{self.kind.name} {self.include.value} {self.status} {narrowed}"


Row = tuple[str, str, bytes, bytes | None]
"""Name, id, core and, when fields are wanted, optional."""


class PageTakesLong(Exception):
    """More must be read for a page than `list_page` reads: `stream_page` makes it."""


def list_page(store: EntityStore, request: ListRequest) -> bytes:
    """The envelope of one page, within milliseconds.

    Raises InvalidInput for a cursor of another list, and PageTakesLong.
    """
    place = _place(request)
    if request.limit > MOST_ROWS:
        raise PageTakesLong
    with sqlite_errors():
        connection = store.connection
        # One consistent state of the file for all statements.
        connection.execute("BEGIN")
        try:
            return _page(connection, request, place)
        finally:
            connection.execute("COMMIT")


def _place(request: ListRequest) -> Place | None:
    """The place of the request's cursor, if it has one."""
    if request.before and request.after:
        raise InvalidInput("only one of before and after may be given")
    cursor = request.before or request.after
    return decode(cursor, request.identity, backward=request.backward) if cursor else None


def _select(connection: sqlite3.Connection, request: ListRequest) -> Selection:
    return selection.select(
        connection, request.kind, request.include, request.status, request.filters
    )


def _page(connection: sqlite3.Connection, request: ListRequest, place: Place | None) -> bytes:
    selected = _select(connection, request)
    if selection.passed_over(connection, selected) > MOST_ROWS:
        raise PageTakesLong
    total = selection.count(connection, selected)
    limit, backward = request.limit, request.backward
    if limit == 0:
        return _only(total)
    sql, parameters = selection.rows(
        selected, place, backward=backward, optional=bool(request.fields)
    )
    most = MOST_BYTES if request.cut is None else MOST_CUT_BYTES
    rows: list[Row] = []
    size = 0
    found = connection.execute(sql, (*parameters, limit + 1))
    for row in found:
        rows.append(row)
        size += len(row[2]) if row[3] is None else len(row[2]) + len(row[3])
        if size > most:
            # Its snapshot would outlive the transaction.
            found.close()
            raise PageTakesLong
    more = len(rows) > limit
    if more:
        rows.pop()
    if backward:
        rows.reverse()
    ends = (_place_of(rows[0]), _place_of(rows[-1])) if rows else None
    paging = _paging(connection, selected, request, place, ends, more)
    items = b",".join(_items(request, rows))
    return b"".join((b'{"data":[', items, b'],"paging":{"total":%d%b}}' % (total, paging)))


def _only(total: int) -> bytes:
    return b'{"data":[],"paging":{"total":%d}}' % total


def stream_page(store: EntityStore, request: ListRequest) -> Generator[bytes]:
    """The same envelope in chunks, of any page; no more is held than a chunk, or an item.

    The first `next` raises InvalidInput as `list_page` does. It reads one snapshot, on a
    connection of its own, until the chunks are used up or the generator is closed.
    """
    place = _place(request)
    with sqlite_errors():
        connection = store.connect()
        # A scan of everything through a memory map would count as this process's memory.
        connection.execute("PRAGMA mmap_size=0")
        connection.execute("BEGIN")
    try:
        with sqlite_errors():
            yield from _chunks(connection, request, place)
    finally:
        connection.close()


def _chunks(
    connection: sqlite3.Connection, request: ListRequest, place: Place | None
) -> Generator[bytes]:
    selected = _select(connection, request)
    total = selection.count(connection, selected)
    if request.limit == 0:
        yield _only(total)
        return
    backward = request.backward
    start, limit = place, request.limit
    if backward:
        # Read in the order shown: a sorter would hold the whole page.
        start, limit = selection.beginning(connection, selected, place, limit) or (place, 0)
    sql, parameters = selection.rows(selected, start, backward=False, optional=bool(request.fields))
    ends = None
    chunk = [b'{"data":[']
    for batch in _batches(connection.execute(sql, (*parameters, limit))):
        if ends:
            yield b"".join(chunk)
            chunk = [b","]
        chunk.append(b",".join(_items(request, batch)))
        ends = (ends[0] if ends else _place_of(batch[0]), _place_of(batch[-1]))
    more = ends is not None and selection.goes_on(
        connection, selected, ends[0] if backward else ends[1], backward=backward
    )
    paging = _paging(connection, selected, request, place, ends, more)
    chunk.append(b'],"paging":{"total":%d%b}}' % (total, paging))
    yield b"".join(chunk)


def _batches(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """The rows in lists of some bytes together."""
    batch: list[Row] = []
    size = 0
    for row in rows:
        batch.append(row)
        size += len(row[2]) + len(row[3] or b"")
        if size >= _CHUNK_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _place_of(row: Row) -> Place:
    return Place(row[0], row[1])


def _paging(
    connection: sqlite3.Connection,
    selected: Selection,
    request: ListRequest,
    place: Place | None,
    ends: tuple[Place, Place] | None,
    more: bool,
) -> bytes:
    """The members `before` and `after`, each where there is something on that side.

    `more` says whether there is something further in the direction of travel. A page that
    concurrent deletes have emptied leads back from the place of its own cursor.
    """
    backward, identity = request.backward, request.identity
    behind = more_behind = None
    if place is not None:
        behind = ends[backward] if ends else Place(place.name, place.id, inclusive=True)
        more_behind = selection.goes_on(connection, selected, behind, backward=not backward)
    paging = b""
    if more_behind if not backward else more:
        before = ends[0] if ends else behind
        assert before is not None
        paging += b',"before":"%b"' % encode(before, identity, backward=True)
    if more if not backward else more_behind:
        after = ends[1] if ends else behind
        assert after is not None
        paging += b',"after":"%b"' % encode(after, identity, backward=False)
    return paging


def _items(request: ListRequest, rows: Sequence[Row]) -> list[bytes]:
    """The finished items of rows."""
    if request.fields:
        items = [with_fields(request.kind, row[2], row[3] or b"{}", request.fields) for row in rows]
    else:
        items = [row[2] for row in rows]
    return items if request.cut is None else [*map(request.cut, items)]


class Found(msgspec.Struct, frozen=True):
    """An entity that was read."""

    body: bytes
    version: str
    """Its decimal version."""
    position: int
    """Of its last event in the log."""


class _Versioned(msgspec.Struct):
    version: msgspec.Raw


_versioned = msgspec.json.Decoder(_Versioned)


def read_one(
    store: EntityStore,
    kind: EntityKind,
    *,
    entity_id: str | None = None,
    fqn: str | None = None,
    fields: Iterable[str] = (),
    include: Include = Include.NON_DELETED,
) -> Found:
    """The entity's JSON with its large fields and those asked for.

    Raises NotFound when there is none, or none in the deletion state asked for.
    """
    row = _read_row(store, kind, entity_id, fqn, include, _ANY_BYTES)
    return _found(kind, fields, row)


def read_small(
    store: EntityStore,
    kind: EntityKind,
    *,
    most: int,
    entity_id: str | None = None,
    fqn: str | None = None,
    fields: Iterable[str] = (),
    include: Include = Include.NON_DELETED,
) -> Found | None:
    """What `read_one` gives, or None for an entity of more than `most` bytes, which is not read."""
    row = _read_row(store, kind, entity_id, fqn, include, most)
    return None if row[0] is None else _found(kind, fields, row)


def _read_row(
    store: EntityStore,
    kind: EntityKind,
    entity_id: str | None,
    fqn: str | None,
    include: Include,
    most: int,
) -> tuple[bytes, bytes, int]:
    """Core, optional and position; core is None where the two have more than `most` bytes."""
    column, value = ("id", entity_id) if entity_id is not None else ("fqn", fqn)
    with sqlite_errors():
        row = store.connection.execute(_ONE.format(column), (most, most, kind.name, value))
        found = row.fetchone()
    if found is None or found[3] not in include.states:
        raise NotFound(f"{kind.name} instance for {value} not found")
    return found[0], found[1], found[2]


_ANY_BYTES = 2**62
_ONE = (
    "SELECT CASE WHEN length(core) + length(optional) <= ? THEN core END,"
    " CASE WHEN length(core) + length(optional) <= ? THEN optional END, position, deleted"
    " FROM entities WHERE kind = ? AND {} = ?"
)
"""SQLite knows the length of a value without reading it."""


def _found(kind: EntityKind, fields: Iterable[str], row: tuple[bytes, bytes, int]) -> Found:
    core, optional, position = row
    body = with_fields(kind, core, optional, fields, large=kind.large)
    return Found(body, bytes(_versioned.decode(core).version).decode(), position)


def read_documents(store: EntityStore, entity_ids: Iterable[str]) -> dict[str, bytes]:
    """Whole documents (every field that is there) by id; ids that are not there are left out."""
    found: dict[str, bytes] = {}
    with sqlite_errors():
        for entity_id in entity_ids:
            row = store.connection.execute(
                "SELECT core, optional FROM entities WHERE id = ?", (entity_id,)
            ).fetchone()
            if row is not None:
                core, optional = row
                found[entity_id] = core if optional == b"{}" else core[:-1] + b"," + optional[1:]
    return found
