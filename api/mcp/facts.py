"""Facts of entities for agents, apart from the texts that people and connectors wrote."""

from collections.abc import Mapping
from typing import Any

from msgspec import Raw

from api.mcp.answers import MOST_TEXT, Text, text_of
from api.mcp.cleaning import plain
from domain.events import values_by_key

LONGEST_VALUE = 512
"""Characters from which on a value without spaces counts as a text."""
_NAMES = ("name", "fullyQualifiedName", "tagFQN", "type", "id", "href")
"""Keys of values that name something, which is no text however many words it has."""
REFERENCE = frozenset({"type", "id", "fullyQualifiedName"})
"""Keys that a reference to an entity has."""


def exact_or_id(name: str, entity_id: str) -> str:
    """The name by which an agent may ask again: the id where the name holds what nobody sees."""
    return name if plain(name) == name else entity_id


def reference_of(value: Mapping[str, Any]) -> dict[str, Any]:
    """A reference to an entity, as a call may name it."""
    name = exact_or_id(str(value["fullyQualifiedName"]), str(value["id"]))
    gone = {"deleted": True} if value.get("deleted") else {}
    return {"kind": plain(str(value["type"])), "name": name, **gone}


def at_path(keys: dict[str, Raw], path: str) -> Raw | None:
    """The value at a dotted path of an object; None without one."""
    first, *steps = path.split(".")
    raw = keys.get(first)
    for step in steps:
        if raw is None or bytes(memoryview(raw)[:1]) != b"{":
            return None
        raw = values_by_key(raw).get(step)
    return raw


def is_text(path: str, value: str) -> bool:
    """True for what somebody wrote: a value of words that names nothing."""
    if path.rpartition(".")[2] in _NAMES:
        return False
    return len(value) > LONGEST_VALUE or any(each.isspace() for each in value)


def facts_of(path: str, value: Any, texts: list[Text], most: int = MOST_TEXT) -> Any:
    """A value without its texts, which are added to `texts` under their paths; None for a text.

    Each text is cut to `most` characters.
    """
    if isinstance(value, str):
        if not is_text(path, value):
            return plain(value)
        texts.append(text_of(path, value, most=most))
        return None
    if isinstance(value, list):
        parts = [facts_of(f"{path}.{at}", each, texts, most) for at, each in enumerate(value)]
        return [each for each in parts if each is not None]
    if not isinstance(value, dict):
        return value
    if value.keys() >= REFERENCE:
        return reference_of(value)
    facts = {
        (name := plain(key)): facts_of(f"{path}.{name}" if path else name, inner, texts, most)
        for key, inner in value.items()
    }
    return {key: inner for key, inner in facts.items() if inner is not None}
