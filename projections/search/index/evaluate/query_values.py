"""Texts of a query read as values: numbers, dates, and the literal ends of a wildcard pattern."""

import math

from projections.search.language import dates


def as_number(text: str) -> float | None:
    """A finite number, None when the text is none."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and "_" not in text else None


def as_moment(text: str) -> float | None:
    """A number as it is, a date or time in milliseconds since 1970 (UTC unless it says)."""
    number = as_number(text)
    return dates.moment(text) if number is None else number


def literals(pattern: str) -> list[str] | None:
    """The texts before, between and after the stars of a wildcard pattern; None if it has a `?`."""
    found = [""]
    literal = starred = False
    for character in pattern:
        if literal or character not in "\\*?":
            found[-1] += character
            literal = starred = False
        elif character == "\\":
            literal = True
        elif character == "?":
            return None
        elif not starred:
            found.append("")
            starred = True
    return found
