"""Leaves of the query tree brought into the form that the type of their field asks for."""

import math
import re

import msgspec

from domain.errors import InvalidInput
from projections.search import tree
from projections.search.documents import is_whole
from projections.search.language import dates
from projections.search.language.field_types import FieldType, field_type
from projections.search.tree import Node
from projections.visibility.field_paths import indexed_path

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_ARITHMETIC = re.compile(r"now(?:[+\-/]|$)|.*\|\|")
_SIDES = ("gt", "gte", "lt", "lte")
_WHOLE = {
    "number": "a number",
    "boolean": "true or false",
    "moment": "a date, or milliseconds since 1970",
    "date": "a date",
}


def typed(
    node: Node, formats: str = dates.DEFAULT_FORMATS, zone: str = "Z", *, dated: bool = False
) -> Node:
    """The leaf as its field reads it: dates as spans of time, ids as ids.

    `dated` says that formats or time zone were asked for, so that a field of no known type is
    read as moments. Raises InvalidInput for a value that the field cannot hold; a field that no
    kind has holds anything.
    """
    field = getattr(node, "field", None)
    if field is None:
        return node
    if isinstance(node, tree.Exists):
        return tree.MatchAll() if field in ("*", "_id") else tree.Exists(field.removesuffix(".*"))
    if field == "_id":
        return _ids(node)
    if is_whole(indexed_path(field)):
        return _whole(node, field)
    known = field_type(field)
    if dated:
        if known not in (None, "moment"):
            raise InvalidInput(f"{field[:80]} is no moment: format and time_zone have no meaning")
        known = "moment"
    match node:
        case tree.Range():
            return _range(node, known, formats, zone)
        case tree.Term(text=value) | tree.Phrase(text=value) | tree.Exact(value=value):
            return _value(node, field, known, value)
    if known in _WHOLE:
        raise InvalidInput(f"{field[:80]} takes {_WHOLE[known]}, no pattern and no slips")
    return node


def _ids(node: Node) -> Node:
    match node:
        case tree.Term(text=value) | tree.Phrase(text=value) | tree.Exact(value=value):
            return tree.Ids((value,))
    raise InvalidInput("_id takes a whole id")


def _whole(node: Node, field: str) -> Node:
    match node:
        case tree.Term(text=value) | tree.Phrase(text=value) | tree.Exact(value=value):
            return tree.Exact(field, value)
    raise InvalidInput(f"{field[:80]} is found by whole values only, not by patterns or ranges")


def _value(node: Node, field: str, known: FieldType | None, value: str) -> Node:
    match known:
        case "moment":
            span = dates.span(value)
            if span.first == span.last:
                return tree.Exact(field, str(span.first))
            return tree.Range(field, gte=str(span.first), lte=str(span.last))
        case "date":
            return tree.Range(field, gte=_text(value, False), lte=_text(value, True))
        case "number":
            return tree.Exact(field, _number(field, value))
        case "boolean" if value.lower() not in ("true", "false"):
            raise InvalidInput(f"{field[:80]} is true or false, got {value[:40]!r}")
        case "boolean":
            return tree.Exact(field, value.lower())
    return node


def _range(node: tree.Range, known: FieldType | None, formats: str, zone: str) -> Node:
    bounds: dict[str, str] = {}
    for side in _SIDES:
        text = getattr(node, side)
        if text is None:
            continue
        if _ARITHMETIC.match(text):
            raise InvalidInput(f"date arithmetic such as {text[:40]!r} is not supported")
        late = side in ("gt", "lte")
        match known:
            case "boolean":
                raise InvalidInput(f"{node.field[:80]} is true or false and has no ranges")
            case "moment":
                span = dates.span(text, formats, zone)
                text = str(span.last if late else span.first)
            case "date":
                text = _text(text, late)
            case "number":
                text = _number(node.field, text)
            case None if late and dates.is_day(text):
                text += "T23:59:59.999"
        bounds[side] = text
    return msgspec.structs.replace(node, **bounds)


def _text(text: str, late: bool) -> str:
    """A bound of a date that is kept as text; `~` comes after the fraction and offset of a time."""
    span = dates.span(text)
    try:
        return f"{dates.iso_text(span.last)}~" if late else dates.iso_text(span.first)
    except OverflowError:
        raise InvalidInput(f"{text[:40]!r} is no date") from None


def _number(field: str, text: str) -> str:
    if not (_NUMBER.fullmatch(text) and math.isfinite(float(text))):
        raise InvalidInput(f"{field[:80]} is a number, got {text[:40]!r}")
    return text
