"""Status machine of contracts, and how the decimal version of every entity grows."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from domain.errors import InvalidTransition

FIRST_VERSION = 1
"""0.1, in tenths."""
MINOR, MAJOR = 1, 10
"""Steps of the version in tenths: a change, and one that breaks readers."""

TRANSITIONS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "Draft": ("Active", "Deprecated"),
        "Active": ("Deprecated",),
        "Deprecated": ("Active",),
    }
)
"""Status of a contract -> the statuses it may go to (Deprecated -> Active: reinstated)."""

_WIDENINGS = (
    ("TINYINT", "SMALLINT", "INT", "BIGINT", "NUMERIC"),
    ("FLOAT", "DOUBLE"),
    ("CHAR", "VARCHAR", "STRING", "TEXT"),
    ("DATE", "DATETIME", "TIMESTAMP"),
)
_UNLIMITED = float("inf")


def check_transition(current: str, target: str) -> None:
    """Raise InvalidTransition, naming the allowed targets, unless `target` may follow."""
    allowed = TRANSITIONS[current]
    if target not in allowed:
        raise InvalidTransition(current, target, allowed)


def format_version(tenths: int) -> str:
    """The decimal that the API shows: 1 -> "0.1", 10 -> "1.0"."""
    return f"{tenths // 10}.{tenths % 10}"


def version_step(old: Sequence[Any], new: Sequence[Any]) -> int:
    """MAJOR when a column went away or narrowed, else MINOR.

    `old` and `new` are columns as decoded JSON. The rule is OpenMetadata's
    (EntityRepository.ColumnEntityUpdater): removed columns, shorter lengths, lower precision
    or scale; here also a type that does not hold all values of the one before it.
    """
    after = {column["name"]: column for column in new}
    for column in old:
        successor = after.get(column["name"])
        if successor == column:
            continue
        if successor is None or _narrows(column, successor):
            return MAJOR
        children = column.get("children") or (), successor.get("children") or ()
        if version_step(*children) == MAJOR:
            return MAJOR
    return MINOR


def _narrows(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    before, after = old["dataType"], new["dataType"]
    if before != after and not any(
        before in chain and after in chain and chain.index(after) > chain.index(before)
        for chain in _WIDENINGS
    ):
        return True
    if old.get("arrayDataType") != new.get("arrayDataType"):
        return True
    if (length := new.get("dataLength")) is not None and length < old.get("dataLength", _UNLIMITED):
        return True
    return any(size in old and new.get(size, -1) < old[size] for size in ("precision", "scale"))
