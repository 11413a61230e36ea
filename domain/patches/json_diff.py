"""Differences of two JSON values, as the small patches that events store.

A patch holds add, remove and replace operations only. Arrays of named objects (columns, tasks,
tags, references) are aligned by their identity, so that one changed description among thousands
of columns is one operation, not a rewritten array.
"""

from typing import Any

import msgspec
from msgspec import Raw

from domain.patches.json_patch import Operation, escape, same

_IDENTITIES = ("id", "tagFQN", "name")
_TEXTS = frozenset({str})
_elements = msgspec.json.Decoder(list[Raw])


def diff(old: Any, new: Any, path: str = "") -> list[Operation]:
    """Operations that turn `old` into `new`; none when they are the same."""
    if same(old, new):
        return []
    if isinstance(old, dict) and isinstance(new, dict):
        return _diff_objects(old, new, path)
    if isinstance(old, list) and isinstance(new, list):
        aligned = diff_named(old, new, path)
        if aligned is not None:
            return aligned
    return [{"op": "replace", "path": path, "value": new}]


def _diff_objects(old: dict[str, Any], new: dict[str, Any], path: str) -> list[Operation]:
    operations: list[Operation] = []
    for key, value in old.items():
        if key not in new:
            operations.append({"op": "remove", "path": f"{path}/{escape(key)}"})
        elif not same(value, new[key]):
            operations += diff(value, new[key], f"{path}/{escape(key)}")
    for key, value in new.items():
        if key not in old:
            operations.append({"op": "add", "path": f"{path}/{escape(key)}", "value": value})
    return operations


def differing(old: Raw, new: Raw) -> tuple[list[Any], list[Any], int] | None:
    """Return two arrays as JSON without the elements at either end that are alike.

    Alike are elements of the same bytes; no other is decoded. Beside the two lists stands the place
    of their first elements in the arrays. None when `old` or `new` is no array.
    """
    if not all(bytes(memoryview(raw)[:1]) == b"[" for raw in (old, new)):
        return None
    olds, news = _elements.decode(old), _elements.decode(new)
    start, end = 0, min(len(olds), len(news))
    while start < end and olds[start] == news[start]:
        start += 1
    back = 0
    while back < end - start and olds[-1 - back] == news[-1 - back]:
        back += 1
    decode = msgspec.json.decode
    return (
        [decode(raw) for raw in olds[start : len(olds) - back]],
        [decode(raw) for raw in news[start : len(news) - back]],
        start,
    )


def diff_named(old: list[Any], new: list[Any], path: str, start: int = 0) -> list[Operation] | None:
    """The difference of two arrays of named objects whose common part keeps its order.

    `start` is the place of their first elements in the array at `path`. None when the elements have
    no unique identity or were reordered: then the array is replaced as a whole.
    """
    ids = in_order(old, new)
    if ids is None:
        return None
    old_ids, new_ids = ids
    kept = set(old_ids) & set(new_ids)
    operations: list[Operation] = [
        {"op": "remove", "path": f"{path}/{start + place}"}
        for place in range(len(old) - 1, -1, -1)
        if old_ids[place] not in kept
    ]
    before = dict(zip(old_ids, old, strict=True))
    for place, (identity, value) in enumerate(zip(new_ids, new, strict=True)):
        where = f"{path}/{start + place}"
        if identity in kept:
            operations += diff(before[identity], value, where)
        else:
            operations.append({"op": "add", "path": where, "value": value})
    return operations


def in_order(old: list[Any], new: list[Any]) -> tuple[list[str], list[str]] | None:
    """The identities of two arrays' elements; None without them, or where the order differs."""
    old_ids, new_ids = identities(old), identities(new)
    if old_ids is None or new_ids is None:
        return None
    kept = set(old_ids) & set(new_ids)
    if [i for i in old_ids if i in kept] != [i for i in new_ids if i in kept]:
        return None
    return old_ids, new_ids


def identities(array: list[Any]) -> list[str] | None:
    """Return a text for each element of an array that identifies it, None when any has none."""
    for key in _IDENTITIES:
        try:
            held = [element[key] for element in array]
        except (KeyError, TypeError):
            # An element has no such key, or is no object.
            continue
        if _TEXTS.issuperset(map(type, held)):
            return held if len(set(held)) == len(held) else None
    return None
