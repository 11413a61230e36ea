"""Types of the fields of search documents, read off the payloads of all kinds.

A field that no kind has, and a value that a field cannot hold, are then mistakes that can be named.
What organisations define themselves (`extension`) has no type, and any name below it will do. All
that is said here of a field follows from the registry, never from what is stored.
"""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import cache, lru_cache
from typing import Literal, cast

from msgspec import inspect

from domain.aggregate.entity import STATUS
from domain.kinds.bodies.components import Reference
from domain.kinds.entity_kind import EntityKind
from domain.kinds.registry import KINDS
from projections.search.language.openmetadata_fields import NOT_KEPT
from projections.visibility.field_paths import indexed_path

FieldType = Literal[
    "text", "keyword", "number", "boolean", "moment", "object", "undefined", "not kept"
]
"""The type of a field's values.

- `text`: names and words; `keyword`: one of a closed set of values, only ever matched whole
- `moment`: a date or a time, which documents have in milliseconds since 1970
- `object`: fields of its own, and no value
- `undefined`: whatever an organisation put there
- `not kept`: nothing, because only OpenMetadata's own documents have it
"""

_OWN: dict[str, FieldType] = {
    "id": "text",
    "fullyQualifiedName": "text",
    "entityType": "keyword",
    "updatedBy": "text",
    "updatedAt": "moment",
    "version": "number",
    "totalVotes": "number",
    "deleted": "boolean",
    "verdict": "object",
    "verdict.status": "keyword",
}
"""Fields of documents beside those of the payload."""

_MOMENTS = ("timestamp", "At", "Date")
"""Endings of the names of whole numbers that are moments."""

MAX_FIELD = 1_000
"""Characters of a field's name; nothing below a longer path is indexed."""
_NEAR = 3
_COMPARED = 80
"""Characters of an unknown name that are compared with the known ones."""
_PROSE = "description"
_WHOLE = frozenset({"id", "href"})
_NAME = "fullyQualifiedName"


def field_type(field: str) -> FieldType | None:
    """The type of a field as written in a query; None where no kind has such a field."""
    types = _types()
    known = types.get(field)
    if known is None and len(field) <= MAX_FIELD:
        path = indexed_path(field)
        known = types.get(path) or _inherited(path)
    return known


@cache
def moment_paths() -> frozenset[str]:
    """The indexed paths of dates and times."""
    return frozenset(path for path, kind in _types().items() if kind == "moment")


def is_declared(path: str) -> bool:
    """Return True if an indexed path comes from the registry, not from keys of callers."""
    return path in _types()


@cache
def undeclared_keys() -> Mapping[str, tuple[bytes, ...]]:
    """Keys of payloads with objects whose keys nobody has declared.

    With each the names that the JSON of its value has, one of them at least, where there is such an
    object inside it; none where the value is such an object itself.
    """
    inner: dict[str, set[bytes]] = {}
    for path in sorted(_open_paths()):
        key, _, below = path.partition(".")
        names = inner.setdefault(key, set())
        if below:
            names.add(b'"%s"' % path.rpartition(".")[2].encode())
        else:
            names.add(b"")
    return {key: () if b"" in names else tuple(sorted(names)) for key, names in inner.items()}


def near_fields(field: str) -> list[str]:
    """The fields of some kind with the names most like this one, the nearest first."""
    known = {path.lower(): path for path, kind in _types().items() if kind != "not kept"}
    path = indexed_path(field[:_COMPARED]).lower()
    return [known[near] for near in get_close_matches(path, known, _NEAR)]


def fields_below(path: str) -> list[str]:
    """The known fields with a value directly below an object's path, in alphabetical order."""
    start = f"{indexed_path(path)}."
    return sorted(
        known
        for known, kind in _types().items()
        if known.startswith(start) and "." not in known.removeprefix(start) and kind != "object"
    )


def is_object(path: str) -> bool:
    """Return True if some kind has objects at the path, or may have them there."""
    return indexed_path(path) in _object_paths() or field_type(path) == "undefined"


def _inherited(path: str) -> FieldType | None:
    """The type of a field that is known by one that it lies in."""
    types, open_paths = _types(), _open_paths()
    steps = path.split(".")
    if steps[0] not in types:
        return None
    for count in range(len(steps) - 1, 0, -1):
        above = ".".join(steps[:count])
        if above in open_paths:
            return "undefined"
        if types.get(above) == "not kept":
            return "not kept"
    return None


@cache
def _types() -> dict[str, FieldType]:
    """Indexed path -> its type; that of values where there are objects too.

    Texts that are an enumeration in some kinds only are texts; other disagreements are undefined.
    """
    types: dict[str, set[FieldType]] = {path: {kind} for path, kind in _OWN.items()}
    for path, kind in _payload_types():
        types.setdefault(path, set()).add(kind)
    for row in KINDS.values():
        types |= {key: {"boolean"} for key in row.search_defaults}
    agreed: dict[str, FieldType] = dict.fromkeys(NOT_KEPT, "not kept")
    for path, kinds in types.items():
        values = kinds - {"object"} or kinds
        if len(values) == 1:
            agreed[path] = next(iter(values))
        else:
            agreed[path] = "text" if values == {"text", "keyword"} else "undefined"
    return agreed


@cache
def _object_paths() -> frozenset[str]:
    """Paths of objects, also where other kinds have values."""
    known = (*_OWN.items(), *_payload_types())
    return frozenset(path for path, kind in known if kind == "object")


@cache
def _open_paths() -> frozenset[str]:
    """Paths of objects whose keys nobody has declared."""
    return frozenset(
        path for _, path, declared in declared_paths() if isinstance(declared, inspect.DictType)
    )


def _payload_types() -> Iterator[tuple[str, FieldType]]:
    """Each path of each kind's payload with the type that its values have."""
    for row, path, declared in declared_paths():
        if path == STATUS and row.statuses:
            yield path, "keyword"
        elif not (path in row.inherits and isinstance(declared, inspect.StrType)):
            # A text that is inherited has the type that it has in the parent.
            yield path, _type_of(path, declared)


@cache
def declared_paths() -> tuple[tuple[EntityKind, str, inspect.Type], ...]:
    """Each path of each kind's payload, as far as it is searched, as it is declared there."""
    # Kinds share most of their types, which msgspec translates once when it is given all of them.
    bodies = inspect.multi_type_info([row.body for row in KINDS.values()])
    return tuple(
        (row, path, declared)
        for row, body in zip(KINDS.values(), bodies, strict=True)
        for field in cast("inspect.StructType", body).fields
        if field.encode_name in row.keys.difference(row.body.unsearched)
        for path, declared in _walk(field.type, field.encode_name, frozenset())
    )


_TYPES: Mapping[type[inspect.Type], FieldType] = {
    inspect.StructType: "object",
    inspect.DictType: "object",
    inspect.LiteralType: "keyword",
    inspect.EnumType: "keyword",
    inspect.StrType: "text",
    inspect.IntType: "number",
    inspect.FloatType: "number",
    inspect.BoolType: "boolean",
    inspect.DateType: "moment",
    inspect.DateTimeType: "moment",
}


def _type_of(path: str, declared: inspect.Type) -> FieldType:
    if isinstance(declared, inspect.IntType) and path.endswith(_MOMENTS):
        return "moment"
    return _TYPES.get(type(declared), "undefined")


def _walk(
    declared: inspect.Type, path: str, inside: frozenset[tuple[type, str]]
) -> Iterator[tuple[str, inspect.Type]]:
    """The paths at and below one, as documents have them, with the type of each value there.

    Where an object may be written as a text, the object is what is recorded. The type of a
    reference is a kind, one of a closed set.
    """
    match declared:
        case inspect.Metadata(type=inner):
            yield from _walk(inner, path, inside)
        case inspect.UnionType(types=types):
            has_objects = any(isinstance(choice, inspect.StructType) for choice in types)
            for choice in types:
                if isinstance(choice, inspect.NoneType):
                    continue
                if not (has_objects and isinstance(choice, inspect.StrType)):
                    yield from _walk(choice, path, inside)
        case inspect.ListType(item_type=item):
            yield from _walk(item, path, inside)
        case inspect.StructType(cls=cls, fields=fields):
            yield path, declared
            if (cls, path) in inside:
                return
            within = inside | {(cls, path)}
            for field in fields:
                key = field.encode_name
                if cls is Reference and key == "type":
                    yield f"{path}.{key}", inspect.LiteralType(tuple(KINDS))
                    continue
                below = path if key == "children" else f"{path}.{key}"
                yield from _walk(field.type, below, within)
                if key == "tags":
                    yield from _walk(field.type, "tags", within)
        case _:
            yield path, declared


def is_prose(path: str) -> bool:
    """Return True if the texts of the path are sentences, whose words are stemmed."""
    return path.rpartition(".")[2] == _PROSE


@lru_cache(4_096)
def is_whole(path: str) -> bool:
    """Return True if the texts of the path are only ever matched whole.

    Ids, addresses, and the qualified names of an entity's parts are. The qualified names of the
    entity and of what it refers to can be found by their words too.
    """
    return path.rpartition(".")[2] in _WHOLE or path in _names_of_parts()


@cache
def _names_of_parts() -> frozenset[str]:
    """The paths of the qualified names of columns, tasks and whatever else consists in its kind."""
    return frozenset(
        f"{path}.{_NAME}"
        for _, path, declared in declared_paths()
        if isinstance(declared, inspect.StructType) and declared.cls is not Reference
        if any(field.encode_name == _NAME for field in declared.fields)
    )
