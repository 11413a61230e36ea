"""Formats of dates and times, written as OpenMetadata writes them (`yyyy-MM-dd HH:mm:ss`).

Of the letters of Java's formats those are known that a date of the calendar or a time of the day is
written with. What is no letter, or stands between `'`, stands for itself.
"""

import re
from collections.abc import Iterator
from datetime import datetime
from functools import lru_cache
from typing import Literal

from domain.errors import InvalidInput, shown

Moment = Literal["date", "dateTime", "time"]

MAX_FORMAT = 100
"""The most characters of a format."""
_MONTHS = "January February March April May June July August September October November December"
_DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday"


def _names(names: str, letters: int | None = None) -> str:
    return "|".join(name[:letters] for name in names.split())


_OF_DATES = {
    "yyyy": (r"[0-9]{4}", "%Y"),
    "yy": (r"[0-9]{2}", "%y"),
    "MMMM": (_names(_MONTHS), "%B"),
    "MMM": (_names(_MONTHS, 3), "%b"),
    "MM": (r"[0-9]{2}", "%m"),
    "M": (r"[0-9]{1,2}", "%m"),
    "DDD": (r"[0-9]{3}", "%j"),
    "dd": (r"[0-9]{2}", "%d"),
    "d": (r"[0-9]{1,2}", "%d"),
    "EEEE": (_names(_DAYS), "%A"),
    "EEE": (_names(_DAYS, 3), "%a"),
    "E": (_names(_DAYS, 3), "%a"),
}
"""Letters -> the regular expression of what stands for them, and the directive of `strptime`."""
_OF_TIMES = {
    "HH": (r"[0-9]{2}", "%H"),
    "H": (r"[0-9]{1,2}", "%H"),
    "hh": (r"[0-9]{2}", "%I"),
    "h": (r"[0-9]{1,2}", "%I"),
    "mm": (r"[0-9]{2}", "%M"),
    "ss": (r"[0-9]{2}", "%S"),
    **{"S" * digits: (rf"[0-9]{{{digits}}}", "%f") for digits in range(1, 7)},
    "a": ("AM|PM", "%p"),
}
_OF_ZONES = {
    "XXX": (r"Z|[+-][0-9]{2}:[0-9]{2}", "%z"),
    "XX": (r"Z|[+-][0-9]{4}", "%z"),
    "Z": (r"[+-][0-9]{4}", "%z"),
}
_LETTERS = {
    "date": _OF_DATES,
    "time": _OF_TIMES,
    "dateTime": {**_OF_DATES, **_OF_TIMES, **_OF_ZONES},
}
_PIECE = re.compile(r"'(?P<quoted>(?:[^']|'')*)'|(?P<letters>([A-Za-z])\3*)|(?P<other>[^A-Za-z'])")


class DateFormat:
    """A format of dates, of times, or of both."""

    def __init__(self, text: str, moment: Moment) -> None:
        """Raises InvalidInput for a format that is not known."""
        pieces = list(_pieces(text, moment))
        directives = [directive for _, directive in pieces if directive.startswith("%")]
        if not directives or len(set(directives)) < len(directives):
            raise InvalidInput(f"{_not_known(text, moment)}: it names each of its parts once")
        # What stands for itself is cut from the value: `strptime` reads blanks in ways of its own.
        self._parts = re.compile(
            "".join(f"({pattern})" if directive else pattern for pattern, directive in pieces)
        )
        self._directives = " ".join(directives)

    def has(self, value: str) -> bool:
        """Return True if a text is a date or a time that exists, written in this format."""
        parts = self._parts.fullmatch(value)
        if parts is None:
            return False
        try:
            datetime.strptime(" ".join(parts.groups()), self._directives)
        except ValueError:
            return False
        return True


@lru_cache(maxsize=256)
def date_format(text: str, moment: Moment) -> DateFormat:
    """The format with this text; raises InvalidInput for one that is not known."""
    return DateFormat(text, moment)


def _pieces(text: str, moment: Moment) -> Iterator[tuple[str, str]]:
    """The regular expression and the directive of each piece; none of what stands for itself."""
    at = 0
    while at < len(text):
        piece = _PIECE.match(text, at)
        if piece is None or len(text) > MAX_FORMAT:
            raise InvalidInput(_not_known(text, moment))
        at = piece.end()
        if (letters := piece["letters"]) is None:
            literal = piece["other"] or (piece["quoted"] or "'").replace("''", "'")
            yield re.escape(literal), ""
        elif letters in _LETTERS[moment]:
            yield _LETTERS[moment][letters]
        else:
            raise InvalidInput(_not_known(text, moment))


def _not_known(text: str, moment: Moment) -> str:
    letters = ", ".join(_LETTERS[moment])
    return f"{shown(text)} is no format of a {moment}; known are {letters}, and texts in '...'"
