"""Entities as templates read them: a template may name nothing that is not there."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

import msgspec
from msgspec import Raw

from domain.errors import cut
from domain.events import values_by_key

OPTIONAL = ("displayName", "description", "entityStatus", "owners", "domains", "tags", "deleted")
"""Keys that templates name of any entity, and that it has, or shows to a caller, or not."""

MOST_FACT = 10_000
"""Characters of a fact that a page shows."""
MOST_NAME = 500
"""Characters of what an entity is called, which lists show many of."""

_BYTES_OF_CHARACTER = 4
"""The most bytes that a character takes."""
_ENDS: Mapping[bytes, bytes] = MappingProxyType({b"{": b"}", b"[": b"]"})
_elements = msgspec.json.Decoder(list[Raw])


def complete(entity: Mapping[str, Any]) -> dict[str, Any]:
    """The decoded JSON of an entity with each of OPTIONAL, None where it has none."""
    return {**dict.fromkeys(OPTIONAL), **entity}


def json_lines(value: bytes | Raw, depth: int = 0, step: int = 16_384) -> Iterator[bytes]:
    """The chunks of a JSON value in several lines, each indented by its depth.

    Deep values make lines many times as long as themselves: no step formats more than `step` bytes,
    and a reader takes only the chunks that it needs. `depth` is the depth of the value.
    """
    view, line = memoryview(value), b"\n" + b"  " * depth
    if len(view) <= step:
        yield msgspec.json.format(bytes(view), indent=2).replace(b"\n", line)
        return
    first = bytes(view[:1])
    if first == b"{":
        inside = [
            (b"%b: " % msgspec.json.encode(key), raw) for key, raw in values_by_key(value).items()
        ]
    elif first == b"[":
        inside = [(b"", raw) for raw in _elements.decode(value)]
    else:
        yield bytes(view)
        return
    before = first
    for key, raw in inside:
        yield b"%b%b  %b" % (before, line, key)
        yield from json_lines(raw, depth + 1, step)
        before = b","
    yield line + _ENDS[first] if inside else first + _ENDS[first]


def formatted(value: Any, most: int) -> str:
    """The first `most` characters of a value as people read it: of a text, or else of its JSON.

    The value is decoded, or JSON as it is (Raw). Nothing is formatted that is not shown.
    """
    if isinstance(value, Raw) and bytes(memoryview(value)[:1]) == b'"':
        value = msgspec.json.decode(value)
    if isinstance(value, str):
        return value[:most]
    most_bytes = _BYTES_OF_CHARACTER * most
    shown = bytearray()
    for chunk in json_lines(value if isinstance(value, Raw) else msgspec.json.encode(value)):
        shown += chunk[:most_bytes]
        if len(shown) >= most_bytes:
            break
    return shown.decode(errors="ignore")[:most]


def plain(value: Any) -> str | None:
    """A single value, or a list of single ones, as a fact of a page, cut; None of any other."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list) and all(isinstance(each, str | int | float) for each in value):
        return cut(", ".join(map(str, value)), MOST_FACT)
    return cut(str(value), MOST_FACT) if isinstance(value, str | int | float) else None


def facts(given: Mapping[str, Any], *known: str) -> list[tuple[str, str]]:
    """The keys of an object that are not `known`, as people write them, with their values, cut."""
    return [
        (
            words(key).capitalize(),
            plain(value) or cut(msgspec.json.encode(value).decode(), MOST_FACT),
        )
        for key, value in given.items()
        if key not in known and value not in (None, [], {}, "")
    ]


def words(key: str) -> str:
    """A key of JSON as people write it: `databaseSchema` is `database schema`."""
    spaced = "".join(f" {each.lower()}" if each.isupper() else each for each in key)
    return spaced.replace("_", " ").strip()


def called(entity: Mapping[str, Any]) -> str:
    """The name of an entity or of a reference for people."""
    name = str(
        entity.get("displayName") or entity.get("name") or entity.get("fullyQualifiedName") or ""
    )
    return cut(name, MOST_NAME)
