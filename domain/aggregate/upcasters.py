"""Lifts stored payloads of older schemas to the current one, on reading; nothing is rewritten.

A payload carries `schema` when it is above 1. The current schema of an event type is one more
than the highest schema that has an upcaster, so that adding an entry is all a change needs:

    UPCASTERS = {("entity.status-changed", 1): lift}   # lift turns schema 1 into schema 2
"""

from collections.abc import Callable, Mapping
from typing import Any

Payload = dict[str, Any]
Upcasters = Mapping[tuple[str, int], Callable[[Payload], Payload]]

UPCASTERS: Upcasters = {}
"""(type name, schema it lifts from) -> function to the next schema."""


def current_schema(type_name: str, upcasters: Upcasters) -> int:
    """The schema in which events of this type are written."""
    return 1 + max((schema for name, schema in upcasters if name == type_name), default=0)


def upcast(type_name: str, payload: Payload, upcasters: Upcasters) -> Payload:
    """The payload in the current schema; its `schema` key is taken out."""
    schema = payload.pop("schema", 1)
    for step in range(schema, current_schema(type_name, upcasters)):
        payload = upcasters[type_name, step](payload)
    return payload
