"""Limits of numbers, compared by the numbers that they let through."""

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from fractions import Fraction
from itertools import pairwise
from typing import Any

from domain.contracts.data_types import Relation, of_numbers
from domain.dates import with_zone

Limits = Mapping[str, Any]
"""Key of a limit -> its number, or numbers."""
_PASSES: Mapping[str, Callable[[Fraction, Sequence[float]], bool]] = {
    "minimum": lambda value, limit: value >= limit[0],
    "exclusiveMinimum": lambda value, limit: value > limit[0],
    "maximum": lambda value, limit: value <= limit[0],
    "exclusiveMaximum": lambda value, limit: value < limit[0],
    "mustBe": lambda value, limit: value == limit[0],
    "mustNotBe": lambda value, limit: value != limit[0],
    "mustBeGreaterThan": lambda value, limit: value > limit[0],
    "mustBeGreaterOrEqualTo": lambda value, limit: value >= limit[0],
    "mustBeLessThan": lambda value, limit: value < limit[0],
    "mustBeLessOrEqualTo": lambda value, limit: value <= limit[0],
    "mustBeBetween": lambda value, limit: limit[0] <= value <= limit[1],
    "mustNotBeBetween": lambda value, limit: not limit[0] <= value <= limit[1],
}
THRESHOLDS = tuple(key for key in _PASSES if key.startswith("must"))
"""Keys of the limits of quality rules."""
_UPPER = ("maximum", "exclusiveMaximum", "mustBeLessThan", "mustBeLessOrEqualTo")
_LOWER = ("minimum", "exclusiveMinimum", "mustBeGreaterThan", "mustBeGreaterOrEqualTo")
"""Limits that let more through where they are lower."""


def relation_of_limits(old: Limits, new: Limits, *, whole: bool) -> Relation | None:
    """The numbers that `new` lets through compared with those of `old`; None for other values.

    With `whole`, only whole numbers count, so that above 100 is the same as from 101. Dates are
    numbers, too.
    """
    if len(old) == len(new) == 1:
        # The commonest case: one limit with another number.
        ((key, was), (other, now)) = (*old.items(), *new.items())
        if key == other and type(was) is type(now) is int and key in _UPPER:
            return of_numbers(was, now)
        if key == other and type(was) is type(now) is int and key in _LOWER:
            return of_numbers(-was, -now)
    read = [_read(each) for each in (old, new)]
    if read[0] is None or read[1] is None:
        return None
    edges = {edge for each in read if each for limit in each.values() for edge in limit}
    probes = _probes(sorted(edges), whole=whole)
    was, now = ([_lets(each or {}, probe) for probe in probes] for each in read)
    more = any(after and not before for before, after in zip(was, now, strict=True))
    fewer = any(before and not after for before, after in zip(was, now, strict=True))
    if more and fewer:
        return Relation.UNRELATED
    return Relation.WIDER if more else Relation.NARROWER if fewer else Relation.SAME


def is_upper(limits: Limits) -> bool | None:
    """True if only small counts pass the limits, False if only large ones do; None otherwise."""
    read = _read(limits)
    if not read or len(read) > 1:
        return None
    probes = [
        Fraction(0),
        *(each for each in _probes(sorted(*read.values()), whole=False) if each > 0),
    ]
    passed = [_lets(read, probe) for probe in probes]
    if all(passed) or not any(passed):
        return None
    return {(True, False): True, (False, True): False}.get((passed[0], passed[-1]))


def number(value: Any) -> float | None:
    """The finite number that a value is, or that a text writes; of a date its second since 1970.

    A whole number is exact, however large.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        read = float(value)
    except (ValueError, OverflowError):
        pass
    else:
        if not math.isfinite(read):
            return None
        return value if isinstance(value, int) else read
    try:
        moment = datetime.fromisoformat(str(value))
    except ValueError:
        return None
    return with_zone(moment).timestamp()


def _read(limits: Limits) -> dict[str, list[float]] | None:
    read: dict[str, list[float]] = {}
    for key, value in limits.items():
        given = value if isinstance(value, list) else [value]
        numbers = [each for each in map(number, given) if each is not None]
        if len(numbers) != len(given) or len(given) != (2 if key.endswith("Between") else 1):
            return None
        read[key] = numbers
    return read


def _lets(limits: Mapping[str, Sequence[float]], value: Fraction) -> bool:
    return all(_PASSES[key](value, limit) for key, limit in limits.items())


def _probes(edges: list[float], *, whole: bool) -> list[Fraction]:
    """Numbers to try on limits with these edges: limits that differ treat one of them differently.

    The numbers are exact fractions, since a large float plus one may be the same float.
    """
    if whole:
        near = {math.floor(edge) + step for edge in edges for step in (-1, 0, 1, 2)}
        return [Fraction(each) for each in sorted(near)]
    exact = [Fraction(edge) for edge in edges]
    between = [(low + high) / 2 for low, high in pairwise(exact)]
    outside = [exact[0] - 1, exact[-1] + 1] if exact else []
    return sorted([*exact, *between, *outside])
