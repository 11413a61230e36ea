"""Pages of a list as JSON: the envelope, the items and the cursors, for any sorted read model."""

from collections.abc import Generator, Sequence
from operator import itemgetter

from domain.errors import InvalidInput
from projections.entities.cursors import Place, decode, encode
from projections.entities.list_port import ListedEntity, ListRequest
from projections.entities.port import SortedReadModel
from projections.entities.single_entities import with_fields

MOST_ROWS, MOST_BYTES = 2_000, 256 * 1024
"""The most rows and bytes of a page that is said to be quick: a millisecond or two of work."""

_CORE = itemgetter(2)
"""The JSON of the core fields of a ListedEntity."""


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
    what follows is that of `long_page` then, which reads `chunk_bytes` for each chunk.

    Raises InvalidInput for a cursor of another list, and for a filter by names that would take too
    long.
    """
    whole = small_page(model, request, most_rows=most_rows, most_bytes=most_bytes)
    yield whole or b""
    if whole is None:
        yield from long_page(model, request, chunk_bytes)


def small_page(
    model: SortedReadModel,
    request: ListRequest,
    *,
    most_rows: int = MOST_ROWS,
    most_bytes: int = MOST_BYTES,
) -> bytes | None:
    """The JSON envelope of one page; None, once `most_bytes` are read, for a larger one.

    Raises InvalidInput as `list_page` does.
    """
    if request.limit > most_rows:
        return None
    place = _place(request)
    with model.read_list(request, place) as reader:
        count = reader.passed_over()
        if (request.names.cost(count) if request.names else count) > most_rows:
            return None
        page = reader.whole(most_bytes)
    if page is None:
        return None
    ends = _ends(None, page.entities)
    paging = _paging(
        request, place, ends, page.total, ahead=page.ahead, behind=page.behind, purged=page.purged
    )
    if ends is None:
        return b'{"data":[' + paging
    items = _items(request, page.entities)
    # Only the ends are copied twice.
    items[0] = b'{"data":[' + items[0]
    items[-1] += paging
    return b",".join(items)


def long_page(
    model: SortedReadModel, request: ListRequest, chunk_bytes: int = 256 * 1024
) -> Generator[bytes]:
    """The JSON envelope of one page, in chunks that take long.

    They may be made in different threads, one after the other. All of a page is read from one
    consistent state, until the chunks are used up or the generator is closed. Raises InvalidInput
    as `list_page` does.
    """
    place = _place(request)
    with model.read_list(request, place) as reader:
        reader.hand_over()
        total, behind = reader.totals()
        chunk, ends = b'{"data":[', None
        for part in reader.parts(chunk_bytes):
            opening = chunk + b"," if ends else chunk
            ends, chunk = _ends(ends, part), b""
            yield opening + _taken(request, part)
        ahead = ends is not None and reader.goes_on(ends[0] if request.backward else ends[1])
        yield chunk + _paging(
            request, place, ends, total, ahead=ahead, behind=behind, purged=reader.purged()
        )


def listed_names(model: SortedReadModel, request: ListRequest) -> list[tuple[str, str]]:
    """Name and id of each entity of a page without a cursor; their JSON is not kept."""
    with model.read_list(request, None) as reader:
        reader.hand_over()
        parts = reader.parts(MOST_BYTES)
        return [(name, entity_id) for part in parts for name, entity_id, *_ in part]


def place_asked(request: ListRequest) -> tuple[Place, int | None] | None:
    """The place of the request's cursor, if it has one, and the position that the cursor is of.

    Raises InvalidInput for a cursor of another list.
    """
    before, after = request.before, request.after
    if before and after:
        raise InvalidInput("only one of before and after may be given")
    cursor = before or after
    return decode(cursor, request.identity, backward=bool(before)) if cursor else None


def _place(request: ListRequest) -> Place | None:
    """The place of the request's cursor, which must be of the past that is asked for."""
    found = place_asked(request)
    if found is None:
        return None
    place, position = found
    before = request.before
    due = request.past and request.past.position
    if position != due:
        of = "the present" if position is None else f"position {position}"
        asked = "the present" if due is None else f"position {due}"
        raise InvalidInput(
            f"{'before' if before else 'after'} is a cursor of the list at {of}, and the list at"
            f" {asked} is asked for"
        )
    return place


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
    ends: tuple[Place, Place] | None,
    total: int,
    *,
    ahead: bool,
    behind: bool,
    purged: int,
) -> bytes:
    """The end of the envelope: the total, and a cursor for each side on which the list goes on.

    A page that concurrent deletes have emptied leads back from the place of its own cursor.
    """
    paging = b'],"paging":{"total":' + str(total).encode()
    position = None
    if request.past is not None:
        position = request.past.position
        if purged:
            paging += b',"purged":%d' % purged
    before, after = (ahead, behind) if request.before else (behind, ahead)
    if ends is None and place is not None:
        here = Place(place.name, place.id, inclusive=True)
        ends = here, here
    if ends and (before or after):
        identity = request.identity
        if before:
            cursor = encode(ends[0], identity, backward=True, position=position)
            paging += b',"before":"' + cursor + b'"'
        if after:
            cursor = encode(ends[1], identity, backward=False, position=position)
            paging += b',"after":"' + cursor + b'"'
    return paging + b"}}"


def _items(request: ListRequest, entities: Sequence[ListedEntity]) -> list[bytes]:
    """The finished JSON of each entity."""
    if request.fields:
        now = None if request.past is None else request.past.now
        items = [
            with_fields(request.kind, entity[2], entity[-1], request.fields, now=now)
            for entity in entities
        ]
    else:
        items = list(map(_CORE, entities))
    return items if request.cut is None else [*map(request.cut, items)]
