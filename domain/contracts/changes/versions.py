"""Versions of documents, by which a producer announces a change."""

import re
from collections.abc import Iterable
from typing import Any

from domain.contracts.changes.rules import Bump

_VERSION = re.compile(r"(?a)v?(\d{1,9})(?:\.(\d{1,9}))?(?:\.(\d{1,9}))?(?:[-+].{0,100})?")


def announces(before: Any, after: Any, bump: Bump) -> bool:
    """Return True if a version rises over another one by at least a bump.

    Before 1.0.0 the second number announces a break. A document whose version cannot be compared
    announces nothing. A first version is compared with 0.0.0.
    """
    old, new = _numbers(before) or (0, 0, 0), _numbers(after)
    if bump is Bump.NONE:
        return True
    if new is None:
        return False
    compared = {Bump.MAJOR: 1 if old[0] else 2, Bump.MINOR: 2, Bump.PATCH: 3}[bump]
    return new[:compared] > old[:compared]


def highest(versions: Iterable[Any]) -> Any:
    """The highest of the versions that can be compared; None where none can."""
    compared = [each for each in versions if _numbers(each) is not None]
    return max(compared, key=lambda each: _numbers(each) or (), default=None)


def _numbers(version: Any) -> tuple[int, ...] | None:
    match = _VERSION.fullmatch(str(version))
    return None if match is None else tuple(int(each or 0) for each in match.groups())
