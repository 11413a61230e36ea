"""Dates with a time that callers give; those without a zone are in UTC."""

from datetime import UTC, datetime


def with_zone(date: datetime) -> datetime:
    """A date with its zone, which is UTC where it has none."""
    return date if date.tzinfo else date.replace(tzinfo=UTC)


def milliseconds(date: datetime) -> int:
    """The time of a date in milliseconds since 1970."""
    return int(with_zone(date).timestamp() * 1_000)
