"""Entities as templates read them: a template may name nothing that is not there."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import msgspec

OPTIONAL: Mapping[str, None] = MappingProxyType(
    dict.fromkeys(
        (
            "displayName",
            "description",
            "entityStatus",
            "owners",
            "domains",
            "tags",
            "deleted",
        )
    )
)
"""Keys that templates name of any entity, and that it has, or shows to a caller, or not."""

MOST_NAME = 500
"""Characters of what an entity is called, which lists show many of."""


def complete(entity: Mapping[str, Any]) -> dict[str, Any]:
    """The decoded JSON of an entity with each of OPTIONAL, None where it has none."""
    return {**OPTIONAL, **entity}


def json_lines(value: Any) -> str:
    """A value as JSON of several lines, as people read it."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


def cut(text: str, most: int) -> str:
    """At most so many characters of a text, with a mark where it goes on."""
    return text if len(text) <= most else f"{text[:most]}…"


def called(entity: Mapping[str, Any]) -> str:
    """What people call an entity, or the one that a reference names; the rest of it is left out."""
    name = str(
        entity.get("displayName") or entity.get("name") or entity.get("fullyQualifiedName") or ""
    )
    return cut(name, MOST_NAME)
