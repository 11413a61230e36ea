"""An entity's JSON, from the two columns that hold it."""

from collections.abc import Iterable
from typing import Any

import msgspec

from domain.events import Body
from domain.kinds import EntityKind

_to_keys = msgspec.json.Decoder(Body)


def with_fields(
    kind: EntityKind,
    core: bytes,
    optional: bytes,
    fields: Iterable[str],
    large: Iterable[str] = (),
) -> bytes:
    """The core with optional fields spliced in.

    Of `fields` an absent array shows as []; those of `large` show when they are there.
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
