"""Reads bodies, and says which values were allowed where one of a closed set is not in it."""

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from enum import Enum
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec

from domain.errors import InvalidInput

T = TypeVar("T", bound=msgspec.Struct)

_REFUSED = re.compile(r"Invalid enum value '(?P<value>.*)'(?: - at `\$(?P<path>.*)`)?", re.DOTALL)
_MOST_SHOWN = 40
"""The most allowed values that a message shows; of more, those that are like the given one."""


def converted(values: Mapping[str, Any], expected: type[T], where: str) -> T:
    """Read decoded values; an InvalidInput tells `where` they stand, and what does not fit."""
    try:
        return msgspec.convert(values, expected)
    except msgspec.ValidationError as error:
        raise InvalidInput(f"{where}: {_explained(error, expected)}") from None


def _explained(error: msgspec.ValidationError, body: type[msgspec.Struct]) -> str:
    """Repeat what msgspec says of a value of `body`, with the allowed values of a closed set."""
    said = str(error)
    refused = _REFUSED.fullmatch(said)
    if refused is None or refused["path"] is None:
        return said
    allowed = _allowed(body, refused["path"])
    if len(allowed) > _MOST_SHOWN:
        allowed = get_close_matches(refused["value"], allowed, cutoff=0.0)
        return f"{said}; allowed are, among others, {', '.join(allowed)}"
    return f"{said}; allowed are {', '.join(allowed)}" if allowed else said


def _allowed(body: Any, path: str) -> list[str]:
    """The closed set at a path such as `.columns[0].dataType`; empty where none is found."""
    types = [body]
    for step in re.findall(r"\.\w+|\[[^]]*\]", path):
        types = [
            found for each in types for part in alternatives(each) for found in _under(part, step)
        ]
    return [value for each in types for value in closed_values(each)]


def closed_values(hint: Any) -> Iterator[str]:
    """The values of the enumerations inside an annotation."""
    if isinstance(hint, type) and issubclass(hint, Enum):
        yield from (str(member.value) for member in hint)
    elif get_origin(hint) is Literal:
        yield from map(str, get_args(hint))
    else:
        for part in get_args(hint):
            yield from closed_values(part)


def alternatives(hint: Any) -> list[Any]:
    """The types that a value may be of, without None and without what annotations add."""
    origin = get_origin(hint)
    if origin is Annotated:
        return alternatives(get_args(hint)[0])
    if origin in (Union, UnionType):
        return [part for each in get_args(hint) for part in alternatives(each)]
    return [] if hint is NoneType else [hint]


def _under(hint: Any, step: str) -> list[Any]:
    """The types of an item, or of the member that a step names."""
    if step.startswith("["):
        return [get_args(hint)[-1]] if get_args(hint) else []
    if not (isinstance(hint, type) and issubclass(hint, msgspec.Struct)):
        return []
    named = dict(zip(hint.__struct_encode_fields__, hint.__struct_fields__, strict=True))
    attribute = named.get(step[1:])
    return [] if attribute is None else [get_type_hints(hint, include_extras=True)[attribute]]
