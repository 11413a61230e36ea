"""Parts of a document as far as they have the shape of the standard: anything may stand anywhere.

A part of another shape is passed over when a document is read, and left as it is when one is
edited.
"""

from typing import Any, TypeGuard

from domain.errors import InvalidInput
from domain.kinds.names import check_name

Element = dict[str, Any]


def elements(holder: Any, key: str) -> list[Element]:
    """The mappings in the list under a key."""
    held = holder.get(key) if isinstance(holder, dict) else None
    return [each for each in held if isinstance(each, dict)] if isinstance(held, list) else []


def mapping(holder: Element, key: str) -> Element:
    """The mapping under a key; an empty one where something else stands, or nothing."""
    held = holder.get(key)
    return held if isinstance(held, dict) else {}


def text(holder: Element, key: str) -> str | None:
    """The text under a key; None for an empty one, and where something else stands."""
    held = holder.get(key)
    return held if isinstance(held, str) and held else None


def is_name(value: Any) -> TypeGuard[str]:
    """Return True if a value may be the name of something in the catalog."""
    try:
        check_name(value if isinstance(value, str) else "")
    except InvalidInput:
        return False
    return True


def put(holder: Element, key: str, value: Any) -> None:
    """Set a key, or remove it where there is no value."""
    if value is None or value == []:
        holder.pop(key, None)
    else:
        holder[key] = value


def append(holder: Element, key: str, element: Element) -> None:
    """Add an element to the list under a key, which replaces what is no list."""
    held = holder.get(key)
    holder[key] = [*held, element] if isinstance(held, list) else [element]


def remove(holder: Element, key: str, element: Element) -> None:
    """Take an element, this very object, out of the list under a key; no empty list stays."""
    put(holder, key, [each for each in holder[key] if each is not element])
