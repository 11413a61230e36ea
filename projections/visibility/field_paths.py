"""The dotted paths of a kind's body, and which of them an entity can be shown without.

`children` adds no step: `columns.tags` are the tags of columns at every depth, as in search.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache, lru_cache
from typing import Any, Union

import msgspec
from msgspec.inspect import (
    AnyType,
    DictType,
    Field,
    ListType,
    Metadata,
    StructType,
    Type,
    UnionType,
    type_info,
)

from domain.aggregate.entity import STATUS
from domain.kinds.bodies.components import Reference
from domain.kinds.registry import ALL_KINDS

NESTED = "children"
FORMS = (".keyword", ".ngram", ".compound")
"""Endings of names of fields in queries, which say in what form OpenMetadata indexes a text."""
_CHILDREN = re.compile(r"(?:\.children)+(?=\.)")

_ALIASES = {
    "columnNames": "columns.name",
    "columnNamesFuzzy": "columns.name",
    "fqnParts": "fullyQualifiedName",
    "ownerName": "owners.name",
    "ownerDisplayName": "owners.name",
    "tier.tagFQN": "tags.tagFQN",
    # References are recorded with names alone, and shown under them where there is no other name.
    "owners.displayName": "owners.name",
    "domains.displayName": "domains.name",
    "service.displayName": "service.name",
    "database.displayName": "database.name",
    "databaseSchema.displayName": "databaseSchema.name",
}
"""Paths that OpenMetadata's documents have beside the entity's own."""


PathTree = Mapping[str, Union["PathTree", None]]
"""Dotted paths by their steps; None stands for everything below."""


class FieldPath(msgspec.Struct, frozen=True):
    """One path of a kind's body with its properties."""

    open: bool
    """True if keys that the kind does not fix may be below the path."""
    needed: bool
    """True if an entity, or the object that holds the field, is not whole without the field."""


@cache
def field_paths(kind_name: str) -> Mapping[str, FieldPath]:
    """Every path of a kind's body -> its FieldPath; references have nothing below them."""
    kind = ALL_KINDS[kind_name]
    body = type_info(kind.body)
    assert isinstance(body, StructType)
    paths: dict[str, FieldPath] = {}
    for field in body.fields:
        key = field.encode_name
        if key in kind.keys:
            fixed = key in ("name", STATUS) or key in kind.fixed
            needed = fixed or (field.required and key not in kind.optional)
            paths |= _walk(field, key, needed, (body,))
        elif key in kind.apart:
            paths[key] = FieldPath(open=False, needed=False)
    if kind.agreement:
        for path in ("latestResult", "verdict", "verdict.status"):
            paths[path] = FieldPath(open=False, needed=False)
    return paths


def field_path(kind_name: str, path: str) -> FieldPath | None:
    """The properties of a path; None when entities of the kind have no such path.

    Below a key with paths of its own (`EntityKind.apart`) stands a document of any shape: each path
    there has the properties of the key.
    """
    first = path.partition(".")[0]
    apart = first if first in ALL_KINDS[kind_name].apart and all(path.split(".")) else path
    return field_paths(kind_name).get(apart)


def _walk(
    field: Field, path: str, needed: bool, above: tuple[StructType, ...]
) -> dict[str, FieldPath]:
    leaves = list(_alternatives(field.type))
    is_open = any(isinstance(leaf, (AnyType, DictType)) for leaf in leaves)
    paths = {path: FieldPath(is_open, needed)}
    for leaf in leaves:
        if isinstance(leaf, StructType) and leaf.cls is not Reference:
            if any(leaf.cls is seen.cls for seen in above):
                continue
            for inner in leaf.fields:
                if inner.encode_name != NESTED:
                    below = f"{path}.{inner.encode_name}"
                    paths |= _walk(inner, below, inner.required, (*above, leaf))
    return paths


def _alternatives(given: Type) -> Iterator[Type]:
    """The types that a value, or an element of an array, may have."""
    if isinstance(given, UnionType):
        for each in given.types:
            yield from _alternatives(each)
    elif isinstance(given, ListType):
        yield from _alternatives(given.item_type)
    elif isinstance(given, Metadata):
        yield from _alternatives(given.type)
    else:
        yield given


def path_tree(paths: Iterable[str]) -> PathTree:
    """Dotted paths by their steps; a path that lies below another one is left out."""
    root: dict[str, Any] = {}
    for path in paths:
        here = root
        *steps, last = path.split(".")
        for step in steps:
            inner = here.setdefault(step, {})
            if inner is None:
                break
            here = inner
        else:
            here[last] = None
    return root


def pruned(value: Any, tree: PathTree, *, through: Collection[str] = ()) -> Any:
    """The value without the paths of the tree; a key in `through` adds no step to them.

    Only what a path goes into is decoded.
    """
    if isinstance(value, msgspec.Raw):
        value = msgspec.json.decode(value)
    if isinstance(value, list):
        return [pruned(item, tree, through=through) for item in value]
    if not isinstance(value, dict):
        return value
    left: dict[str, Any] = {}
    for key, inner in value.items():
        if key in through:
            left[key] = pruned(inner, tree, through=through)
        elif key not in tree:
            left[key] = inner
        elif (below := tree[key]) is not None:
            left[key] = pruned(inner, below, through=through)
    return left


def indexed_path(field: str) -> str:
    """The path under which a field as written in a query is indexed, without `.keyword`."""
    return (_remembered if len(field) <= _SHORT else _indexed_path)(field)


def _indexed_path(field: str) -> str:
    path = field
    for form in FORMS:
        path = path.removesuffix(form)
    first, dot, below = path.partition(".")
    path = first + _CHILDREN.sub("", dot + below)
    return _ALIASES.get(path, path)


_SHORT = 128
"""Characters of a field whose path is remembered."""
_remembered = lru_cache(1_024)(_indexed_path)
