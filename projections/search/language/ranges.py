"""Ranges of a query text: `[low TO high]`, braces where a bound is left out, `>=low`."""

import re
from collections.abc import Mapping

from projections.search import tree
from projections.search.language.scanner import Scanner
from projections.search.tree import Node

_LIMIT = r"(\"(?:[^\"\\]|\\.)*\"|[^\s\"\]}]+)"
_RANGE = re.compile(rf"\s*{_LIMIT}\s+TO\s+{_LIMIT}\s*([\]}}])")
_BEGUN = re.compile(rf"[\[{{]\s*{_LIMIT}\s+TO(?=[\s\]}}]|$)")
_COMPARISON = re.compile(r"([<>]=?)\s*(\"(?:[^\"\\]|\\.)*\"|[^\s()^<>=\"][^\s()^]*)")
_BOUNDS = {">": "gt", ">=": "gte", "<": "lt", "<=": "lte"}


def begins_range(scanner: Scanner) -> bool:
    """Whether what stands here reads as a range, whole or not."""
    return _BEGUN.match(scanner.text, scanner.at) is not None


def read_range(scanner: Scanner, field: str) -> Node:
    """The range of the field that stands here; raises InvalidInput where it is not whole."""
    start = scanner.at
    if comparison := scanner.accept(_COMPARISON):
        return _between(field, {_BOUNDS[comparison[1]]: comparison[2]})
    opening = scanner.peek()
    if opening not in ("[", "{"):
        raise scanner.error(f"a value is expected after '{field[:80]}:{opening}'", start)
    scanner.at += 1
    limits = scanner.accept(_RANGE)
    if not limits:
        raise scanner.error("a range is [low TO high], with { or } to leave a bound out", start)
    bounds = {
        "gte" if opening == "[" else "gt": limits[1],
        "lte" if limits[3] == "]" else "lt": limits[2],
    }
    return _between(field, bounds)


def _between(field: str, bounds: Mapping[str, str]) -> Node:
    """The range of bounds as typed, quoted or not; `*` leaves a side open."""
    given: dict[str, str] = {}
    for side, text in bounds.items():
        if text != "*":
            bare = text[1:-1] if text[0] == '"' else text
            given[side] = re.sub(r"\\(.)", r"\1", bare)
    return tree.Range(field, **given) if given else tree.Exists(field)
