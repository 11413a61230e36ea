"""The declared types of the payloads of all kinds."""

from functools import cache
from typing import cast

from msgspec import inspect

from domain.kinds.registry import KINDS


@cache
def payload_fields() -> dict[str, tuple[inspect.Field, ...]]:
    """Name of a kind -> the fields of its payload.

    Kinds share most of their types, which msgspec translates once when it is given all of them.
    """
    declared = inspect.multi_type_info([kind.body for kind in KINDS.values()])
    return {
        name: cast("inspect.StructType", body).fields
        for name, body in zip(KINDS, declared, strict=True)
    }
