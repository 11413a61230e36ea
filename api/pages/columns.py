"""Columns and other named parts of an entity, unfolded to rows of one table."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from domain.kinds import EntityKind

MOST_DEPTH = 40


class ColumnRow(msgspec.Struct, frozen=True):
    """One column, at whatever depth."""

    number: int
    """Counted from 1 over all columns, nested ones included."""
    depth: int
    name: str
    path: str
    """Its name after those of the columns that it lies in."""
    type: str
    constraint: str
    description: str
    tags: tuple[str, ...]


def column_keys(kind: EntityKind, entity: Mapping[str, Any]) -> Iterator[str]:
    """The keys of an entity that hold columns: lists of what has a name and a type."""
    for key, value in entity.items():
        if key == kind.columns or _is_columns(value):
            yield key


def _is_columns(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(each, dict) and "name" in each and "dataType" in each for each in value)
    )


def unfold(columns: Iterable[Any]) -> list[ColumnRow]:
    """The rows of columns, nested ones right after the one that they lie in."""
    rows: list[ColumnRow] = []

    def walk(inner: Iterable[Any], depth: int, above: str) -> None:
        for column in inner:
            name = str(column.get("name", ""))
            path = f"{above}.{name}" if above else name
            rows.append(
                ColumnRow(
                    number=len(rows) + 1,
                    depth=depth,
                    name=name,
                    path=path,
                    type=str(column.get("dataTypeDisplay") or column.get("dataType") or ""),
                    constraint=_constraint(column.get("constraint")),
                    description=str(column.get("description") or ""),
                    tags=tuple(tag["tagFQN"] for tag in column.get("tags") or ()),
                )
            )
            if depth < MOST_DEPTH:
                walk(column.get("children") or (), depth + 1, path)

    walk(columns, 0, "")
    return rows


def _constraint(given: Any) -> str:
    """`PRIMARY_KEY` as people write it; nothing for a column that may be null."""
    return "" if given in (None, "NULL") else str(given).replace("_", " ").lower()


def matching(rows: list[ColumnRow], text: str) -> list[ColumnRow]:
    """The rows that have a text in their path, type, description or tags, whatever its case."""
    sought = text.strip().lower()
    if not sought:
        return rows
    return [
        row
        for row in rows
        if sought in row.path.lower()
        or sought in row.type.lower()
        or sought in row.description.lower()
        or any(sought in tag.lower() for tag in row.tags)
    ]
