"""Finds the known name that was meant by one that differs by its case or by one slip."""

from collections.abc import Iterable

_LEAST_LENGTH = 4
"""Least length of a known name in which a slip is forgiven: one slip turns `is` into `as`."""


def meant_name(given: str, known: Iterable[str]) -> str | None:
    """The first known name that `given` differs from by case, or else by case and one slip.

    A slip is a letter too many, too few, another one, or two neighbours exchanged.
    """
    lowered = given.lower()
    slips = None
    for name in known:
        if name.lower() == lowered:
            return name
        if slips is None and len(name) >= _LEAST_LENGTH and _is_one_slip(lowered, name.lower()):
            slips = name
    return slips


def _is_one_slip(one: str, other: str) -> bool:
    """Return True if two different texts are one slip apart."""
    if abs(len(one) - len(other)) > 1:
        return False
    at = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), None)
    if at is None:
        return True
    if len(one) > len(other):
        return one[at + 1 :] == other[at:]
    if len(one) < len(other):
        return one[at:] == other[at + 1 :]
    exchanged = one[at : at + 2] == other[at : at + 2][::-1]
    return one[at + 1 :] == other[at + 1 :] or (exchanged and one[at + 2 :] == other[at + 2 :])
