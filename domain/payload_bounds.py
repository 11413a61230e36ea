"""How large and how deep an entity may be, and how many different keys it may have."""

from collections.abc import Mapping
from typing import Any

from domain.errors import EntityOverLimit, InvalidInput
from domain.json_input import MAX_DEPTH, MAX_VALUES

MAX_ENTITY_BYTES = 10_000_000
"""Bytes of JSON that the values of an entity's keys may take together, as they are recorded."""
MAX_PATHS = 1_000
"""Different dotted paths of keys in an entity; each of them is a field of the search index."""
_CONTAINERS = frozenset({dict, list})


def check_bounds(values: Mapping[str, Any]) -> None:
    """Raise InvalidInput for more than MAX_DEPTH levels, MAX_VALUES values or MAX_PATHS paths.

    Every payload is checked, so the paths are counted only where there may be so many.
    """
    depth, members = 0, 0
    level: list[Any] = [values]
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            raise InvalidInput(f"values are nested more than {MAX_DEPTH} levels deep")
        members += sum(map(len, level))
        level = [
            inner
            for outer in level
            for inner in (outer.values() if type(outer) is dict else outer)
            if type(inner) in _CONTAINERS
        ]
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


def _has_many_paths(values: Mapping[str, Any]) -> bool:
    """Whether there are more than MAX_PATHS; `children` and places in arrays add no step."""
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
