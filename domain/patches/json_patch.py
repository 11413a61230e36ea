"""RFC 6902 JSON Patch: apply any patch, and tell what it changes, within bounds."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from domain.errors import InvalidInput, shown
from domain.patches.json_input import MAX_DEPTH, is_deeper

Operation = dict[str, Any]

_REQUIRED_MEMBERS = {
    "add": ("value",),
    "remove": (),
    "replace": ("value",),
    "move": ("from",),
    "copy": ("from",),
    "test": ("value",),
}
MAX_OPERATIONS = 10_000
"""The most operations of a patch that a caller sends."""
MAX_COPIED = 10_000_000
"""Bytes of JSON that the copies of one patch may make: as many as an entity may have."""
_CONTAINERS = frozenset({dict, list})
_encode = msgspec.json.Encoder().encode


def apply(document: Any, patch: Iterable[Mapping[str, Any]]) -> Any:
    """The document after the patch, applied in order.

    `document` may be changed in place, `patch` never is. Raises InvalidInput naming the operation
    (counted from 0) that cannot be applied.
    """
    copied = 0
    for number, operation in enumerate(patch):
        try:
            name, path = _check(operation)
            if name == "copy":
                value = _resolve(document, pointer(operation["from"]))
                _check_depth(value)
                encoded = _encode(value)
                copied += len(encoded)
                if copied > MAX_COPIED:
                    raise InvalidInput(f"the patch copies more than {MAX_COPIED} bytes of JSON")
                document = _add(document, path, msgspec.json.decode(encoded))
            else:
                document = _apply_one(document, name, path, operation)
        except InvalidInput as error:
            raise InvalidInput(f"JSON Patch operation {number}: {error.message}") from None
    return document


def _check(operation: Mapping[str, Any]) -> tuple[str, list[str]]:
    """Name and path of an operation that has all its members."""
    if not isinstance(operation, Mapping):
        raise InvalidInput("an operation is an object")
    name = operation.get("op")
    if not isinstance(name, str) or name not in _REQUIRED_MEMBERS:
        raise InvalidInput(f"'op' must be one of {', '.join(_REQUIRED_MEMBERS)}, got {shown(name)}")
    for member in ("path", *_REQUIRED_MEMBERS[name]):
        if member not in operation:
            raise InvalidInput(f"'{name}' needs a '{member}'")
    return name, pointer(operation["path"])


def _apply_one(document: Any, name: str, path: list[str], operation: Mapping[str, Any]) -> Any:
    if name == "add":
        return _add(document, path, _copied(operation["value"]))
    if name == "remove":
        return _remove(document, path)
    if name == "replace":
        return _replace(document, path, _copied(operation["value"]))
    if name == "test":
        if not same(_resolve(document, path), operation["value"]):
            where = shown(operation["path"])
            raise InvalidInput(f"the value at {where} is not the one tested for")
        return document
    source = pointer(operation["from"])
    value = _resolve(document, source)
    if path[: len(source)] == source and len(path) > len(source):
        raise InvalidInput("a value cannot be moved into itself")
    return _add(_remove(document, source), path, value)


def _copied(value: Any) -> Any:
    """The value, to be changed by later operations without changing the patch that it is from."""
    return msgspec.json.decode(_encode(value)) if type(value) in _CONTAINERS else value


def changed_keys(patch: Sequence[Mapping[str, Any]], every: Collection[str]) -> frozenset[str]:
    """The keys of an object at or below which a patch changes it.

    A patch that replaces the object itself changes `every` key. The patch must be one that `apply`
    has applied.
    """
    changed = [operation["path"] for operation in patch if operation["op"] != "test"]
    changed += [operation["from"] for operation in patch if operation["op"] == "move"]
    return _first_tokens(changed, every)


def touched_keys(patch: Iterable[Any], every: Collection[str]) -> frozenset[str]:
    """The keys of an object at or below which `apply` looks for a patch of the object.

    A patch that names the object itself touches `every` key. Operations that `apply` refuses may be
    left out.
    """
    pointers: list[str] = []
    for operation in patch:
        if isinstance(operation, Mapping):
            members = operation.get("path"), operation.get("from")
            pointers += (each for each in members if isinstance(each, str))
    with suppress(InvalidInput):
        return _first_tokens(pointers, every)
    return frozenset(every)


def _first_tokens(pointers: Iterable[str], every: Collection[str]) -> frozenset[str]:
    """The first token of each pointer; `every` key where one of them has no token."""
    paths = [pointer(each) for each in pointers]
    return frozenset(every if [] in paths else (path[0] for path in paths))


def check_size(patch: Sequence[Any]) -> None:
    """Raise InvalidInput for a caller's patch that is too long or too deep to be applied."""
    if len(patch) > MAX_OPERATIONS:
        raise InvalidInput(
            f"a JSON Patch may have {MAX_OPERATIONS} operations, this has {len(patch)}"
        )
    _check_depth(list(patch))


def _check_depth(value: Any) -> None:
    if is_deeper(value, MAX_DEPTH):
        raise InvalidInput(f"values are nested more than {MAX_DEPTH} levels deep")


def pointer(text: Any) -> list[str]:
    """The reference tokens of an RFC 6901 JSON Pointer; raises InvalidInput."""
    if not isinstance(text, str) or (text and not text.startswith("/")):
        raise InvalidInput(f"a path is empty or starts with '/', got {shown(text)}")
    tokens = text.split("/")[1:]
    if "~" not in text:
        return tokens
    for token in tokens:
        if "~" in token.replace("~0", "").replace("~1", ""):
            raise InvalidInput(f"'~' is written ~0 and '/' ~1 in a path, got {shown(text)}")
    return [*map(unescape, tokens)]


def escape(key: str) -> str:
    """One reference token of a JSON Pointer as it is written in a path."""
    return key.replace("~", "~0").replace("/", "~1")


def unescape(token: str) -> str:
    """The key that one reference token of a JSON Pointer stands for."""
    return token.replace("~1", "/").replace("~0", "~")


def same(left: Any, right: Any) -> bool:
    """Equality of JSON values: unlike Python's, `true` is not 1 and `false` is not 0."""
    if bool(left != right):
        return False
    if type(left) is str:
        return True
    if type(left) in _CONTAINERS and _encode(left) == _encode(right):
        return True
    return _same(left, right)


def _same(left: Any, right: Any) -> bool:
    """Equality as `same` has it, value by value: for values that Python finds equal."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(_same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_same, left, right))
    return bool(left == right)


def _index(array: Sequence[Any], token: str, *, end: bool) -> int:
    """The place `token` names in `array`; `end` allows the place after the last element."""
    if end and token == "-":
        return len(array)
    plain = token.isascii() and token.isdigit() and (token == "0" or token[0] != "0")
    if not plain or len(token) > 9 or int(token) >= len(array) + end:
        raise InvalidInput(f"{shown(token)} is no place in an array of {len(array)}")
    return int(token)


def _place(parent: Any, token: str) -> Any:
    """The key or place of what `token` names in `parent`."""
    if isinstance(parent, dict):
        if token not in parent:
            raise InvalidInput(f"there is no {shown(token)}")
        return token
    if isinstance(parent, list):
        return _index(parent, token, end=False)
    raise InvalidInput(f"{shown(token)} looks into a value that holds nothing")


def _resolve(document: Any, path: Sequence[str]) -> Any:
    for token in path:
        document = document[_place(document, token)]
    return document


def _add(document: Any, path: Sequence[str], value: Any) -> Any:
    if not path:
        return value
    parent = _resolve(document, path[:-1])
    if isinstance(parent, dict):
        parent[path[-1]] = value
    elif isinstance(parent, list):
        parent.insert(_index(parent, path[-1], end=True), value)
    else:
        raise InvalidInput(f"{shown(path[-1])} cannot be added to a value that holds nothing")
    return document


def _remove(document: Any, path: Sequence[str]) -> Any:
    if not path:
        raise InvalidInput("the whole document cannot be removed")
    parent = _resolve(document, path[:-1])
    del parent[_place(parent, path[-1])]
    return document


def _replace(document: Any, path: Sequence[str], value: Any) -> Any:
    if not path:
        return value
    parent = _resolve(document, path[:-1])
    parent[_place(parent, path[-1])] = value
    return document
