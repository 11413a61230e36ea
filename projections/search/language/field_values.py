"""Leaves of the query tree brought into the form that the type of their field asks for."""

import math
import re

import msgspec

from domain.errors import InvalidInput, about
from projections.search import tree
from projections.search.language import dates
from projections.search.language.field_types import (
    FieldType,
    field_type,
    fields_below,
    is_prose,
    is_whole,
    near_fields,
)
from projections.search.language.patterns import wildcard
from projections.search.tree import Node
from projections.visibility.field_paths import indexed_path

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_SIDES = ("gt", "gte", "lt", "lte")
_TAKES: dict[FieldType, str] = {
    "number": "a number",
    "boolean": "true or false",
    "moment": "a date, or milliseconds since 1970",
}
_SHOWN = 80
"""Number of characters of a field's name that a message shows."""
_ID = "_id"
_PATTERN = frozenset("*?\\")


class UnknownField(InvalidInput):
    """A query names a field that no kind has."""


def known_type(field: str) -> FieldType:
    """The type of a field; raises UnknownField, with near ones, for a field that no kind has."""
    known = field_type(field)
    if known is None:
        near = near_fields(field)
        hint = f"; near it: {', '.join(near)}" if near else ""
        raise UnknownField(f"no kind has a field {field[:_SHOWN]!r}{hint}")
    return known


def check_field(field: str) -> None:
    """Raise UnknownField for what is neither a field of some kind nor the id of a document."""
    if field != _ID:
        known_type(field)


def is_matched_whole(field: str | None) -> bool:
    """Return True if a text for the field is one value, whatever words it has."""
    return field is not None and (field.endswith(".keyword") or field_type(field) == "keyword")


def typed(
    node: Node,
    formats: str = dates.DEFAULT_FORMATS,
    zone: str = "Z",
    *,
    dated: bool = False,
    now: dates.Now | None = None,
) -> Node:
    """The leaf as its field reads it: dates as spans of time, ids as ids, closed sets as wholes.

    `dated` says that formats or time zone were asked for, so that a field of no known type is
    read as moments; `now` is what dates may be calculated from. Raises UnknownField for a field
    that no kind has, and InvalidInput for a value, or a kind of question, that the field cannot
    hold.
    """
    field = getattr(node, "field", None)
    if field is None:
        return node
    if isinstance(node, tree.Exists):
        return _exists(field)
    value = _one_value(node)
    if field == _ID:
        if value is None:
            raise InvalidInput("_id takes a whole id")
        return tree.Ids((value,))
    known = known_type(field)
    if known == "not kept":
        return tree.MatchNone()
    if known == "object":
        below = fields_below(field)[:3]
        hint = f", such as {', '.join(below)}" if below else ""
        raise InvalidInput(f"{field[:_SHOWN]} holds objects: name a field of theirs{hint}")
    path = indexed_path(field)
    if is_whole(path):
        if value is None:
            raise InvalidInput(
                f"{field[:_SHOWN]} is found by whole values only, not by patterns or ranges"
            )
        return tree.Exact(field, value)
    if dated:
        if known not in ("undefined", "moment"):
            raise InvalidInput(
                f"{field[:_SHOWN]} is no moment: format and time_zone have no meaning"
            )
        known = "moment"
    if known == "keyword":
        whole = f"{path}.keyword"
        if value is not None:
            return tree.Exact(whole, value)
        if isinstance(node, tree.PhrasePrefix):
            return _begun_whole(whole, node.text)
        return msgspec.structs.replace(node, field=whole)
    if is_prose(path):
        if isinstance(node, tree.Range):
            raise InvalidInput(f"{field[:_SHOWN]} is prose, found by its words, and has no ranges")
        _check_no_whole_prose(field)
    if isinstance(node, tree.Range):
        return _range(node, known, formats, zone, now)
    if value is not None:
        return _value(node, field, known, value, now)
    if isinstance(node, tree.PhrasePrefix) and field.endswith(".keyword"):
        return _begun_whole(field, node.text)
    if known in _TAKES:
        raise InvalidInput(f"{field[:_SHOWN]} takes {_TAKES[known]}, no pattern and no slips")
    return node


def _exists(field: str) -> Node:
    if field in ("*", _ID):
        return tree.MatchAll()
    path = field.removesuffix(".*")
    known_type(path)
    _check_no_whole_prose(path)
    return tree.Exists(path)


def _one_value(node: Node) -> str | None:
    """The text of a node that asks for one value; None for any other node."""
    match node:
        case tree.Term(text=value) | tree.Phrase(text=value) | tree.Exact(value=value):
            return value
    return None


def _begun_whole(whole: str, text: str) -> Node:
    """The documents with a whole value that begins with the text."""
    pattern = tree.escape_wildcards(text) + "*"
    wildcard(pattern)
    return tree.Wildcard(whole, pattern)


def _check_no_whole_prose(field: str) -> None:
    """Raise InvalidInput for the `.keyword` of prose, which keeps no whole values."""
    path = indexed_path(field)
    if field.endswith(".keyword") and is_prose(path):
        raise InvalidInput(f"{path[:_SHOWN]} is prose, found by its words, and has no .keyword")


def _value(node: Node, field: str, known: FieldType, value: str, now: dates.Now | None) -> Node:
    match known:
        case "moment":
            span = dates.span(value, now=now)
            if span.first >= span.last:
                return tree.Exact(field, str(span.last))
            return tree.Range(field, gte=str(span.first), lte=str(span.last))
        case "number":
            return tree.Exact(field, _number(field, value))
        case "boolean" if value.lower() not in ("true", "false"):
            raise InvalidInput(f"{field[:_SHOWN]} is true or false, got {value[:40]!r}")
        case "boolean":
            return tree.Exact(field, value.lower())
    return node


def _range(
    node: tree.Range, known: FieldType, formats: str, zone: str, now: dates.Now | None
) -> Node:
    bounds: dict[str, str] = {}
    for side in _SIDES:
        text = getattr(node, side)
        if text is None:
            continue
        if known != "moment" and dates.is_calculated(text):
            raise InvalidInput(
                f"{node.field[:_SHOWN]} is not known to hold dates, so that nothing like"
                f" {text[:40]!r} is calculated for it"
            )
        late = side in ("gt", "lte")
        match known:
            case "boolean":
                raise InvalidInput(f"{node.field[:_SHOWN]} is true or false and has no ranges")
            case "moment":
                span = dates.span(text, formats, zone, now)
                text = str(span.last if late else span.first)
            case "number":
                text = _number(node.field, text)
            case "undefined" if late and dates.is_day(text):
                text += "T23:59:59.999"
        bounds[side] = text
    return msgspec.structs.replace(node, **bounds)


def _number(field: str, text: str) -> str:
    if not (_NUMBER.fullmatch(text) and math.isfinite(float(text))):
        raise InvalidInput(f"{field[:_SHOWN]} is a number, got {text[:40]!r}")
    return text


def whole_value(field: str, pattern: str) -> Node:
    """The documents with a value in the field that fits the pattern from its beginning to its end.

    Field and pattern are those of `GET /v1/search/fieldQuery`.

    Letters count without case, `*` is any characters, `?` one, and a backslash takes the next one
    literally. In prose, which keeps no whole values, a word has to fit. Raises InvalidInput that
    says which of the two parameters is wrong.
    """
    path = indexed_path(field)
    with about("fieldName"):
        known = known_type(field)
        if known == "object":
            raise InvalidInput(f"{field[:80]} holds objects: name a field of theirs")
    if known in ("text", "undefined") and not is_prose(path) and not is_whole(path):
        path += ".keyword"
    with about("fieldValue"):
        if _PATTERN.isdisjoint(pattern):
            return typed(tree.Exact(path, pattern))
        wildcard(pattern)
        return typed(tree.Wildcard(path, pattern))
