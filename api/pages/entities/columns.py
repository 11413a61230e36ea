"""Columns and other named parts of an entity, unfolded to rows of one table."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from api.pages.frame.documents import complete
from domain.kinds import names
from domain.kinds.entity_kind import EntityKind

MOST_DEPTH = 40
_MOST_OBJECT = 64_000
"""Bytes of an object in an entity that is decoded to be shown."""
_NOTHING: tuple[Any, ...] = (None, "", [], "NULL")


class ShownColumn(msgspec.Struct, frozen=True, gc=False):
    """The shown keys of a column; decoding all others too would take three times as long."""

    name: Any = None
    dataType: Any = None
    dataTypeDisplay: Any = None
    arrayDataType: Any = None
    constraint: Any = None
    description: Any = None
    tags: Any = None
    children: list["ShownColumn"] | None = None

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a key, as a dict has it."""
        value = getattr(self, key, None)
        return default if value is None else value

    def __getitem__(self, key: str) -> Any:
        """The value of a key, None for one that the column does not have."""
        return self.get(key)


_by_key = msgspec.json.Decoder(dict[str, msgspec.Raw])
_columns = msgspec.json.Decoder(list[ShownColumn] | None)


def decode(kind: EntityKind, body: bytes) -> dict[str, Any]:
    """The JSON of an entity decoded and complete; of the columns of its kind what is shown.

    A large object, which pages show as JSON and no more of it than its beginning, stays Raw.
    """

    def value(key: str, raw: msgspec.Raw) -> Any:
        if key == kind.columns:
            return _columns.decode(raw)
        view = memoryview(raw)
        is_large = len(view) > _MOST_OBJECT and bytes(view[:1]) == b"{"
        return raw if is_large else msgspec.json.decode(raw)

    return complete({key: value(key, raw) for key, raw in _by_key.decode(body).items()})


class ColumnRow(msgspec.Struct, frozen=True, gc=False):
    """One column, at any depth; its texts are made when they are needed.

    A page shows few of the rows of a wide table.
    """

    number: int
    """Counted from 1 over all columns, nested ones included."""
    depth: int
    above: str
    """The qualified name of the column that it lies in; empty at the top."""
    given: Any
    """The column as the entity has it: a dict or a ShownColumn."""

    @property
    def name(self) -> str:
        """Its name alone."""
        return str(self.given.get("name", ""))

    @property
    def path(self) -> str:
        """Its qualified name in the entity, as `address."zip.code"`."""
        return names.child(self.above or None, self.name)

    @property
    def type(self) -> str:
        """Its type as its source writes it."""
        return str(self.given.get("dataTypeDisplay") or self.given.get("dataType") or "")

    @property
    def constraint(self) -> str:
        """`PRIMARY_KEY` as people write it; nothing for a column that may be null."""
        given = self.given.get("constraint")
        return "" if given in _NOTHING else str(given).replace("_", " ").lower()

    @property
    def description(self) -> str:
        """The column's description."""
        return str(self.given.get("description") or "")

    @property
    def tags(self) -> Sequence[Mapping[str, Any]]:
        """Its tags."""
        return self.given.get("tags") or ()


def column_keys(kind: EntityKind, entity: Mapping[str, Any]) -> Iterator[str]:
    """The keys of an entity that hold columns: lists of objects with a name and a type."""
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
            row = ColumnRow(len(rows) + 1, depth, above, column)
            rows.append(row)
            if depth < MOST_DEPTH and (nested := column.get("children")):
                walk(nested, depth + 1, row.path)

    walk(columns, 0, "")
    return rows


def have(rows: Iterable[ColumnRow], key: str) -> bool:
    """True if any of the columns says anything by a key."""
    return any(row.given.get(key) not in _NOTHING for row in rows)


def matching(rows: list[ColumnRow], text: str) -> list[ColumnRow]:
    """The rows that have a text in their path, type, description or tags, whatever its case."""
    sought = text.strip().lower()
    if not sought:
        return rows
    return [
        row
        for row in rows
        if sought in row.path.lower()
        or sought in row.name.lower()
        or sought in row.type.lower()
        or sought in row.description.lower()
        or any(sought in tag["tagFQN"].lower() for tag in row.tags)
    ]
