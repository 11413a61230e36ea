"""Fields that buckets can be made of: which values they hold, and under which path."""

from collections.abc import Mapping

import msgspec

from domain.errors import InvalidInput
from projections.search.aggregations import Values
from projections.search.language.field_texts import is_prose, is_whole
from projections.search.language.field_types import FieldType
from projections.search.language.field_values import known_type
from projections.visibility.field_paths import indexed_path

_SHOWN = 80
_PREFIXES = {"tier.tagFQN": "Tier."}
"""Paths that stand for some of the values of another path -> what these begin with."""
_VALUES: Mapping[FieldType, Values] = {
    "number": "numbers",
    "moment": "moments",
    "boolean": "booleans",
}


class Countable(msgspec.Struct, frozen=True):
    """The source of the buckets of a field."""

    values: Values
    prefix: str
    """Beginning of the texts that stand under the field; empty for any."""


def countable(field: str) -> Countable:
    """Return the source of the buckets of a field as written in a query.

    Of what organisations define themselves, texts are. Raises InvalidInput for a field that no
    kind has, or of which the index keeps no values: objects, prose and ids.
    """
    known = known_type(field)
    path = indexed_path(field)
    if known == "object":
        raise InvalidInput(f"{field[:_SHOWN]} holds objects: name a field of theirs")
    if is_prose(path):
        raise InvalidInput(f"{field[:_SHOWN]} is prose, of which no whole values are kept")
    if is_whole(path):
        raise InvalidInput(f"{field[:_SHOWN]} is only matched whole, and its values are not kept")
    prefix = _PREFIXES.get(counted_path(field), "")
    return Countable(_VALUES.get(known, "texts"), prefix)


def counted_path(field: str) -> str:
    """The same text for all spellings of a field that stand for the same values."""
    plain = field.removesuffix(".keyword")
    return plain if plain in _PREFIXES else indexed_path(field)


def check_moments(field: str) -> None:
    """Raise InvalidInput for a field that holds no dates and times."""
    if known_type(field) != "moment":
        raise InvalidInput(f"{field[:_SHOWN]} holds no dates and times")
