"""An entity's JSON, made of the two parts in which the sorted read model keeps it."""

from collections.abc import Iterable
from typing import Any

import msgspec

from domain.events import Body
from domain.kinds.entity_kind import EntityKind

_to_keys = msgspec.json.Decoder(Body)


def with_fields(
    kind: EntityKind,
    core: bytes,
    optional: bytes,
    fields: Iterable[str],
    large: Iterable[str] = (),
) -> bytes:
    """The JSON object `core` with some of the members of the JSON object `optional` added.

    A field named in `fields` that the entity does not have shows as [] when it is an array of the
    kind, else not at all; a field named in `large` shows only when the entity has it.
    """
    held = _to_keys.decode(optional)
    wanted: dict[str, Any] = {field: held[field] for field in large if field in held}
    for field in fields:
        if field in held:
            wanted[field] = held[field]
        elif field in kind.arrays:
            wanted[field] = []
    if not wanted:
        return core
    return core[:-1] + b"," + msgspec.json.encode(wanted)[1:]


def with_all_fields(core: bytes, optional: bytes) -> bytes:
    """The JSON object `core` with every member of the JSON object `optional` added."""
    return core if optional == b"{}" else core[:-1] + b"," + optional[1:]
