"""JSON as callers send it: within bounds, and refused when an object has a key twice."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import msgspec

from domain.errors import InvalidInput, shown

MAX_DEPTH = 64
"""Levels of arrays and objects inside each other, so that no recursion over them runs away."""
MAX_VALUES = 600_000
"""Commas and opening brackets of a text, those inside strings included.

A text holds at most as many values. A value takes 100 bytes of memory, however few it has in the
text, and each is looked at by the garbage collector: no text of this size is costly.
"""
MISFITS = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""Errors by which msgspec refuses what is no JSON of the form that is expected."""
_SMALL = 2_000
"""Bytes up to which a text cannot hold many values."""
_HALF = re.compile(
    rb"(?<!\\)(?:\\\\)*(\\u[dD](?:[89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])"
    rb"|[c-fC-F][0-9a-fA-F]{2}(?<!\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})))"
).search
"""Finds a surrogate that stands alone in a JSON text."""
_CONTAINERS = frozenset({dict, list})
_decoders: dict[Any, Callable[[bytes], Any]] = {}

T = TypeVar("T")


def decode(data: bytes, expected: type[T], what: str) -> T:
    """The value of a JSON text, in time and memory linear in the text.

    Raises InvalidInput, in which `what` names the text, when the text is no JSON in UTF-8, is not
    of the type `expected`, is more than MAX_DEPTH levels deep, may hold more than MAX_VALUES
    values, or has a key twice in one object.
    """
    return decode_counted(data, expected, what)[0]


def decode_counted(data: bytes, expected: type[T], what: str) -> tuple[T, int]:
    """Return the value of `decode`, and an upper bound of its values; raises InvalidInput."""
    brackets = data.count(b"[") + data.count(b"{")
    if len(data) > MAX_VALUES and (size := data.count(b",") + brackets) > MAX_VALUES:
        raise InvalidInput(
            f"{what} may have {MAX_VALUES} commas and opening brackets, got {size} of them"
        )
    try:
        value: T = _decoder(expected)(data)
    except RecursionError:
        raise InvalidInput(f"{what} may be {MAX_DEPTH} levels deep") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{what} is not as expected: {_why(data, error)}") from None
    if brackets > MAX_DEPTH and is_deeper(value, MAX_DEPTH):
        raise InvalidInput(f"{what} may be {MAX_DEPTH} levels deep")
    # A text that equals its value written anew, but for spaces, repeats no key. Most texts that
    # programs write do; the comparison costs a tenth of looking at each object.
    kept = msgspec.json.encode(value)
    if kept != data.strip() and kept != msgspec.json.format(data, indent=-1):
        _refuse_repeated_keys(data, what)
    # A value takes two bytes with what stands between it and the next, a comma or a bracket.
    few = len(data) <= _SMALL
    return value, len(data) // 2 + 1 if few else data.count(b",") + brackets + 1


def _why(data: bytes, error: Exception) -> str:
    """The fault of a text that is no JSON, and its place."""
    try:
        data.decode()
    except UnicodeDecodeError as wrong:
        return f"byte {wrong.start + 1}, {data[wrong.start : wrong.start + 1]!r}, is not UTF-8"
    if isinstance(error, msgspec.ValidationError) or (half := _HALF(data)) is None:
        return str(error)
    return (
        f"{half[1].decode()} at byte {half.start(1) + 1} is half of a character: the other half of"
        " the surrogate pair is missing"
    )


def _decoder(expected: Any) -> Callable[[bytes], Any]:
    """The decoder of a type, made once: making it takes as long as decoding a small text."""
    made = _decoders.get(expected)
    if made is None:
        made = _decoders[expected] = msgspec.json.Decoder(expected).decode
    return made


def is_deeper(value: Any, limit: int) -> bool:
    """Return True if arrays and objects stand inside each other at more than `limit` levels."""
    if type(value) not in _CONTAINERS:
        return False
    return any(depth > limit for depth, _ in enumerate(levels(value), 1))


def levels(value: Any) -> Iterator[list[Any]]:
    """The arrays and objects in an array or an object, level by level, beginning with itself."""
    level = [value]
    while level:
        yield level
        level = [
            inner
            for outer in level
            for inner in (outer.values() if type(outer) is dict else outer)
            if type(inner) in _CONTAINERS
        ]


def _refuse_repeated_keys(data: bytes, what: str) -> None:
    """Raise InvalidInput naming a key that an object of a valid JSON text has more than once.

    Msgspec keeps the last of them and does not tell. The objects are gone through by the standard
    library's scanner, and none is kept.
    """

    def look_at(members: list[tuple[str, Any]]) -> None:
        keys = dict(members)
        if len(keys) != len(members):
            for key, _ in members:
                if key not in keys:
                    raise InvalidInput(f"{what} has the key {shown(key)} twice in one object")
                del keys[key]

    # Numbers stay texts: they may be longer than Python converts.
    scanner = json.JSONDecoder(
        object_pairs_hook=look_at, parse_int=len, parse_float=len, strict=False
    )
    scanner.decode(data.decode())
