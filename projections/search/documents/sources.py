"""`_source` of a hit: the entity's own JSON with its kind, narrowed to the fields asked for.

The objects inside it are read for queries that ask for several things of the same one.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from types import MappingProxyType
from typing import Any

import msgspec

from domain.errors import InvalidInput, about
from domain.events import values_by_key
from domain.kinds.registry import KINDS
from projections.search.documents.documents import Scalar, nested_objects
from projections.search.language.field_values import known_type
from projections.visibility.field_paths import FORMS, NESTED, PathTree, path_tree, pruned

MAX_ANCESTORS = 20
MAX_SOURCES = 64_000_000
"""Bytes of documents in an answer."""
MAX_PATHS = 256
_LONGEST_PATH = 256
"""Characters of the longest path that a request may name."""
EVERYTHING = "*"

ReadSources = Callable[[Sequence[str]], Mapping[str, bytes]]
"""Function of different ids: id -> full JSON of the first entities, among these, that still exist.

It gives as many entities as may be held in memory together, and at least one if any exists.
"""

Show = Callable[[str, bytes], bytes | None]
"""Kind and JSON of an entity -> what the caller may see of it, None for nothing."""

_COMMON: Mapping[str, Any] = MappingProxyType(
    {"owners": [], "tags": [], "deleted": False, "description": ""}
)
"""Keys that OpenMetadata's documents of every kind have -> the value shown if there is none."""


_NULL = msgspec.Raw(b"null")
_REFERENCE_KEYS = ("name", "displayName", "fullyQualifiedName", "deleted")
Fields = Mapping[str, tuple[Scalar, ...]]
"""Path of the document -> an object's values."""
ReadObjects = Callable[[str, str], Iterator[Fields]]
"""An entity's id and an indexed path -> the objects there, none when the entity is gone.

The objects are made as the iterator goes on, so that the caller may stop at any of them.
"""


def in_turn(read_sources: ReadSources, ids: Sequence[str]) -> Iterator[bytes | None]:
    """The documents of these ids, in their order; None for an entity that is gone.

    Few documents are held in memory at a time, as each may have megabytes.
    """
    left = deque(ids)
    while left:
        read = dict(read_sources(left))
        are_gone = not read
        while left and (read or are_gone):
            yield read.pop(left.popleft(), None)


class BoundedSources:
    """Reads the documents of one answer, up to MAX_SOURCES bytes of them."""

    def __init__(self, read_sources: ReadSources) -> None:
        self._read = read_sources
        self._size = 0

    def read(self, ids: Sequence[str]) -> Iterator[bytes | None]:
        """The documents as `in_turn` gives them; raises InvalidInput when they are too much."""
        for whole in in_turn(self._read, ids):
            self.count(len(whole or b""))
            yield whole

    def count(self, size: int) -> None:
        """Count bytes that an answer repeats of a document; raises InvalidInput as `read` does."""
        self._size += size
        if self._size > MAX_SOURCES:
            raise InvalidInput(
                "the documents of all hits, with getHierarchy also of what they stand below, have"
                f" more than {MAX_SOURCES // 1_000_000} MB: ask for fewer with size or topHitsSize,"
                " for none with fetchSource=false or without sourceFields"
            )


def check_paths(paths: Sequence[str], where: str, *, everything: bool = False) -> None:
    """Raise InvalidInput, naming `where`, unless these are paths that documents may have.

    With `everything`, EVERYTHING is such a path too.
    """
    if len(paths) > MAX_PATHS:
        raise InvalidInput(f"{where} may name {MAX_PATHS} fields, got {len(paths)}")
    for path in paths:
        if not all(path.split(".")) or len(path) > _LONGEST_PATH:
            raise InvalidInput(f"{where} must be dotted field names, got {path[:80]!r}")
        if everything and path == EVERYTHING:
            continue
        with about(where):
            known = known_type(path.removesuffix(f".{NESTED}"))
        if known != "undefined" and path.endswith(FORMS):
            raise InvalidInput(f"{where}: {path[:80]!r} is searched, but stands in no document")


def source(kind: str, entity_json: bytes) -> bytes:
    """The entity's finished JSON object with `entityType` added, mostly without decoding it.

    The keys that are not searched are left out.
    """
    if unsearched := KINDS[kind].body.unsearched:
        shown = values_by_key(entity_json)
        kept = {key: value for key, value in shown.items() if key not in unsearched}
        entity_json = msgspec.json.encode(kept)
    head = entity_json.rstrip()[:-1].rstrip()
    comma = b"" if head == b"{" else b","
    return b"".join((head, comma, b'"entityType":', msgspec.json.encode(kind), b"}"))


def with_common_keys(entity_json: bytes) -> bytes:
    """An entity's finished JSON object with the keys that clients look for in every hit.

    A key that the entity does not have is added with an empty value.
    """
    held = values_by_key(entity_json)
    missing = {key: empty for key, empty in _COMMON.items() if held.get(key, _NULL) == _NULL}
    if not missing:
        return entity_json
    return b"%b,%b" % (entity_json.rstrip()[:-1], msgspec.json.encode(missing)[1:])


def narrow(source: bytes, include: Sequence[str], exclude: Sequence[str] = ()) -> bytes:
    """The source with only the included dotted paths (all, when none is named), less the excluded.

    A path names a value and all below it, EVERYTHING the whole source; arrays are narrowed element
    by element. Only the keys that a path goes into are decoded.
    """
    include = () if EVERYTHING in include else include
    if not include and not exclude:
        return source
    value: Any = values_by_key(source)
    if include:
        value = _kept(value, path_tree(include))
    if exclude:
        value = pruned(value, path_tree(exclude))
    return msgspec.json.encode({} if value is None else value)


def _kept(value: Any, tree: PathTree) -> Any:
    """The value with the paths of the tree alone; None when nothing is left."""
    if isinstance(value, msgspec.Raw):
        value = msgspec.json.decode(value)
    if isinstance(value, list):
        kept = [_kept(item, tree) for item in value]
        return [item for item in kept if item is not None] or None
    if not isinstance(value, dict):
        return None
    left: dict[str, Any] = {}
    for key, below in tree.items():
        if key in value:
            inner = value[key] if below is None else _kept(value[key], below)
            if below is None or inner is not None:
                left[key] = inner
    return left or None


def values_for(paths: Iterable[str], entity_json: bytes) -> dict[str, Any]:
    """The decoded values of the keys that dotted paths begin with; no others are decoded."""
    keys = {path.partition(".")[0] for path in paths}
    held = values_by_key(entity_json)
    return {key: msgspec.json.decode(value) for key, value in held.items() if key in keys}


def texts_at(body: Mapping[str, Any], path: str, limit: int) -> list[str]:
    """The texts at a dotted path of a decoded body, up to so many characters in all."""
    parent, _, key = path.rpartition(".")
    return texts_of(objects_at(body, parent), key, limit)


def objects_at(body: Mapping[str, Any], path: str) -> list[Mapping[str, Any]]:
    """The objects at a dotted path of a decoded body, which itself is at the empty path.

    The children of an object are objects at its path.
    """
    if not path:
        return [body]
    parent, _, key = path.rpartition(".")
    waiting = [each[key] for each in objects_at(body, parent) if key in each]
    objects: list[Mapping[str, Any]] = []
    while waiting:
        inner: list[Any] = []
        for value in waiting:
            if isinstance(value, dict):
                objects.append(value)
                if NESTED in value:
                    inner.append(value[NESTED])
            elif isinstance(value, list):
                inner += value
        waiting = inner
    return objects


def texts_of(objects: Iterable[Mapping[str, Any]], key: str, limit: int) -> list[str]:
    """The texts under a key of the objects, up to so many characters in all."""
    texts: list[str] = []
    for value in [each[key] for each in objects if key in each]:
        if isinstance(value, str):
            texts.append(value)
        elif isinstance(value, list):
            texts += [text for text in value if isinstance(text, str)]
    if sum(map(len, texts)) < limit:
        return texts
    ends = accumulate(map(len, texts), initial=0)
    return [text[: limit - end] for text, end in zip(texts, ends, strict=False) if end < limit]


def ancestors(
    hits: Mapping[str, tuple[str, bytes]],
    read: Callable[[Sequence[str]], Iterable[bytes | None]],
    show: Show = lambda _, entity_json: entity_json,
) -> dict[str, list[dict[str, Any]]]:
    """Id -> references of its ancestors, from the root down; `hits` maps ids to kind and JSON.

    Parents are read level by level, those of all hits together, by `read`, which gives documents as
    `in_turn` does; `show` says what may be seen of each. Raises what `read` raises.
    """
    chains: dict[str, list[dict[str, Any]]] = {entity_id: [] for entity_id in hits}
    known: dict[str, tuple[dict[str, Any] | None, dict[str, Any] | None]] = {}
    """Id of an ancestor -> the reference that is shown of it, and its own parent."""
    parents = {entity_id: _parent(*hit) for entity_id, hit in hits.items()}
    for _ in range(MAX_ANCESTORS):
        level = {
            entity_id: parent
            for entity_id, parent in parents.items()
            if parent and all(parent["id"] != seen["id"] for seen in chains[entity_id])
        }
        if not level:
            break
        wanted = {parent["id"]: parent for parent in level.values()}
        new = sorted(wanted.keys() - known.keys())
        for parent_id, whole in zip(new, read(new), strict=True):
            if whole is not None:
                parent = wanted[parent_id]
                shown = show(parent["type"], whole)
                reference = None if shown is None else _reference(parent, shown)
                known[parent_id] = reference, _parent(parent["type"], whole)
        parents = {}
        for entity_id, parent in level.items():
            reference, parents[entity_id] = known.get(parent["id"], (None, None))
            if reference is not None:
                chains[entity_id].insert(0, reference)
    return chains


def _parent(kind: str, entity_json: bytes) -> dict[str, Any] | None:
    """The reference to the parent, from the first of the kind's parent keys that is present."""
    row = KINDS.get(kind)
    if row is None or not row.parents:
        return None
    value = values_by_key(entity_json)
    for key in row.parents:
        if key in value:
            parent = msgspec.json.decode(value[key])
            if isinstance(parent, list):
                parent = parent[0] if parent else None
            if isinstance(parent, dict) and isinstance(parent.get("id"), str) and "type" in parent:
                return parent
    return None


def _reference(parent: Mapping[str, Any], parent_json: bytes) -> dict[str, Any]:
    value = values_by_key(parent_json)
    shown = {key: value[key] for key in _REFERENCE_KEYS if key in value}
    return {"id": parent["id"], "type": parent["type"], **shown}


def object_reader(read_sources: ReadSources) -> ReadObjects:
    """Read objects from the full JSON of their entity."""

    def read(entity_id: str, path: str) -> Iterator[Fields]:
        for source in read_sources((entity_id,)).values():
            yield from nested_objects(msgspec.json.decode(source), path)

    return read
