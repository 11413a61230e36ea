"""Connections of services: what of them is recorded, which is never a secret.

A log forgets nothing, so that a secret must not reach an event. Connectors bring connections of
their own to every run; what is kept here says where a service is, to people and to OpenMetadata's
client.
"""

import re
from collections.abc import Mapping
from typing import Any

from domain.kinds.bodies.connection_keys import (
    OBJECT_KEYS,
    SECRET_KEYS,
    USER_KEYS,
    WORD_KEYS,
    kept_keys,
)
from domain.kinds.bodies.secret_texts import MASK, holds_secret, names_user_alone

_LONGEST = 2_000
"""A longer text says more than where a service is."""
_WORD = re.compile(r"[A-Za-z][A-Za-z_]{0,39}").fullmatch


def without_secrets(service_type: str, connection: Mapping[str, Any]) -> dict[str, Any] | None:
    """The connection as it is recorded: known keys alone, secrets masked; None if nothing is left.

    What is recorded is recorded again unchanged.
    """
    config = connection.get("config")
    if not isinstance(config, dict):
        return None
    kept = _kept_object(config, kept_keys(service_type))
    return {"config": kept} if kept else None


def _kept_object(given: Mapping[str, Any], keys: frozenset[str]) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for key, value in given.items():
        if value is None:
            continue
        if key in SECRET_KEYS and not isinstance(value, (dict, list)):
            kept[key] = MASK
        elif key in keys:
            kept[key] = _kept(key, value, keys)
    return kept


def _kept(key: str, value: Any, keys: frozenset[str]) -> Any:
    """The value of a key that is kept, without the secrets in it."""
    if isinstance(value, dict):
        return _kept_object(value, keys)
    if isinstance(value, list):
        return [_kept(key, item, keys) for item in value]
    if key in OBJECT_KEYS:
        return MASK
    return MASK if isinstance(value, str) and _holds_secret(key, value) else value


def _holds_secret(key: str, text: str) -> bool:
    """Whether a text may be or hold a secret where `key` has it."""
    if key in WORD_KEYS:
        return _WORD(text) is None
    if len(text) > _LONGEST or (key in USER_KEYS and not names_user_alone(text)):
        return True
    return holds_secret(text)
