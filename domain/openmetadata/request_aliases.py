"""Keys of OpenMetadata's older requests, and the keys that they are short for."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from domain.errors import InvalidInput

REQUEST_ALIASES: Mapping[str, str] = MappingProxyType({"domain": "domains", "owner": "owners"})
"""Alias -> key. An alias holds the one element of what is now a list."""


def unalias(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """A decoded payload with its aliases replaced: the argument itself when it has none.

    Raises InvalidInput when an alias stands beside the key it is short for.
    """
    given = [alias for alias in REQUEST_ALIASES if alias in values]
    if not given:
        return values
    plain = {key: value for key, value in values.items() if key not in given}
    for alias in given:
        key = REQUEST_ALIASES[alias]
        if key in values:
            raise InvalidInput(f"{alias} and {key} say the same thing: give one of them")
        if values[alias] is not None:
            plain[key] = [values[alias]]
    return plain
