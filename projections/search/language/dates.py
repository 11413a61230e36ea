"""Dates as queries and documents write them: a text stands for the span of time it leaves open.

`2024-01` is the whole month, `2024-01-31T10:00` the whole minute. Without an offset of its own a
text is read in the given time zone. A text may also be calculated, as in OpenSearch: from `now`, or
from a date with `||` behind it, by steps such as `-1d` and `/d`, which is the whole day.
"""

import re
import time
from calendar import monthrange
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor
from zoneinfo import ZoneInfo

import msgspec

from domain.errors import InvalidInput

DEFAULT_FORMATS = "strict_date_optional_time||epoch_millis"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_FIRST = (1, 1, 1, 0, 0, 0, 0)
_LAST = (9999, 12, 31, 23, 59, 59, 999)
_OFFSET = r"Z|z|[+-][0-9]{2}(?::?[0-9]{2})?"
_TIME = rf"[Tt ]([0-9]{{2}})(?::([0-9]{{2}})(?::([0-9]{{2}})(?:[.,]([0-9]{{1,9}}))?)?)?({_OFFSET})?"
_ISO = re.compile(rf"([0-9]{{4}})(?:-([0-9]{{2}})(?:-([0-9]{{2}})(?:{_TIME})?)?)?")
_LONGEST = 40
"""More characters than an ISO time has with nine digits of a second and an offset."""
_CALCULATED = re.compile(r"now(?:[+\-/]|$)|[^|]*\|\|")
_CALCULATION = re.compile(
    r"(?:now|(?P<date>[^|]{1,40})\|\|)(?P<steps>(?:[+-][0-9]{0,6}[yMwdhHms]|/[yMwdhHms]){0,16})"
)
_STEP = re.compile(r"([+\-/])([0-9]*)([yMwdhHms])")
_FIELDS_OF = {"y": 1, "M": 2, "w": 3, "d": 3, "h": 4, "H": 4, "m": 5, "s": 6}
"""Unit -> how many fields of a time tell its beginning."""
_CLOCK_UNITS = {"h": "hours", "H": "hours", "m": "minutes", "s": "seconds"}
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_NUMBER = re.compile(r"-?[0-9]{1,15}(?:\.[0-9]{0,20})?")
_ZONE_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_+\-/]{0,63}")


class Span(msgspec.Struct, frozen=True):
    """The first and the last millisecond since 1970 that a text stands for.

    A text for a time between two milliseconds stands for none: its `last` is the one before that
    time, its `first` the one after. So whatever is at or after a time is at or after `first`, and
    whatever is after it is after `last`.
    """

    first: int
    last: int


class Now:
    """The moment that `now` means in a search, always the same; the clock is read at its first use.

    An answer to a search that used it does not hold for later searches.
    """

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        """`clock` gives seconds since 1970."""
        self._clock = clock
        self.milliseconds: int | None = None
        """Since 1970; None until somebody asks."""

    def __call__(self) -> int:
        """Milliseconds since 1970."""
        if self.milliseconds is None:
            self.milliseconds = int(self._clock() * 1000)
        return self.milliseconds


def is_day(text: str) -> bool:
    """Return True if the text is a day, without a time."""
    return _DAY.fullmatch(text) is not None and _iso(text, UTC) is not None


def span(
    text: str, formats: str = DEFAULT_FORMATS, zone: str = "Z", now: Now | None = None
) -> Span:
    """The span of time that a text means, in the first of the formats (joined by `||`) that fits.

    Raises InvalidInput for a text in none of them, an unknown format, an unknown time zone, and
    where a text is calculated from a `now` that is not given.
    """
    if is_calculated(text):
        return _calculated(text, formats, zone, now)
    within = _zone(zone)
    names = [name.strip() for name in formats.split("||")]
    for name in names:
        if name not in _FORMATS:
            raise InvalidInput(
                f"format must be one of {', '.join(_FORMATS)}, or several with ||,"
                f" got {name[:40]!r}"
            )
    for name in names:
        if read := _FORMATS[name](text, within):
            return read
    raise InvalidInput(
        f"{text[:40]!r} is no date: 2024-01-31, 2024-01-31T10:00:00Z or milliseconds since 1970"
        if formats == DEFAULT_FORMATS
        else f"{text[:40]!r} is no date in the format {formats[:80]}"
    )


def is_calculated(text: str) -> bool:
    """Return True if the text begins as one that stands for a calculation."""
    return _CALCULATED.match(text) is not None


def _calculated(text: str, formats: str, zone: str, now: Now | None) -> Span:
    written = _CALCULATION.fullmatch(text)
    if not written:
        raise InvalidInput(
            f"{text[:40]!r} is no date: after now, or after a date and ||, steps such as -1d or +2h"
            " are expected, or /d for the whole day; the units are y, M, w, d, h, m and s"
        )
    if written["date"] is not None:
        first = span(written["date"], formats, zone).first
    elif now is None:
        raise InvalidInput(f"{text[:40]!r}: there is no now here")
    else:
        first = now()
    within = _zone(zone)
    try:
        low = high = (_EPOCH + first * _MILLISECOND).astimezone(within)
        for sign, count, unit in _STEP.findall(written["steps"]):
            if sign == "/":
                low = _floor(low, unit)
                high = _moved(_floor(high, unit), 1, unit) - _MILLISECOND
            else:
                steps = int(f"{sign}{count or 1}")
                low, high = _moved(low, steps, unit), _moved(high, steps, unit)
        return Span((low - _EPOCH) // _MILLISECOND, (high - _EPOCH) // _MILLISECOND)
    except (ValueError, OverflowError):
        raise InvalidInput(f"{text[:40]!r} is before the year 1 or after 9999") from None


def _moved(moment: datetime, count: int, unit: str) -> datetime:
    """The moment `count` units later: days and longer on the calendar, others on the clock."""
    if unit in "yM":
        months = moment.year * 12 + moment.month - 1 + count * (12 if unit == "y" else 1)
        year, month = divmod(months, 12)
        day = min(moment.day, monthrange(year, month + 1)[1])
        return moment.replace(year=year, month=month + 1, day=day)
    if unit in "wd":
        return moment + timedelta(days=count * (7 if unit == "w" else 1))
    hours = timedelta(**{_CLOCK_UNITS[unit]: count})
    return (moment.astimezone(UTC) + hours).astimezone(moment.tzinfo)


def _floor(moment: datetime, unit: str) -> datetime:
    """The beginning of the year, month, week (on Monday), day, hour, minute or second."""
    if unit == "w":
        moment -= timedelta(days=moment.weekday())
    fields = (moment.year, moment.month, moment.day, moment.hour, moment.minute, moment.second)
    kept = fields[: _FIELDS_OF[unit]]
    return datetime(*kept, *_FIRST[len(kept) : 6], tzinfo=moment.tzinfo)  # type: ignore[misc, arg-type]


def moment(text: str) -> int | None:
    """The millisecond since 1970 in which an ISO date or time begins.

    Without an offset of its own the text is read in UTC. None for a text that is neither.
    """
    return _moment(text) if len(text) <= _LONGEST else None


@lru_cache(4_096)
def _moment(text: str) -> int | None:
    read = _iso(text, UTC)
    return min(read.first, read.last) if read else None


def _iso(text: str, zone: tzinfo) -> Span | None:
    written = _ISO.fullmatch(text)
    if not written:
        return None
    *fields, fraction, offset = written.groups()
    given = [int(field) for field in fields if field is not None]
    if fraction:
        given.append(int(fraction[:3].ljust(3, "0")))
    try:
        within = _zone(offset) if offset else zone
        first = (*given, *_FIRST[len(given) :])
        last = (*given, *_LAST[len(given) :])
        if len(given) < 3:
            last = (*last[:2], monthrange(*last[:2])[1], *last[3:])
        beyond = bool(fraction and fraction[3:].strip("0"))
        return Span(_since_1970(first, within) + beyond, _since_1970(last, within))
    except (ValueError, OverflowError, InvalidInput):
        return None


def _since_1970(fields: tuple[int, ...], zone: tzinfo) -> int:
    """Milliseconds of year, month, day, hour, minute, second and millisecond in a zone."""
    moment = datetime(*fields[:6], tzinfo=zone)  # type: ignore[misc, arg-type]
    return (moment - _EPOCH) // _MILLISECOND + fields[6]


def _day(text: str, zone: tzinfo) -> Span | None:
    return _iso(text, zone) if _DAY.fullmatch(text) else None


def _millis(text: str, zone: tzinfo) -> Span | None:
    return _around(Fraction(text)) if _NUMBER.fullmatch(text) else None


def _seconds(text: str, zone: tzinfo) -> Span | None:
    if not _NUMBER.fullmatch(text):
        return None
    if "." in text:
        return _around(Fraction(text) * 1000)
    return Span(int(text) * 1000, int(text) * 1000 + 999)


def _around(milliseconds: Fraction) -> Span:
    return Span(ceil(milliseconds), floor(milliseconds))


_FORMATS: Mapping[str, Callable[[str, tzinfo], Span | None]] = {
    "strict_date_optional_time": _iso,
    "date_optional_time": _iso,
    "epoch_millis": _millis,
    "epoch_second": _seconds,
    "strict_date": _day,
    "yyyy-MM-dd": _day,
}


def _zone(text: str) -> tzinfo:
    """The zone of `Z`, an offset such as `+01:00`, or a name such as `Europe/Berlin`."""
    if text in ("Z", "z", "UTC"):
        return UTC
    if re.fullmatch(_OFFSET, text):
        digits = text[1:].replace(":", "").ljust(4, "0")
        hours, minutes = int(digits[:2]), int(digits[2:])
        if hours < 24 and minutes < 60:
            offset = timedelta(hours=hours, minutes=minutes)
            return timezone(offset if text[0] == "+" else -offset)
    elif _ZONE_NAME.fullmatch(text):
        try:
            return ZoneInfo(text)
        except (OSError, ValueError, LookupError):
            pass
    raise InvalidInput(
        f"time_zone must be Z, an offset such as +01:00 or a name such as Europe/Berlin,"
        f" got {text[:40]!r}"
    )
