"""Pages of a list as JSON: the envelope, the items and the cursors, for any sorted read model."""

from collections.abc import Generator, Iterator, Sequence

from domain.errors import InvalidInput
from projections.entities.cursors import Place, decode, encode
from projections.entities.port import (
    ListedEntity,
    ListHead,
    ListReader,
    ListRequest,
    SortedReadModel,
)
from projections.entities.single_entities import with_fields

MOST_ROWS, MOST_BYTES = 2_000, 256 * 1024
"""The most rows and bytes of a page that is said to be quick: a millisecond or two of work."""


def list_page(
    model: SortedReadModel,
    request: ListRequest,
    *,
    most_rows: int = MOST_ROWS,
    most_bytes: int = MOST_BYTES,
    chunk_bytes: int = 256 * 1024,
) -> Generator[bytes]:
    """The JSON envelope of one page, in chunks.

    The first `next` takes some milliseconds at most. It gives the whole page, or an empty chunk:
    what follows takes long then, and may be made in other threads, one after the other. All of a
    page is read from one consistent state, until the chunks are used up or the generator is closed.
    `chunk_bytes` are read for each chunk of a page that takes long, but for the first.

    Raises InvalidInput for a cursor of another list, and for a filter by names that would take too
    long.
    """
    place = _place(request)
    with model.read_list(request, place) as reader:
        takes_long = request.limit > most_rows or _looked_at(request, reader) > most_rows
        if takes_long:
            reader.hand_over()
            yield b""
        head = reader.head(most_bytes)
        if not head.cut_off:
            yield _whole(request, place, head)
            return
        if not takes_long:
            reader.hand_over()
        yield b""
        chunk, ends = b'{"data":[', None
        for part in filter(None, _parts(request, reader, head, chunk_bytes)):
            opening = chunk + b"," if ends else chunk
            ends, chunk = _ends(ends, part), b""
            yield opening + _taken(request, part)
        ahead = head.ahead
        if not ahead and ends:
            ahead = reader.goes_on(ends[0] if request.backward else ends[1])
        yield chunk + _paging(request, place, head, ends, ahead)


def small_page(
    model: SortedReadModel, request: ListRequest, *, most_bytes: int = MOST_BYTES
) -> bytes | None:
    """The JSON envelope of one page; None, once `most_bytes` are read, for a larger one.

    Raises InvalidInput as `list_page` does.
    """
    if request.limit > MOST_ROWS:
        return None
    place = _place(request)
    with model.read_list(request, place) as reader:
        if _looked_at(request, reader) > MOST_ROWS:
            return None
        head = reader.head(most_bytes)
        return None if head.cut_off else _whole(request, place, head)


def _looked_at(request: ListRequest, reader: ListReader) -> int:
    """Return the most entities that could be read in the time of finding those of a list."""
    count = reader.passed_over()
    return request.names.cost(count) if request.names else count


def _whole(request: ListRequest, place: Place | None, head: ListHead) -> bytes:
    """The envelope of a page that its head is all of."""
    ends = _ends(None, head.entities)
    paging = _paging(request, place, head, ends, head.ahead)
    if ends is None:
        return b'{"data":[' + paging
    items = _items(request, head.entities)
    # Only the ends are copied twice.
    items[0] = b'{"data":[' + items[0]
    items[-1] += paging
    return b",".join(items)


def _place(request: ListRequest) -> Place | None:
    """The place of the request's cursor, if it has one."""
    if request.before and request.after:
        raise InvalidInput("only one of before and after may be given")
    cursor = request.before or request.after
    return decode(cursor, request.identity, backward=request.backward) if cursor else None


def _parts(
    request: ListRequest, reader: ListReader, head: ListHead, chunk_bytes: int
) -> Iterator[list[ListedEntity]]:
    """All entities of a page whose head was cut off, in the order of the list.

    Whoever takes a part may clear it.
    """
    ends = _ends(None, head.entities)
    nearest = None if ends is None else ends[0] if request.backward else ends[1]
    rest = reader.rest(len(head.entities), nearest, chunk_bytes)
    if not request.backward:
        yield head.entities
    yield from rest
    if request.backward:
        yield head.entities


def _taken(request: ListRequest, part: list[ListedEntity]) -> bytes:
    """The JSON of a part's entities, which is cleared.

    A client that does not read keeps its page waiting; rows that wait with it would only take
    memory.
    """
    items = b",".join(_items(request, part))
    part.clear()
    return items


def _ends(
    ends: tuple[Place, Place] | None, entities: Sequence[ListedEntity]
) -> tuple[Place, Place] | None:
    """The places of the first and the last entity of a page, once these entities are added."""
    if not entities:
        return ends
    first, last = entities[0], entities[-1]
    return (ends[0] if ends else Place(first[0], first[1])), Place(last[0], last[1])


def _paging(
    request: ListRequest,
    place: Place | None,
    head: ListHead,
    ends: tuple[Place, Place] | None,
    ahead: bool,
) -> bytes:
    """The end of the envelope: the total, and a cursor for each side on which the list goes on.

    A page that concurrent deletes have emptied leads back from the place of its own cursor.
    """
    paging = b'],"paging":{"total":%d' % head.total
    before, after = (ahead, head.behind) if request.backward else (head.behind, ahead)
    if ends is None and place is not None:
        here = Place(place.name, place.id, inclusive=True)
        ends = here, here
    if ends and (before or after):
        identity = request.identity
        if before:
            paging += b',"before":"%b"' % encode(ends[0], identity, backward=True)
        if after:
            paging += b',"after":"%b"' % encode(ends[1], identity, backward=False)
    return paging + b"}}"


def _items(request: ListRequest, entities: Sequence[ListedEntity]) -> list[bytes]:
    """The finished JSON of each entity."""
    if request.fields:
        items = [
            with_fields(request.kind, core, optional or b"{}", request.fields)
            for _, _, core, optional in entities
        ]
    else:
        items = [entity[2] for entity in entities]
    return items if request.cut is None else [*map(request.cut, items)]
