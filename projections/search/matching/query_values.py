"""Texts of a query read as values: numbers and dates."""

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
