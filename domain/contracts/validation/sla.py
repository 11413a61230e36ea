"""The times that a contract promises, held against what was recorded of its table.

A level that was not recorded is left out, never false; retention is never measured.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from types import MappingProxyType
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

from domain.contracts.validation.results import SlaValidation
from domain.dates import milliseconds

_MINUTE = 60_000
_UNITS: Mapping[str, int] = MappingProxyType(
    {
        "minute": _MINUTE,
        "hour": 60 * _MINUTE,
        "day": 1_440 * _MINUTE,
        "week": 7 * 1_440 * _MINUTE,
        "month": 31 * 1_440 * _MINUTE,
        "year": 366 * 1_440 * _MINUTE,
    }
)
"""Unit -> milliseconds, of a month and a year those of the longest."""
_IN_MILLISECONDS = 10**11
"""Numbers from here on are milliseconds since 1970, and smaller ones are seconds."""
_TIME = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)(?::[0-5]\d)?(?: ?(?:UTC|Z))?")
_ZONE = re.compile(r"GMT([+-])(\d\d):(\d\d) \((.*)\)")


class Recorded(msgspec.Struct, frozen=True, kw_only=True):
    """The refreshes and the profile of a table; times are in milliseconds since 1970."""

    refreshes: Sequence[int] = ()
    """Times at which rows were written, the newest ones."""
    profiled_at: int | None = None
    """Time of the newest profile of the column that the SLA names."""
    newest_value: float | str | None = None
    """The greatest value of that column in the profile, a moment."""


def validate(
    sla: Mapping[str, Any], recorded: Recorded, now: int
) -> tuple[SlaValidation, list[str]]:
    """The validation of an SLA, and the names of its promises that were not measured."""
    validation = SlaValidation()
    unmeasured: list[str] = []
    if promise := sla.get("refreshFrequency"):
        if recorded.refreshes:
            age = now - max(recorded.refreshes)
            validation.refresh_frequency_met = age <= promise["interval"] * _UNITS[promise["unit"]]
        else:
            unmeasured.append("refresh frequency")
    if promise := sla.get("maxLatency"):
        newest = moment(recorded.newest_value)
        if newest is not None and recorded.profiled_at is not None:
            validation.actual_latency = max(recorded.profiled_at - newest, 0)
            validation.latency_met = (
                validation.actual_latency <= promise["value"] * _UNITS[promise["unit"]]
            )
        else:
            unmeasured.append("latency")
    if time := sla.get("availabilityTime"):
        met = _available(time, _zone(sla.get("timezone")), recorded.refreshes, now)
        validation.availability_met = met
        if met is None:
            unmeasured.append("availability")
    if sla.get("retention"):
        unmeasured.append("retention")
    return validation, unmeasured


def moments(sla: Mapping[str, Any], recorded: Recorded, now: int) -> Iterator[int]:
    """The moments after `now` at which time alone may change what `validate` finds."""
    if (promise := sla.get("refreshFrequency")) and recorded.refreshes:
        span = promise["interval"] * _UNITS[promise["unit"]]
        yield max(recorded.refreshes) + span + 1
    given = _TIME.fullmatch((sla.get("availabilityTime") or "").strip())
    if given is not None and recorded.refreshes:
        at = datetime.fromtimestamp(now / 1_000, _zone(sla.get("timezone")))
        deadline = at.replace(hour=int(given[1]), minute=int(given[2]), second=0, microsecond=0)
        if deadline <= at:
            deadline += timedelta(days=1)
        yield int(deadline.timestamp() * 1_000)


def _available(time: str, zone: tzinfo, refreshes: Iterable[int], now: int) -> bool | None:
    """True if rows were written on the day of the last deadline, before the deadline.

    None for a time that is none, and where no refresh was ever recorded.
    """
    given = _TIME.fullmatch(time.strip())
    times = list(refreshes)
    if given is None or not times:
        return None
    at = datetime.fromtimestamp(now / 1_000, zone)
    deadline = at.replace(hour=int(given[1]), minute=int(given[2]), second=0, microsecond=0)
    if deadline > at:
        deadline -= timedelta(days=1)
    begins = deadline.replace(hour=0, minute=0)
    first, last = (int(each.timestamp() * 1_000) for each in (begins, deadline))
    return any(first <= each <= last for each in times)


def _zone(name: str | None) -> tzinfo:
    """The time zone that a name of OpenMetadata's list means; UTC without one."""
    given = _ZONE.fullmatch(name or "")
    if given is None:
        return UTC
    try:
        return ZoneInfo(given[4].replace(" ", "_"))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        offset = timedelta(hours=int(given[2]), minutes=int(given[3]))
        return timezone(offset if given[1] == "+" else -offset)


def moment(value: float | str | None) -> int | None:
    """A date or number as milliseconds since 1970; None for what is no moment.

    A number may be in seconds; a date without a zone is of UTC.
    """
    if isinstance(value, str):
        try:
            given = datetime.fromisoformat(value)
        except ValueError:
            return None
        return milliseconds(given)
    if value is None or not 0 <= value < 10**15:
        return None
    return int(value if value >= _IN_MILLISECONDS else value * 1_000)
