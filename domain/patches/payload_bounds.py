"""Bounds of an entity: its size, its depth, and the number of its different keys and tags."""

import re
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Raw

from domain.errors import EntityOverLimit, InvalidInput
from domain.patches.json_input import MAX_DEPTH, MAX_VALUES, levels

MAX_ENTITY_BYTES = 10_000_000
"""Bytes of JSON that the values of an entity's keys may take together, as they are recorded."""
MAX_PATHS = 1_000
"""Different dotted paths of keys in an entity; each of them is a field of the search index."""
MAX_MARKS = 5_000
"""Different tags that an entity may have, those of its parts included; and owners, and domains.
Lists are narrowed by each of them."""
_LABEL = re.compile(rb'"tagFQN":("(?:[^"\\]+|\\.)*")')
"""A label in JSON without spaces, in which no text can have what looks like one."""
LEAST_MARKED_BYTES = MAX_MARKS * len(b'"id":""')
"""Bytes that more than MAX_MARKS of anything take at least."""
_CONTAINERS = frozenset({dict, list})


def check_bounds(values: Mapping[str, Any]) -> None:
    """Raise InvalidInput for more than MAX_DEPTH levels, MAX_VALUES values or MAX_PATHS paths.

    Every payload is checked, so the paths are counted only where there may be so many. A value that
    is recorded already may be given as it is (`Raw`), which is decoded only where there may be.
    """
    raws = [bytes(value) for value in values.values() if type(value) is Raw]
    members = sum(raw.count(mark) for raw in raws for mark in (b",", b"[", b"{"))
    for depth, level in enumerate(levels(values), 1):
        if depth > MAX_DEPTH:
            raise InvalidInput(f"values are nested more than {MAX_DEPTH} levels deep")
        members += sum(map(len, level))
    if raws and members > MAX_PATHS:
        check_bounds(
            {
                key: msgspec.json.decode(value) if type(value) is Raw else value
                for key, value in values.items()
            }
        )
        return
    if members > MAX_VALUES:
        raise InvalidInput(f"an entity may hold {MAX_VALUES} values, got {members}")
    if members > MAX_PATHS and _has_many_paths(values):
        raise InvalidInput(
            f"an entity may have {MAX_PATHS} different dotted paths of keys,"
            " those of `extension` and its like included"
        )


def check_entity_bytes(size: int) -> None:
    """Raise EntityOverLimit when an entity would take more than MAX_ENTITY_BYTES.

    `size` is in bytes of JSON, or in characters where the bytes are not known yet.
    """
    if size > MAX_ENTITY_BYTES:
        raise EntityOverLimit(
            f"an entity may take {MAX_ENTITY_BYTES} bytes, and this one would take {size} or more"
        )


def check_marks(body: Mapping[str, Raw], before: Mapping[str, Raw] | None = None) -> None:
    """Raise InvalidInput when a recorded body has more than MAX_MARKS tags, owners or domains.

    A body that had more `before` may keep as many.
    """
    over = {what: count for what, count in _marks(body).items() if count > MAX_MARKS}
    held = _marks(before or {}) if over else {}
    for what, count in over.items():
        if count > held.get(what, 0):
            raise InvalidInput(f"an entity may have {MAX_MARKS} {what}, got {count}")


def _marks(body: Mapping[str, Raw]) -> dict[str, int]:
    """The numbers of what lists are narrowed by, as far as they may be above MAX_MARKS."""
    if sum(map(len, body.values())) < LEAST_MARKED_BYTES:
        return {}
    texts = {key: bytes(raw) for key, raw in body.items() if key != "extension"}
    marks = {key: texts.get(key, b"").count(b'"id":"') for key in ("owners", "domains")}
    if sum(text.count(b'"tagFQN":"') for text in texts.values()) > MAX_MARKS:
        tags = {label[1] for text in texts.values() for label in _LABEL.finditer(text)}
        marks["different tags, those of its parts included"] = len(tags)
    return marks


def _has_many_paths(values: Mapping[str, Any]) -> bool:
    """Return True if there are more than MAX_PATHS; `children` and places in arrays add no step."""
    numbers: dict[tuple[int, str], int] = {}
    """Number of the path above, and a key -> number of the path."""
    shapes: set[tuple[int, tuple[str, ...]]] = set()
    """Number of the path above, and the keys of an object: columns have few different ones."""
    left: list[tuple[int, Any]] = [(0, values)]
    while left and len(numbers) <= MAX_PATHS:
        above, value = left.pop()
        if type(value) is list:
            left += [(above, inner) for inner in value if inner and type(inner) in _CONTAINERS]
            continue
        shape = above, tuple(value)
        if shape not in shapes:
            shapes.add(shape)
            for key in value:
                if key != "children":
                    numbers.setdefault((above, key), len(numbers) + 1)
        left += [
            (above if key == "children" else numbers[above, key], inner)
            for key, inner in value.items()
            if inner and type(inner) in _CONTAINERS
        ]
    return len(numbers) > MAX_PATHS
