"""Columns and other named parts of an entity, unfolded to rows."""

from collections.abc import Iterable
from typing import Any

import msgspec

from domain.kinds import names

MOST_DEPTH = 40
NOTHING: tuple[Any, ...] = (None, "", [], "NULL")
"""Values by which a column says nothing."""


class ShownColumn(msgspec.Struct, frozen=True, gc=False):
    """The shown keys of a column; decoding all others too would take three times as long."""

    name: str = ""
    dataType: Any = None
    dataTypeDisplay: Any = None
    arrayDataType: Any = None
    dataLength: int | None = None
    precision: int | None = None
    scale: int | None = None
    constraint: Any = None
    description: str | None = None
    tags: list[dict[str, Any]] | None = None
    children: list["ShownColumn"] | None = None


class ColumnRow(msgspec.Struct, frozen=True, gc=False):
    """A column at any depth, whose texts are made when they are needed.

    A page shows few of the rows of a wide table.
    """

    number: int
    """Number of the column, from 1, over all columns of the entity, nested ones included."""
    depth: int
    above: str
    """The qualified name of the column that this one lies in; empty at the top."""
    column: ShownColumn

    @property
    def path(self) -> str:
        """The column's qualified name in the entity, as `address."zip.code"`."""
        return names.child(self.above or None, self.column.name)

    @property
    def type(self) -> str:
        """The type of the column in the spelling of its source."""
        return str(self.column.dataTypeDisplay or self.column.dataType or "")

    @property
    def constraint(self) -> str:
        """`PRIMARY_KEY` as people write it; nothing for a column that may be null."""
        given = self.column.constraint
        return "" if given in NOTHING else str(given).replace("_", " ").lower()


def unfold(columns: Iterable[ShownColumn]) -> list[ColumnRow]:
    """The rows of columns, each followed by the rows of the columns inside it."""
    rows: list[ColumnRow] = []

    def walk(inner: Iterable[ShownColumn], depth: int, above: str) -> None:
        for column in inner:
            row = ColumnRow(len(rows) + 1, depth, above, column)
            rows.append(row)
            if depth < MOST_DEPTH and column.children:
                walk(column.children, depth + 1, row.path)

    walk(columns, 0, "")
    return rows


def matching(rows: list[ColumnRow], text: str) -> list[ColumnRow]:
    """The rows that have a text in their path, type, description or tags, whatever its case."""
    sought = text.strip().lower()
    if not sought:
        return rows
    return [
        row
        for row in rows
        if sought in row.path.lower()
        or sought in row.column.name.lower()
        or sought in row.type.lower()
        or sought in (row.column.description or "").lower()
        or any(sought in tag["tagFQN"].lower() for tag in row.column.tags or ())
    ]
