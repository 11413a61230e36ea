"""`list_columns`: the columns of an entity, page by page, each of them once."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated

import msgspec
from msgspec import Meta

from api.callers.permissions import Action
from api.mcp.answers import Answer, fill, short
from api.mcp.asking import Asked, AsOf, Cursor, Named, viewed
from api.mcp.cleaning import plain
from api.mcp.facts import at_path
from api.use_cases.columns import ColumnRow, ShownColumn, matching, unfold
from domain.errors import InvalidInput
from domain.events import values_by_key
from domain.kinds.entity_kind import EntityKind

MOST_TAGS, MOST_TAG, MOST_NAME = 10, 300, 1_000
"""Tags of a column that are shown, and characters of each, and of a name."""
_columns = msgspec.json.Decoder(list[ShownColumn] | None)


class ListColumns(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The arguments."""

    entity: Named
    matching: Annotated[
        str, Meta(max_length=256, description="Part of a name, type, text or tag.")
    ] = ""
    tags: Annotated[
        list[Annotated[str, Meta(max_length=512)]], Meta(max_length=10, description="Any of these.")
    ] = []
    as_of: AsOf = ""
    cursor: Cursor = ""


class Column(msgspec.Struct, frozen=True, omit_defaults=True):
    """A column; of one inside another the name is dotted."""

    name: str
    type: str = ""
    constraint: str = ""
    text: str = ""
    tags: list[str] = []
    more_tags: int = 0
    """Number of tags that are not shown."""


class Columns(Answer, kw_only=True, omit_defaults=True):
    """The answer."""

    total: int
    matching: int
    columns: list[Column]


async def list_columns(asked: Asked, given: ListColumns) -> Columns:
    """A page of columns, as they were when the first page was asked for."""
    pinned, start = asked.place(given.cursor)
    if pinned is None:
        pinned = await asked.position(given.as_of, given.entity)
    work = partial(_page, asked, given, pinned, start, is_past=bool(given.as_of))
    return await asked.services.heavy_read(asked.request, work)


def _page(
    asked: Asked, given: ListColumns, pinned: int | None, start: int, *, is_past: bool
) -> Columns:
    kind = viewed(asked.access, given.entity)
    paths = kind.body.parts
    if not paths:
        raise InvalidInput(f"a {kind.name} has no columns")
    if withheld := asked.access.withheld(Action.VIEW, kind.name):
        for path in paths:
            withheld.refuse_field(path, "columns")
        if given.tags:
            withheld.refuse_searched(f"{paths[0]}.tags", "tags")
    at_head = asked.services.stores.entities.checkpoint()
    wanted = fields_of_columns(kind)
    body, headers = asked.read(given.entity, wanted, pinned if is_past else None)
    changed = int(headers["X-Catalog-Position"])
    position = max(at_head, changed) if pinned is None else pinned
    if changed > position:
        # The entity was changed since the first page.
        body, _ = asked.read(given.entity, wanted, position)
    rows = column_rows(kind, body)
    chosen = [row for row in matching(rows, given.matching) if _has_any(row, given.tags)]
    shown, more = fill(asked.room(), map(_shown, chosen[start:]), start)
    return Columns(
        position=position,
        request_id=asked.request_id,
        total=len(rows),
        matching=len(chosen),
        columns=shown,
        cursor=asked.cursors.made(position, more),
    )


def fields_of_columns(kind: EntityKind) -> list[str]:
    """The optional fields of a kind that hold its columns."""
    keys = dict.fromkeys(path.partition(".")[0] for path in kind.body.parts)
    return [key for key in keys if key in kind.optional]


def column_rows(kind: EntityKind, body: bytes) -> list[ColumnRow]:
    """The columns at all paths of an entity's JSON, nested ones behind those that they lie in."""
    by_key = values_by_key(body)
    rows: list[ColumnRow] = []
    for path in kind.body.parts:
        if (raw := at_path(by_key, path)) is not None:
            rows += unfold(_columns.decode(raw) or ())
    return rows


def _has_any(row: ColumnRow, tags: Sequence[str]) -> bool:
    """True if a column has one of these tags, or if none is asked for."""
    return not tags or any(each["tagFQN"] in tags for each in row.column.tags or ())


def _shown(row: ColumnRow) -> Column:
    tags = row.column.tags or []
    return Column(
        name=short("name", row.path, MOST_NAME),
        type=short("code", row.type),
        constraint=row.constraint,
        text=short("description", row.column.description or ""),
        tags=[plain(str(each.get("tagFQN")))[:MOST_TAG] for each in tags[:MOST_TAGS]],
        more_tags=max(0, len(tags) - MOST_TAGS),
    )
