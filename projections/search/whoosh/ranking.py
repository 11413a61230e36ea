"""The page of hits: by score or by a sorted field, ties by name, then id."""

import heapq
import math
from typing import Any

from domain.errors import InvalidInput
from projections.search.documents import SORTABLE, SortValue
from projections.search.engine import (
    SCORE,
    TOTAL_CAP,
    EngineHit,
    EngineHits,
    EngineQuery,
    Sort,
)
from projections.search.whoosh.leaves import Scores
from projections.search.whoosh.schema import Row
from projections.search.whoosh.segments import SegmentView

Found = list[tuple[SegmentView, Scores]]
_BEST_FIRST = Sort(SCORE, descending=True)
_PLACE = {path: place for place, path in enumerate(SORTABLE)}
_NAME = _PLACE["name"]

Key = tuple[Any, ...]


def page(query: EngineQuery, found: Found, timed_out: bool) -> EngineHits:
    """The hits that the query asks for, of all that were found."""
    total = sum(len(scores) for _, scores in found)
    sort = query.sort or _BEST_FIRST
    wanted = query.offset + query.size
    after = None if query.search_after is None else _after(query.search_after, sort)
    if sort.field == SCORE:
        keyed = _by_score(found, sort, wanted if after is None else None)
    else:
        keyed = _by_field(found, sort)
    if after is not None:
        keyed = [entry for entry in keyed if entry[0] > after]
    best = heapq.nsmallest(wanted, keyed) if wanted < len(keyed) else sorted(keyed)
    hits = tuple(_hit(entry, sort) for entry in best[query.offset : wanted])
    capped = not query.exact_total and total > TOTAL_CAP
    top = max((max(s.values()) for _, s in found if s), default=None)
    return EngineHits(
        total=TOTAL_CAP if capped else total,
        relation="gte" if capped or timed_out else "eq",
        hits=hits,
        max_score=top if sort.field == SCORE else None,
        timed_out=timed_out,
    )


Entry = tuple[Key, str, float, SortValue]
"""Sort key (unique: it ends with the name and the id), kind, score and the value sorted by."""


def _by_score(found: Found, sort: Sort, wanted: int | None) -> list[Entry]:
    """Entries of all hits, or only of those that can be among the first `wanted`."""
    limit: float | None = None
    sign = -1.0 if sort.descending else 1.0
    if wanted is not None and wanted < sum(len(scores) for _, scores in found):
        every = (sign * score for _, scores in found for score in scores.values())
        first = heapq.nsmallest(wanted, every)
        limit = first[-1] if first else float("-inf")
    entries: list[Entry] = []
    for view, scores in found:
        for number, score in scores.items():
            if limit is None or sign * score <= limit:
                row = view.row(number)
                key = (sign * score, row.sort[_NAME], row.id)
                entries.append((key, row.kind, score, score))
    return entries


def _by_field(found: Found, sort: Sort) -> list[Entry]:
    place = _PLACE[sort.field]
    return [
        (_field_key(row.sort[place], row, sort), row.kind, score, row.sort[place])
        for view, scores in found
        for number, score in scores.items()
        for row in (view.row(number),)
    ]


def _field_key(value: SortValue, row: Row, sort: Sort) -> Key:
    return (*_comparable(value, sort), row.sort[_NAME], row.id)


class _Reversed(str):
    """A text that sorts the other way round."""

    __slots__ = ()

    def __lt__(self, other: str) -> bool:
        return str.__gt__(self, other)

    def __gt__(self, other: str) -> bool:
        return str.__lt__(self, other)


_NULL = "null"
"""A missing value as it is written in a query string."""


def _comparable(value: SortValue, sort: Sort) -> Key:
    """Missing values after all others, in both directions."""
    if value is None:
        return (True, 0)
    if not sort.descending:
        return (False, value)
    return (False, _Reversed(value) if isinstance(value, str) else -value)


def _after(values: tuple[SortValue, ...], sort: Sort) -> Key:
    """The key of the hit with these sort values; InvalidInput when they are not a hit's."""
    if len(values) == 2:
        # Clients leave a null out when they build the query string.
        values = (None, *values)
    if len(values) != 3:
        raise InvalidInput(f"search_after needs the 3 sort values of a hit, got {len(values)}")
    value, name, entity_id = values
    if value == _NULL:
        value = None
    if not isinstance(name, str) or not isinstance(entity_id, str):
        raise InvalidInput("search_after needs the sort values of a hit: value, name and id")
    number = sort.field == SCORE or SORTABLE[sort.field] is float
    if isinstance(value, str) and number:
        value = _as_number(value, sort.field)
    if isinstance(value, int | float) and not number:
        value = str(value)
    if sort.field == SCORE:
        if not isinstance(value, int | float):
            raise InvalidInput("search_after begins with the score")
        return (-value if sort.descending else value, name, entity_id)
    return (*_comparable(value, sort), name, entity_id)


def _as_number(text: str, field: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise InvalidInput(f"search_after begins with a number for {field}, got {text[:40]!r}")
    return number


def _hit(entry: Entry, sort: Sort) -> EngineHit:
    (*_, name, entity_id), kind, score, value = entry
    return EngineHit(
        id=entity_id,
        kind=kind,
        score=score if sort.field == SCORE else None,
        sort=(value, name, entity_id),
    )
