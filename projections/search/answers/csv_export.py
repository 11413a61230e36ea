"""Hits of a search as CSV for spreadsheets, page by page, with a row for each entity.

Spreadsheets run a cell as a formula that begins with one of a few characters, also in what somebody
else has written into a description: such a cell is given an apostrophe, which makes it a text. In
many countries a spreadsheet splits a row at `;`, or at tabs, and then takes quotes inside a row for
text: what is behind these, or on a line of its own, may begin a cell as well.
"""

import re
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import msgspec

from domain.errors import InvalidInput, StoreUnavailable
from projections.search.answers.queries import SearchRequest, engine_query
from projections.search.documents.objects import object_reader
from projections.search.documents.sources import ReadSources
from projections.search.engine import EngineHit, Sort
from projections.search.engine import SearchEngine as Engine
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
_KEYS = (
    *("service", "serviceType", "fullyQualifiedName", "name", "displayName", "description"),
    *("owners", "tags", "domains"),
)

PIECE = 64 * 1024
"""Characters of a cell that are written in one step."""
Opened = AbstractContextManager[tuple[Engine, ReadSources]]
"""An engine and a reader of documents for as long as a page takes."""


def export(
    request: SearchRequest,
    visibility: Visibility,
    opened: Callable[[], Opened],
    *,
    most_rows: int = 200_000,
    page_rows: int = 1_000,
    part: int = 256 * 1024,
    read_bytes: int = 4_000_000,
) -> Generator[bytes]:
    """The file in parts of some `part` characters, with an empty one wherever others may have their
    turn: after `read_bytes` of documents, or a part, which one more document or piece may exceed.

    By name where the request has no order. Each page is of what is indexed then: an entity that
    another one passes meanwhile may be missing or come twice. Raises InvalidInput, before the first
    part, for more than `most_rows`, and StoreUnavailable where a page took too long: a file that
    ends is complete.
    """
    query, _ = engine_query(request, visibility)
    query = msgspec.structs.replace(
        query, sort=query.sort or Sort("name"), size=page_rows, exact_total=True
    )
    file = _File(part)
    yield from file.parts([HEADER])
    rows = 0
    while True:
        with opened() as (engine, read_sources):
            page = engine.search(query, object_reader(read_sources))
        if page.timed_out:
            raise StoreUnavailable("the search takes too long to be exported: make it narrower")
        if page.total > most_rows:
            raise InvalidInput(
                f"an export may have {most_rows:,} rows, and {page.total:,} entities match: narrow"
                " it with q, index or queryFilter"
            )
        left = deque(page.hits)
        while left:
            with opened() as (_, read_sources):
                some = _rows(left, read_sources, visibility, part, read_bytes)
            yield from file.parts(some)
            yield b""
        rows += len(page.hits)
        # What is added meanwhile must not make a file that never ends.
        if len(page.hits) < page_rows or rows >= most_rows:
            break
        query = msgspec.structs.replace(query, search_after=page.hits[-1].sort)
    yield file.rest()


def _rows(
    left: deque[EngineHit],
    read_sources: ReadSources,
    visibility: Visibility,
    part: int,
    read_bytes: int,
) -> list[tuple[str, ...]]:
    """The rows of the first hits, which are taken away, until enough was read for one turn."""
    rows = []
    read = written = 0
    while left and read <= read_bytes and written <= part:
        hit = left.popleft()
        entity_json = read_sources((hit.id,)).get(hit.id, b"")
        read += len(entity_json)
        shown = entity_json and visibility.show(hit.kind, entity_json)
        if shown:
            rows.append(_row(hit.kind, shown))
            written += sum(map(len, rows[-1]))
    return rows


class _File:
    """Rows as a file has them, taken in parts."""

    def __init__(self, part: int) -> None:
        self._part = part
        self._pieces: list[str] = []
        self._size = 0

    def parts(self, rows: Iterable[Sequence[str]]) -> Iterator[bytes]:
        """Write rows; gives a part whenever there is one that is large enough."""
        for row in rows:
            for piece in row_pieces(row):
                self._pieces.append(piece)
                self._size += len(piece)
                if self._size > self._part:
                    yield self.rest()

    def rest(self) -> bytes:
        """Return the lines written since the last part."""
        text = "".join(self._pieces)
        self._pieces, self._size = [], 0
        return text.encode()


def row_pieces(row: Sequence[str], size: int = PIECE) -> Iterator[str]:
    """A row as the standard library's writer has its guarded cells, in pieces of little work.

    That writer looks at a cell character by character, and all the while no other thread may go on.
    """
    for place, cell in enumerate(row):
        quoted = any(mark in cell for mark in _QUOTED)
        yield ("," if place else "") + ('"' if quoted else "")
        for piece in guarded(cell, size):
            yield piece.replace('"', '""') if quoted else piece
        if quoted:
            yield '"'
    yield "\r\n"


def _row(kind: str, entity_json: bytes) -> tuple[str, ...]:
    """The cells of an entity."""
    raw = msgspec.json.decode(entity_json, type=dict[str, msgspec.Raw])
    entity = {key: msgspec.json.decode(raw[key]) for key in _KEYS if key in raw}
    tags = [tag for tag in _objects(entity.get("tags")) if isinstance(tag.get("tagFQN"), str)]
    tiers = [tag for tag in tags if tag["tagFQN"].startswith(_TIER)]
    others = [tag for tag in tags if tag not in tiers]
    cells = (
        kind,
        _joined(_objects(entity.get("service")), "name"),
        entity.get("serviceType"),
        entity.get("fullyQualifiedName"),
        entity.get("name"),
        entity.get("displayName"),
        entity.get("description"),
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
    """A reference as a list, or those of a list that are objects."""
    values = value if isinstance(value, list) else [value]
    return [each for each in values if isinstance(each, dict)]


def _joined(objects: list[Mapping[str, Any]], *keys: str) -> str:
    """Of each object the first of the keys that holds a text, between bars."""
    texts = (next((o[key] for key in keys if isinstance(o.get(key), str)), "") for o in objects)
    return "|".join(filter(None, texts))
