"""Hits of a search as CSV for spreadsheets, page by page, with a row for each entity.

Spreadsheets run a cell as a formula that begins with one of a few characters, also in what somebody
else has written into a description: such a cell is given an apostrophe, which makes it a text. In
many countries a spreadsheet splits a row at `;`, or at tabs, and then takes quotes inside a row for
text: what is behind these, or on a line of its own, may begin a cell as well.
"""

import re
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import msgspec

from domain.errors import InvalidInput, StoreUnavailable
from domain.events import values_by_key
from projections.search.answers.queries import SearchRequest, engine_query
from projections.search.documents.sources import ReadSources, in_turn, object_reader
from projections.search.engine import EngineHit, EngineHits, Searches, Sort
from projections.search.restriction import Visibility

HEADER = (
    "Entity Type",
    "Service Name",
    "Service Type",
    "FQN",
    "Name",
    "Display Name",
    "Description",
    "Owners",
    "Tags",
    "Glossary Terms",
    "Domains",
    "Tier",
)
_QUOTED = (",", '"', "\r", "\n")
"""Characters for which a cell has quotes around it."""
_FORMULA = "=+-@＝＋－＠"  # noqa: RUF001 (spreadsheets take the wide ones too)
_BREAKS = "\t\r\n"
_SPLITTING = f";{_BREAKS}"
"""Characters that may end a cell inside its text."""
_BLANK = '"' + "".join(filter(str.isspace, map(chr, range(0x3001)))).translate(
    dict.fromkeys(map(ord, _BREAKS))
)
"""Characters that spreadsheets may skip at the beginning of a cell."""
_BEGINNING = re.compile(f"(?<=[{_SPLITTING}])(?=[{_BLANK}]*+[{re.escape(_FORMULA)}])")
_TIER = "Tier."
_TEXTS = ("serviceType", "fullyQualifiedName", "name", "displayName", "description")
_KEYS = ("service", *_TEXTS, "owners", "tags", "domains")

PIECE = 64 * 1024
"""Characters of a cell that are written in one step."""


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """The bounds of an export."""

    rows: int = 200_000
    page: int = 1_000
    """Rows of which the entities are looked up together."""
    part: int = 256 * 1024
    """Characters of a part of the file, which one more piece may exceed."""
    piece: int = PIECE
    read_bytes: int = 4_000_000
    """Bytes of documents that are read in one turn, which one more document may exceed."""


BOUNDS = Bounds()

Opened = AbstractContextManager[tuple[Searches, ReadSources]]
"""An engine and a reader of documents for as long as a page takes."""


def export(
    request: SearchRequest,
    visibility: Visibility,
    opened: Callable[[], Opened],
    bounds: Bounds = BOUNDS,
) -> Generator[bytes]:
    """The file in parts of some 256 kB, with an empty part wherever others may have their turn.

    By name where the request has no order. Each page is of what is indexed then: an entity that
    another one passes meanwhile may be missing or come twice. Raises InvalidInput, before the first
    part, for too many rows, and StoreUnavailable where a page took too long: a file that ends
    is complete.
    """
    part: list[str] = []
    size = 0
    for piece in _pieces(request, visibility, opened, bounds):
        if piece is None:
            yield b""
            continue
        part.append(piece)
        size += len(piece)
        if size > bounds.part:
            yield "".join(part).encode()
            part, size = [], 0
    yield "".join(part).encode()


def _pieces(
    request: SearchRequest, visibility: Visibility, opened: Callable[[], Opened], bounds: Bounds
) -> Iterator[str | None]:
    """The file in pieces of little work, with None wherever others may have their turn."""
    query, _ = engine_query(request, visibility)
    query = msgspec.structs.replace(
        query, sort=query.sort or Sort("name"), size=bounds.page, exact_total=True
    )
    yield from row_pieces(HEADER, bounds.piece)
    rows = 0
    while True:
        with opened() as (engine, read_sources):
            page = engine.search(query, object_reader(read_sources))
        _check(page, bounds.rows)
        left = deque(page.hits)
        while left:
            with opened() as (_, read_sources):
                some = _rows(left, read_sources, visibility, bounds)
            for row in some:
                yield from row_pieces(row, bounds.piece)
            yield None
        rows += len(page.hits)
        # What is added meanwhile must not make a file that never ends.
        if len(page.hits) < bounds.page or rows >= bounds.rows:
            break
        query = msgspec.structs.replace(query, search_after=page.hits[-1].sort)


def _rows(
    left: deque[EngineHit], read_sources: ReadSources, visibility: Visibility, bounds: Bounds
) -> list[tuple[str, ...]]:
    """The rows of the first hits, which are taken away, until enough was read for one turn."""
    rows = []
    read = written = 0
    documents = in_turn(read_sources, [hit.id for hit in left])
    while left and read <= bounds.read_bytes and written <= bounds.part:
        hit = left.popleft()
        entity_json = next(documents) or b""
        read += len(entity_json)
        shown = entity_json and visibility.show(hit.kind, entity_json)
        if shown:
            rows.append(_row(hit.kind, shown))
            written += sum(map(len, rows[-1]))
    return rows


def row_pieces(row: Sequence[str], size: int = PIECE) -> Iterator[str]:
    """A row as the standard library's writer has its guarded cells, in pieces of little work.

    The library's writer looks at a cell character by character, and no other thread runs meanwhile.
    """
    for place, cell in enumerate(row):
        quoted = any(mark in cell for mark in _QUOTED)
        yield ("," if place else "") + ('"' if quoted else "")
        for piece in guarded(cell, size):
            yield piece.replace('"', '""') if quoted else piece
        if quoted:
            yield '"'
    yield "\r\n"


def _check(page: EngineHits, most: int) -> None:
    if page.timed_out:
        raise StoreUnavailable("the search takes too long to be exported: make it narrower")
    if page.total > most:
        raise InvalidInput(
            f"an export may have {most:,} rows, and {page.total:,} entities match: narrow it"
            " with q, index or queryFilter"
        )


def _row(kind: str, entity_json: bytes) -> tuple[str, ...]:
    """The cells of an entity."""
    raw = values_by_key(entity_json)
    entity = {key: msgspec.json.decode(raw[key]) for key in _KEYS if key in raw}
    tags = [tag for tag in _objects(entity.get("tags")) if isinstance(tag.get("tagFQN"), str)]
    tiers = [tag for tag in tags if tag["tagFQN"].startswith(_TIER)]
    others = [tag for tag in tags if tag not in tiers]
    cells = (
        kind,
        _joined(_objects(entity.get("service")), "name"),
        *map(entity.get, _TEXTS),
        _joined(_objects(entity.get("owners")), "displayName", "name"),
        _joined([tag for tag in others if tag.get("source") != "Glossary"], "tagFQN"),
        _joined([tag for tag in others if tag.get("source") == "Glossary"], "tagFQN"),
        _joined(_objects(entity.get("domains")), "displayName", "name"),
        _joined(tiers, "tagFQN"),
    )
    return tuple(cell if isinstance(cell, str) else "" for cell in cells)


def guarded(cell: str, size: int = PIECE) -> Iterator[str]:
    """The text in pieces, made one that no spreadsheet runs as a formula, nor any part of it."""
    if cell.startswith(tuple(_BREAKS)) or cell.lstrip().startswith(tuple(_FORMULA)):
        yield "'"
    begins = False
    for start in range(0, len(cell), size):
        piece = cell[start : start + size]
        if begins and piece.lstrip(_BLANK).startswith(tuple(_FORMULA)):
            yield "'"
        yield _BEGINNING.sub("'", piece)
        before = piece.rstrip(_BLANK)
        begins = before.endswith(tuple(_SPLITTING)) if before else begins


def _objects(value: Any) -> list[Mapping[str, Any]]:
    """The objects in a list of references; a single reference counts as a list of one."""
    values = value if isinstance(value, list) else [value]
    return [each for each in values if isinstance(each, dict)]


def _joined(objects: list[Mapping[str, Any]], *keys: str) -> str:
    """The text of each object at the first of the keys that holds one, joined by bars."""
    texts = (next((o[key] for key in keys if isinstance(o.get(key), str)), "") for o in objects)
    return "|".join(filter(None, texts))
