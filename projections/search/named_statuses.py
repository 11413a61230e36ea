"""Searches that say the statuses of contracts by a caller's names, and facets that are told so.

The index has the catalog's own names. A condition on the field is held against the caller's name of
each status as well: where the name fits, so does the status.
"""

from collections.abc import Sequence
from typing import Any

import re2
from msgspec.structs import replace

from domain.aggregate.entity import STATUS
from domain.kinds.registry import KINDS
from domain.openmetadata.status_names import StatusNames
from projections.search import tree
from projections.search.aggregations import Aggregation, Terms, below
from projections.search.analysis import fold, keyword
from projections.search.language import patterns
from projections.search.language.regex import lucene_escaped, regex
from projections.search.slips import are_within
from projections.search.tree import Node

_STATUSES = tuple(dict.fromkeys(each for kind in KINDS.values() for each in kind.statuses))
_FIELDS = frozenset({STATUS, f"{STATUS}.keyword"})


def asked(node: Node, statuses: StatusNames) -> Node:
    """The node, asking for statuses by the caller's names too."""
    if not statuses:
        return node
    field = getattr(node, "field", None)
    if field not in _FIELDS:
        return tree.map_children(node, lambda each: asked(each, statuses))
    meant = [status for status, name in statuses.names if _fits(node, name)]
    match node:
        case tree.Term() | tree.Phrase() if meant:
            return replace(node, text=meant[0])
        case tree.Exact() if meant:
            return replace(node, value=meant[0])
    return tree.any_of([node, *(tree.Exact(field, status) for status in meant)])


def _fits(node: Node, name: str) -> bool:
    """Return True if a leaf that names the field matches a name as its value."""
    value = fold(name)
    match node:
        case tree.Term(text=text) | tree.Phrase(text=text) | tree.Exact(value=text):
            return keyword(text) == value
        case tree.PhrasePrefix(text=text):
            return value.startswith(fold(text))
        case tree.Wildcard(pattern=pattern):
            return _matches(patterns.wildcard(pattern), value)
        case tree.Regex(pattern=pattern):
            return _matches(regex(pattern), value)
        case tree.Fuzzy(text=text, distance=distance, prefix=prefix):
            typed = fold(text)
            return typed[:prefix] == value[:prefix] and are_within(typed, value, distance)
        case tree.Range():
            return _is_between(node, value)
    return False


def _matches(pattern: patterns.TermPattern, value: str) -> bool:
    try:
        return re2.fullmatch(pattern.source, value) is not None
    except re2.error:
        # The engine says what is wrong with it.
        return False


def _is_between(node: tree.Range, value: str) -> bool:
    bounds = (
        (node.gt, value.__gt__),
        (node.gte, value.__ge__),
        (node.lt, value.__lt__),
        (node.lte, value.__le__),
    )
    return all(bound is None or holds(fold(bound)) for bound, holds in bounds)


def counted(aggregations: Sequence[Aggregation], statuses: StatusNames) -> list[Aggregation]:
    """The aggregations, choosing the values of the field by the caller's names too."""
    return [_counted(each, statuses) for each in aggregations] if statuses else [*aggregations]


def _counted(aggregation: Aggregation, statuses: StatusNames) -> Aggregation:
    if inner := below(aggregation):
        aggregation = replace(aggregation, below=tuple(counted(inner, statuses)))
    if not isinstance(aggregation, Terms) or aggregation.field not in _FIELDS:
        return aggregation
    if not any(_is_chosen(aggregation, fold(name)) for _, name in statuses.names):
        return aggregation
    chosen = [
        fold(status)
        for status in _STATUSES
        if any(_is_chosen(aggregation, fold(each)) for each in (status, statuses.name(status)))
    ]
    return replace(
        aggregation,
        prefix="",
        pattern="|".join(map(lucene_escaped, chosen)),
        containing=None,
        order="key" if aggregation.order == "nearest" else aggregation.order,
    )


def _is_chosen(aggregation: Terms, value: str) -> bool:
    return (
        value.startswith(fold(aggregation.prefix))
        and fold(aggregation.containing or "") in value
        and (aggregation.pattern is None or _matches(regex(aggregation.pattern), value))
    )


def told(aggregation: Aggregation, key: Any, statuses: StatusNames) -> Any:
    """The key of a bucket, which is the caller's name where it is a status."""
    if not (statuses and isinstance(aggregation, Terms) and aggregation.field in _FIELDS):
        return key
    for status, name in statuses.names:
        if key in (status, fold(status)):
            return name if key == status else fold(name)
    return key
