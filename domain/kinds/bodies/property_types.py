"""The types of custom properties: which values each takes, under which configuration.

They are those of OpenMetadata, with its names.
"""

import re
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Annotated, Any
from uuid import UUID, uuid5

import msgspec
from msgspec import Meta

from domain.errors import InvalidInput, shown
from domain.kinds.bodies.components import Email, Integer, Part, Url
from domain.kinds.bodies.date_formats import MAX_FORMAT, Moment, date_format
from domain.kinds.bodies.refused_values import converted

_IDS = UUID("2f6a1c1e-35b4-5a0e-8f8e-6b1f6a1f7a53")
"""Namespace of the ids of types, which follow from their names; ids are recorded."""


def type_id(name: str) -> str:
    """The id of the type of a kind or of a property."""
    return str(uuid5(_IDS, name))


class ValueCheck(msgspec.Struct, frozen=True):
    """The check of the values of one property."""

    allowed: str
    """What a value must be, for people."""
    fits: Callable[[Any], bool]


class PropertyType(msgspec.Struct, frozen=True):
    """A type of custom properties."""

    description: str
    check_for: Callable[[Any], ValueCheck]
    """Makes the check of a configuration; raises InvalidInput for one that does not fit."""


_DURATION = re.compile(
    r"P(?=[0-9T])([0-9]+Y)?([0-9]+M)?([0-9]+W)?([0-9]+D)?"
    r"(T(?=[0-9])([0-9]+H)?([0-9]+M)?([0-9]+([.][0-9]+)?S)?)?"
)
_MAX_VALUES = 10_000
_MAX_COLUMNS = 3
"""Columns of a table; OpenMetadata's client reads no more."""
_Text = Annotated[str, Meta(min_length=1, max_length=1_000)]
_Kinds = Annotated[list[_Text], Meta(max_length=1_000)]


class _Link(Part, kw_only=True):
    """The address and the text of a link."""

    url: Url
    display_text: str | None = None


class _Interval(Part, kw_only=True):
    """Two moments in milliseconds."""

    start: Integer | None = None
    end: Integer | None = None


class _Rows(Part, kw_only=True):
    """Rows of a small table."""

    columns: list[str] | None = None
    rows: list[dict[str, str]] | None = None


class _Choices(Part, kw_only=True):
    """Values of which one or several may be chosen."""

    values: Annotated[list[_Text], Meta(min_length=1, max_length=_MAX_VALUES)]
    multi_select: bool | None = None


class _Columns(Part, kw_only=True):
    """Columns of a small table."""

    columns: Annotated[list[_Text], Meta(min_length=1, max_length=_MAX_COLUMNS)]
    min_columns: Integer | None = None
    max_columns: Integer | None = None


def _is(expected: Any, value: Any) -> bool:
    """Return True if a value is of a type that msgspec knows."""
    try:
        msgspec.convert(value, expected)
    except msgspec.ValidationError:
        return False
    return True


def _plain(allowed: str, fits: Callable[[Any], bool], config: Any) -> ValueCheck:
    if config is not None:
        raise InvalidInput("takes no config")
    return ValueCheck(allowed, fits)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_duration(value: Any) -> bool:
    return isinstance(value, str) and _DURATION.fullmatch(value) is not None


def _moment(moment: Moment, config: Any) -> ValueCheck:
    if not isinstance(config, str) or not 0 < len(config) <= MAX_FORMAT:
        raise InvalidInput(f"needs the format of a {moment} as config, a text as 'yyyy-MM-dd'")
    has = date_format(config, moment).has
    return ValueCheck(
        f"a {moment} in the format {config!r}", lambda value: isinstance(value, str) and has(value)
    )


def _choices(config: Any) -> ValueCheck:
    given = converted(_object(config, "values"), _Choices, "config")
    allowed = frozenset(given.values)
    if len(allowed) < len(given.values):
        raise InvalidInput("config.values has a value twice")
    most = len(allowed) if given.multi_select else 1
    listed = ", ".join(map(shown, given.values[:20])) + (", ..." if len(allowed) > 20 else "")

    def fits(value: Any) -> bool:
        if not _is(list[str], value) or len(value) > most:
            return False
        return allowed.issuperset(value) and len(set(value)) == len(value)

    number = "different ones" if given.multi_select else "at most one"
    return ValueCheck(f"a list of {number} of {listed}", fits)


def _table(config: Any) -> ValueCheck:
    given = converted(_object(config, "columns"), _Columns, "config")
    columns = frozenset(given.columns)
    if len(columns) < len(given.columns):
        raise InvalidInput("config.columns has a column twice")

    def fits(value: Any) -> bool:
        if not _is(_Rows, value):
            return False
        rows = value.get("rows") or []
        return columns.issuperset(value.get("columns") or ()) and all(map(columns.issuperset, rows))

    listed = ", ".join(map(shown, given.columns))
    return ValueCheck(f"an object with `rows`, each with texts under any of {listed}", fits)


def _object(config: Any, key: str) -> dict[str, Any]:
    if not isinstance(config, dict):
        raise InvalidInput(f"needs an object with `{key}` as config")
    return config


def _references(several: bool, config: Any) -> ValueCheck:
    if config is not None and not (_is(_Kinds, config) and config):
        raise InvalidInput("config must be a list of the kinds that may be referred to")
    kinds = frozenset(config or ())
    of = f" that is one of {', '.join(map(shown, config))}" if config else ""

    def fits_one(value: Any) -> bool:
        if not isinstance(value, dict) or not _is(UUID, value.get("id")):
            return False
        kind = value.get("type")
        return isinstance(kind, str) and (not kinds or kind in kinds)

    one = f"a reference: an object with the `id` of an entity and its `type`{of}"
    if not several:
        return ValueCheck(one, fits_one)
    return ValueCheck(
        f"a list, each element {one}",
        lambda value: isinstance(value, list) and all(map(fits_one, value)),
    )


def _of(description: str, allowed: str, expected: Any) -> PropertyType:
    return PropertyType(description, partial(_plain, allowed, partial(_is, expected)))


PROPERTY_TYPES: Mapping[str, PropertyType] = MappingProxyType(
    {
        "string": _of("A text.", "a text", str),
        "markdown": _of("A text in Markdown.", "a text", str),
        "sqlQuery": _of("An SQL statement.", "a text", str),
        "email": _of("A mail address.", "a mail address", Email),
        "integer": _of("A whole number.", "a whole number", Integer),
        "timestamp": _of(
            "A moment, in milliseconds since 1970.", "a whole number of milliseconds", Integer
        ),
        "number": PropertyType("A number.", partial(_plain, "a number", _is_number)),
        "duration": PropertyType(
            "A duration of ISO 8601, as `P23DT23H`.",
            partial(_plain, "a duration as 'P23DT23H'", _is_duration),
        ),
        "timeInterval": _of(
            "Two moments, in milliseconds since 1970.",
            "an object with `start` and `end`, whole numbers of milliseconds",
            _Interval,
        ),
        "hyperlink-cp": _of(
            "A link.", "an object with `url`, an address, and `displayText`, a text", _Link
        ),
        "date-cp": PropertyType("A date in a format of its own.", partial(_moment, "date")),
        "dateTime-cp": PropertyType(
            "A date and time in a format of their own.", partial(_moment, "dateTime")
        ),
        "time-cp": PropertyType("A time in a format of its own.", partial(_moment, "time")),
        "enum": PropertyType("One or several of given texts.", _choices),
        "table-cp": PropertyType("A table of few columns, of texts.", _table),
        "entityReference": PropertyType("An entity.", partial(_references, False)),
        "entityReferenceList": PropertyType("Several entities.", partial(_references, True)),
    }
)
"""Name -> type, of all types of custom properties."""

TYPE_IDS: Mapping[str, str] = MappingProxyType({name: type_id(name) for name in PROPERTY_TYPES})
TYPE_NAMES: Mapping[str, str] = MappingProxyType({each: name for name, each in TYPE_IDS.items()})
"""Id of a type of custom properties -> its name."""
