"""What the fields of search documents hold, read off the payloads of all kinds.

A value that a field cannot hold is then a mistake that can be named, and dates can be written as
dates where milliseconds are kept. What organisations define themselves (`extension`) has no type.
"""

from collections.abc import Iterator
from functools import cache
from typing import Literal

import msgspec
from msgspec import inspect

from domain.registry import KINDS
from projections.visibility.field_paths import indexed_path

FieldType = Literal["text", "number", "boolean", "moment", "date"]
"""A moment is kept in milliseconds since 1970, a date as ISO 8601 text."""

_OWN: dict[str, FieldType] = {
    "id": "text",
    "fullyQualifiedName": "text",
    "entityType": "text",
    "updatedBy": "text",
    "updatedAt": "moment",
    "version": "number",
    "totalVotes": "number",
    "deleted": "boolean",
}
"""What documents hold beside the payload."""

_MOMENTS = ("timestamp", "At", "Date")
"""Endings of the names of whole numbers that are moments."""


def field_type(field: str) -> FieldType | None:
    """The type of a field as written in a query; None where it has none, or several."""
    return _types().get(indexed_path(field))


def is_object(path: str) -> bool:
    """Whether some kind has objects at the path, or may have them there."""
    path = indexed_path(path)
    below = f"{path}."
    return path.partition(".")[0] == "extension" or any(p.startswith(below) for p in _types())


@cache
def _types() -> dict[str, FieldType]:
    found: dict[str, set[FieldType]] = {path: {kind} for path, kind in _OWN.items()}
    for row in KINDS.values():
        for field in msgspec.structs.fields(row.body):
            if field.encode_name in row.keys:
                declared = inspect.type_info(field.type)
                for path, kind in _leaves(declared, field.encode_name, frozenset()):
                    found.setdefault(path, set()).add(kind)
        found |= {key: {"boolean"} for key in row.search_defaults}
    return {path: kinds.pop() for path, kinds in found.items() if len(kinds) == 1}


def _leaves(
    declared: inspect.Type, path: str, inside: frozenset[tuple[type, str]]
) -> Iterator[tuple[str, FieldType]]:
    match declared:
        case inspect.Metadata(type=inner):
            yield from _leaves(inner, path, inside)
        case inspect.UnionType(types=types):
            for choice in types:
                yield from _leaves(choice, path, inside)
        case inspect.ListType(item_type=item):
            yield from _leaves(item, path, inside)
        case inspect.StructType(cls=cls, fields=fields) if (cls, path) not in inside:
            within = inside | {(cls, path)}
            for field in fields:
                key = field.encode_name
                below = path if key == "children" else f"{path}.{key}"
                yield from _leaves(field.type, below, within)
                if key == "tags":
                    yield from _leaves(field.type, "tags", within)
        case inspect.IntType():
            yield path, "moment" if path.endswith(_MOMENTS) else "number"
        case inspect.FloatType():
            yield path, "number"
        case inspect.BoolType():
            yield path, "boolean"
        case inspect.StrType() | inspect.LiteralType():
            yield path, "text"
        case inspect.DateType() | inspect.DateTimeType():
            yield path, "date"
