"""Reads of the sorted read model: pages of a list, single entities, documents by id."""

import sqlite3
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec

from domain.errors import InvalidInput, NotFound
from domain.kinds import EntityKind
from projections.entities import selection
from projections.entities.cursors import Place, decode, encode
from projections.entities.items import with_fields
from projections.entities.selection import Include, Selection
from projections.entities.store import EntityStore, sqlite_errors

MOST_ROWS, MOST_BYTES = 2_000, 1024 * 1024
"""What `list_page` reads before it says that a page takes long: some milliseconds of work."""
MOST_CUT_BYTES = 256 * 1024
"""The same in bytes where something is cut from each item, which must be decoded for that."""
_CHUNK_BYTES = 256 * 1024
"""What is read for each chunk of a page that takes long, but for the first."""


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


def list_page(store: EntityStore, request: ListRequest) -> Generator[bytes]:
    """The envelope of one page, in chunks.

    The first `next` takes some milliseconds at most. It gives the whole page, or an empty chunk:
    what follows takes long then, and may be made in other threads, one after the other. All of a
    page is read from one snapshot, until the chunks are used up or the generator is closed.

    Raises InvalidInput for a cursor of another list.
    """
    place = _place(request)
    handed_over = False
    with sqlite_errors():
        connection = store.connection
        connection.execute("BEGIN")
        try:
            for chunk in _chunks(connection, request, place):
                if not chunk and not handed_over:
                    store.hand_over()
                    handed_over = True
                yield chunk
                if not chunk:
                    # A scan of everything through a memory map would count as our memory.
                    connection.execute("PRAGMA mmap_size=0")
        finally:
            if handed_over:
                connection.close()
            else:
                connection.execute("COMMIT")


def _place(request: ListRequest) -> Place | None:
    """The place of the request's cursor, if it has one."""
    if request.before and request.after:
        raise InvalidInput("only one of before and after may be given")
    cursor = request.before or request.after
    return decode(cursor, request.identity, backward=request.backward) if cursor else None


def _chunks(
    connection: sqlite3.Connection, request: ListRequest, place: Place | None
) -> Generator[bytes]:
    """The chunks of `list_page`; an empty one comes before whatever takes long."""
    selected = selection.select(
        connection, request.kind, request.include, request.status, request.filters
    )
    if request.limit > MOST_ROWS or selection.passed_over(connection, selected) > MOST_ROWS:
        yield b""
    total = selection.count(connection, selected)
    limit, backward = request.limit, request.backward
    if limit == 0:
        yield b'{"data":[],"paging":{"total":%d}}' % total
        return
    most = MOST_BYTES if request.cut is None else MOST_CUT_BYTES
    # One row more than the page holds says that the list goes on.
    with _bounded_values(connection, most):
        rows, cut_off = _nearest(connection, request, selected, place, limit + 1, most, backward)
    more = len(rows) > limit
    if more:
        rows.pop()
    if backward:
        rows.reverse()
    if cut_off:
        yield b""
    chunk, ends = b'{"data":[', None
    parts = _with_rest(connection, request, selected, place, rows) if cut_off else [rows]
    for part in filter(None, parts):
        if ends:
            chunk += b","
        chunk += b",".join(_items(request, part))
        ends = (ends[0] if ends else _place_of(part[0]), _place_of(part[-1]))
        if cut_off:
            yield chunk
            chunk = b""
    if cut_off and not more and ends:
        furthest = ends[0] if backward else ends[1]
        more = selection.goes_on(connection, selected, furthest, backward=backward)
    paging = _paging(connection, selected, request, place, ends, more)
    yield b'%b],"paging":{"total":%d%b}}' % (chunk, total, paging)


def _with_rest(
    connection: sqlite3.Connection,
    request: ListRequest,
    selected: Selection,
    place: Place | None,
    rows: list[Row],
) -> Iterator[list[Row]]:
    """All rows of a page in the order shown, of which those nearest to its cursor are read.

    The rest is read forward, also where the page lies before its cursor: backward, all of it would
    have to be held before the first row could be shown.
    """
    left = request.limit - len(rows)
    if request.backward:
        before = _place_of(rows[0]) if rows else place
        beginning = selection.beginning(connection, selected, before, left)
        start, left = beginning or (before, 0)
    else:
        yield rows
        start = _place_of(rows[-1]) if rows else place
    while left:
        part, _ = _nearest(connection, request, selected, start, left, _CHUNK_BYTES, False)
        if not part:
            break
        yield part
        start, left = _place_of(part[-1]), left - len(part)
    if request.backward:
        yield rows


def _nearest(
    connection: sqlite3.Connection,
    request: ListRequest,
    selected: Selection,
    place: Place | None,
    limit: int,
    most: int,
    backward: bool,
) -> tuple[list[Row], bool]:
    """At most `limit` rows beyond a place, the nearest first, and whether size ended them.

    The row that makes them `most` bytes does, and a value too large for the connection before the
    row that has it (`_bounded_values`). No statement is left open, so that the connection may
    change hands.
    """
    sql, parameters = selection.rows(
        selected, place, backward=backward, optional=bool(request.fields)
    )
    rows: list[Row] = []
    size = 0
    try:
        cursor = connection.execute(sql, (*parameters, limit))
        for row in cursor:
            rows.append(row)
            size += len(row[2]) if row[3] is None else len(row[2]) + len(row[3])
            if size >= most:
                cursor.close()
                return rows, True
    except sqlite3.DataError:
        return rows, True
    return rows, False


@contextmanager
def _bounded_values(connection: sqlite3.Connection, most: int) -> Iterator[None]:
    """Inside, reading a value of more than `most` bytes raises sqlite3.DataError unread."""
    before = connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, most)
    try:
        yield
    finally:
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, before)


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
    column, value = ("id", entity_id) if entity_id is not None else ("fqn", fqn)
    with sqlite_errors():
        row = store.connection.execute(
            f"SELECT core, optional, deleted, position FROM entities"
            f" WHERE kind = ? AND {column} = ?",
            (kind.name, value),
        ).fetchone()
    if row is None or row[2] not in include.states:
        raise NotFound(f"{kind.name} instance for {value} not found")
    core, optional, _, position = row
    body = with_fields(kind, core, optional, fields, large=kind.large)
    return Found(body, bytes(_versioned.decode(core).version).decode(), position)


def read_small(store: EntityStore, kind: EntityKind, *, most: int, **options: Any) -> Found | None:
    """What `read_one` gives with these options, or None for an entity that is not small.

    A small one has at most `most` bytes in its core and its optional fields, each at most half of
    them. What has more is not read.
    """
    try:
        with sqlite_errors(), _bounded_values(store.connection, most // 2):
            return read_one(store, kind, **options)
    except sqlite3.DataError:
        return None


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
