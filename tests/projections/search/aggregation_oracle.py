"""Aggregations decided in plain Python, one document after another, for engines to agree with.

Time is counted by the calendar of the standard library, order by sorting everything.
"""

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from projections.search.aggregations import Aggregation, DateHistogram, Terms, TopHits
from projections.search.analysis import keyword
from projections.search.documents.documents import Scalar, SearchDocument
from projections.search.engine import FacetResult, TopDocuments
from projections.search.language.field_types import is_prose, is_whole
from projections.visibility.field_paths import indexed_path

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LONGEST = 4_096
Told = dict[str, Any]
"""Result of an aggregation, by name: `buckets` and `others`, or `total` and `ids`."""


def as_told(result: FacetResult) -> Told:
    """A result in the form of the oracle."""
    if isinstance(result, TopDocuments):
        return {"total": result.total, "ids": [hit.id for hit in result.hits]}
    buckets = [
        {"key": bucket.key, "count": bucket.count, "below": list(map(as_told, bucket.below))}
        for bucket in result.buckets
    ]
    return {"buckets": buckets, "others": result.others}


def told(documents: Sequence[SearchDocument], aggregation: Aggregation) -> Told:
    """Return the result of an aggregation over these documents."""
    match aggregation:
        case Terms():
            return _terms(documents, aggregation)
        case DateHistogram():
            return _histogram(documents, aggregation)
        case TopHits():
            return _top(documents, aggregation)


def _terms(documents: Sequence[SearchDocument], asked: Terms) -> Told:
    members: dict[Any, list[SearchDocument]] = {}
    for document in documents:
        for key in {key for key in _keys(document, asked) if _is_asked_for(key, asked)}:
            members.setdefault(key, []).append(document)

    def rank(key: Any) -> Any:
        if asked.order == "count":
            return -len(members[key]), key
        if asked.order == "key":
            return key
        text = keyword(asked.containing or "")
        return 0 if key == text else 1 if key.startswith(text) else 2, key

    order = sorted(members, key=rank)
    given = order[: asked.size]
    return {
        "buckets": [_bucket(key, members[key], asked.below) for key in given],
        "others": sum(len(members[key]) for key in order[asked.size :]),
    }


def _bucket(key: Any, members: Sequence[SearchDocument], below: Sequence[Aggregation]) -> Told:
    inside = [told(members, aggregation) for aggregation in below]
    return {"key": key, "count": len(members), "below": inside}


def _keys(document: SearchDocument, asked: Terms) -> list[Any]:
    path = indexed_path(asked.field)
    return [
        key for value in document.fields.get(path, ()) if (key := _key(path, value, asked)) != ()
    ]


def _key(path: str, value: Scalar, asked: Terms) -> Any:
    """The key of a value, () for none."""
    if isinstance(value, bool):
        return value if asked.values == "booleans" else ()
    if isinstance(value, str):
        kept = not is_prose(path) and not is_whole(path) and len(value) <= _LONGEST
        return keyword(value) if asked.values == "texts" and kept else ()
    return float(value) if asked.values in ("numbers", "moments") else ()


def _is_asked_for(key: Any, asked: Terms) -> bool:
    if asked.prefix and not key.startswith(keyword(asked.prefix)):
        return False
    if asked.containing is not None and keyword(asked.containing) not in key:
        return False
    return asked.pattern is None or bool(
        re.fullmatch(asked.pattern.lower(), key, re.ASCII | re.DOTALL)
    )


def _histogram(documents: Sequence[SearchDocument], asked: DateHistogram) -> Told:
    members: dict[int, list[SearchDocument]] = {}
    for document in documents:
        values = document.fields.get(indexed_path(asked.field), ())
        for begin in {_begin(value, asked.interval) for value in values if _is_moment(value)}:
            members.setdefault(begin, []).append(document)
    begins = sorted(members)
    if asked.gaps and begins:
        begins = [begins[0]]
        while begins[-1] < max(members):
            begins.append(_next(begins[-1], asked.interval))
    buckets = [_bucket(begin, members.get(begin, []), asked.below) for begin in begins]
    return {"buckets": buckets, "others": 0}


def _is_moment(value: Scalar) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _begin(value: Scalar, interval: str | int) -> int:
    milliseconds = int(value // 1)
    if isinstance(interval, int):
        return milliseconds - milliseconds % interval
    at = _EPOCH + timedelta(milliseconds=milliseconds)
    parts = ("microsecond", "second", "minute", "hour")
    cleared = {"minute": 2, "hour": 3}.get(interval, 4)
    at = at.replace(**dict.fromkeys(parts[:cleared], 0))
    match interval:
        case "week":
            at -= timedelta(days=at.weekday())
        case "month":
            at = at.replace(day=1)
        case "quarter":
            at = at.replace(day=1, month=at.month - (at.month - 1) % 3)
        case "year":
            at = at.replace(day=1, month=1)
    return (at - _EPOCH) // timedelta(milliseconds=1)


def _next(begin: int, interval: str | int) -> int:
    """Later by so much that it is in the next interval, whatever the calendar has there."""
    days = {"week": 7, "month": 31, "quarter": 92, "year": 366}
    if isinstance(interval, int):
        return begin + interval
    steps = {"minute": 60, "hour": 3_600}.get(interval, 86_400 * days.get(interval, 1))
    return _begin(begin + steps * 1_000, interval)


def _top(documents: Sequence[SearchDocument], asked: TopHits) -> Told:
    """Only of an order by a field: the oracle gives no scores."""
    field = asked.sort_field or ""
    order = sorted(documents, key=lambda document: (document.sort["name"] or "", document.id))
    some = [document for document in order if document.sort.get(field) is not None]
    some.sort(key=lambda document: document.sort[field], reverse=asked.descending)
    missing = [document for document in order if document.sort.get(field) is None]
    ids = [document.id for document in (*some, *missing)]
    return {"total": len(ids), "ids": ids[: asked.size]}
