"""Aggregations as JSON (`aggregations` of a search), in the words of the engines people know.

`{"by_type": {"terms": {"field": "serviceType", "size": 5}, "aggs": {...}}}`: names of the caller's
own, each with one of `terms`, `date_histogram` and `top_hits`. Every error names the JSON path.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from domain.errors import InvalidInput
from projections.search.aggregations import (
    CALENDAR,
    MAX_AGGREGATIONS,
    MAX_BUCKETS,
    MAX_DEPTH,
    Aggregation,
    DateHistogram,
    TopHits,
)
from projections.search.documents.documents import SORTABLE
from projections.search.documents.sources import check_paths
from projections.search.facets.facets import terms
from projections.search.language import filter_json
from projections.search.language.field_values import UnknownField, known_type
from projections.search.language.filter_reader import FilterReader
from projections.search.language.regex import regex
from projections.visibility.field_paths import indexed_path

MAX_HITS = 100
"""The most documents that one bucket may give."""
_SCORE = "_score"
_INSIDE = ("aggs", "aggregations")
_NAME = re.compile(r"[^\[\]>#]{1,256}")
_FIXED = re.compile(r"([1-9][0-9]{0,8})(ms|s|m|h|d)")
_MILLISECONDS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_SHORT = {"1m": "minute", "1h": "hour", "1d": "day", "1w": "week", "1M": "month", "1q": "quarter"}
_SHORT |= {"1y": "year"}


def parse(data: bytes, *, where: str = "aggregations") -> tuple[Aggregation, ...]:
    """The aggregations of a request, bare or under `aggs` or `aggregations`.

    Raises InvalidInput for anything that is not carried out entirely, and for more than
    MAX_AGGREGATIONS or MAX_DEPTH.
    """
    value = filter_json.read(data, where)
    path = "$"
    for key in _INSIDE:
        if isinstance(value, dict) and set(value) == {key} and not _is_aggregation(value[key]):
            value, path = value[key], f"$.{key}"
            break
    return _AggregationReader(where).all(value, path, 1)


def _is_aggregation(value: Any) -> bool:
    """Return True if the value is one aggregation, rather than several by their names."""
    return isinstance(value, dict) and not {"terms", "date_histogram", "top_hits"}.isdisjoint(value)


class _AggregationReader(FilterReader):
    """Reads the aggregations of one request."""

    def __init__(self, where: str) -> None:
        super().__init__(where)
        self._left = MAX_AGGREGATIONS

    def all(self, value: Any, path: str, depth: int) -> tuple[Aggregation, ...]:
        """The aggregations that an object has by their names."""
        if not isinstance(value, dict):
            raise self.error(path, "expected an object of aggregations by name")
        if depth > MAX_DEPTH:
            raise self.error(path, f"aggregations may be {MAX_DEPTH} levels deep")
        self._left -= len(value)
        if self._left < 0:
            raise self.error(path, f"more than {MAX_AGGREGATIONS} aggregations in all")
        return tuple(
            self._one(name, inner, f"{path}.{name[:80]}", depth) for name, inner in value.items()
        )

    def _one(self, name: str, value: Any, path: str, depth: int) -> Aggregation:
        if not _NAME.fullmatch(name):
            raise self.error(path, "a name has 1 to 256 characters, none of them [, ], > or #")
        kinds: Mapping[str, Callable[[str, Any, str, tuple[Aggregation, ...]], Aggregation]] = {
            "terms": self._terms,
            "date_histogram": self._histogram,
            "top_hits": self._top_hits,
        }
        body = self.object(value, path, (*kinds, *_INSIDE))
        given = [kind for kind in kinds if kind in body]
        if len(given) != 1:
            raise self.error(path, f"expected exactly one of {', '.join(kinds)}")
        inside = [key for key in _INSIDE if key in body]
        if len(inside) > 1:
            raise self.error(path, "aggs and aggregations mean the same: give one of them")
        below = self.all(body[inside[0]], f"{path}.{inside[0]}", depth + 1) if inside else ()
        return kinds[given[0]](name, body[given[0]], f"{path}.{given[0]}", below)

    def _terms(
        self, name: str, value: Any, path: str, below: tuple[Aggregation, ...]
    ) -> Aggregation:
        body = self.object(value, path, ("field", "size", "order", "include", "min_doc_count"))
        field = self._field(body, path)
        try:
            facet = terms(field, 0, name)
        except InvalidInput as error:
            raise self.error(f"{path}.field", error.message) from None
        pattern = None
        if "include" in body:
            pattern = self.string(body["include"], f"{path}.include")
            if facet.values != "texts":
                raise self.error(f"{path}.include", "only texts can be chosen by a pattern")
            try:
                regex(pattern)
            except InvalidInput as error:
                raise self.error(f"{path}.include", error.message) from None
        if body.get("min_doc_count", 1) != 1:
            raise self.error(f"{path}.min_doc_count", "expected 1")
        return msgspec.structs.replace(
            facet,
            size=self.whole(body.get("size", 10), f"{path}.size", MAX_BUCKETS),
            order="key" if self._is_by_key(body.get("order"), f"{path}.order") else "count",
            pattern=pattern,
            below=below,
        )

    def _is_by_key(self, order: Any, path: str) -> bool:
        if order in (None, {"_count": "desc"}):
            return False
        if order == {"_key": "asc"}:
            return True
        raise self.error(path, 'expected {"_count": "desc"} or {"_key": "asc"}')

    def _histogram(
        self, name: str, value: Any, path: str, below: tuple[Aggregation, ...]
    ) -> Aggregation:
        allowed = ("field", "calendar_interval", "fixed_interval", "min_doc_count")
        body = self.object(value, path, allowed)
        field = self._field(body, path)
        try:
            known = known_type(field)
        except UnknownField as error:
            raise self.error(f"{path}.field", error.message) from None
        if known != "moment":
            raise self.error(f"{path}.field", f"{field[:80]} holds no dates and times")
        least = self.whole(body.get("min_doc_count", 0), f"{path}.min_doc_count", 1)
        interval = self._interval(body, path)
        return DateHistogram(name=name, field=field, interval=interval, gaps=not least, below=below)

    def _interval(self, body: Mapping[str, Any], path: str) -> str | int:
        given = [key for key in ("calendar_interval", "fixed_interval") if key in body]
        if len(given) != 1:
            raise self.error(path, "expected either calendar_interval or fixed_interval")
        text = self.string(body[given[0]], f"{path}.{given[0]}")
        if given == ["fixed_interval"]:
            if written := _FIXED.fullmatch(text):
                return int(written[1]) * _MILLISECONDS[written[2]]
            raise self.error(f"{path}.fixed_interval", "expected a number of ms, s, m, h or d: 30d")
        interval = _SHORT.get(text, text)
        if interval not in CALENDAR:
            named = ", ".join(CALENDAR)
            raise self.error(f"{path}.calendar_interval", f"expected one of {named}")
        return interval

    def _top_hits(
        self, name: str, value: Any, path: str, below: tuple[Aggregation, ...]
    ) -> Aggregation:
        body = self.object(value, path, ("size", "sort", "_source"))
        if below:
            raise self.error(path, "top_hits have no aggregations inside")
        field, descending = self._sort(body.get("sort", []), f"{path}.sort")
        sources, include, exclude = self._sources(body.get("_source", True), f"{path}._source")
        return TopHits(
            name=name,
            size=self.whole(body.get("size", 3), f"{path}.size", MAX_HITS),
            sort_field=field,
            descending=descending,
            sources=sources,
            include=include,
            exclude=exclude,
        )

    def _sort(self, value: Any, path: str) -> tuple[str | None, bool]:
        """The field, None for the score, and whether it is descending."""
        orders = value if isinstance(value, list) else [value]
        if not orders:
            return None, True
        if len(orders) > 1:
            raise self.error(path, "expected one field to sort by")
        item = {orders[0]: {}} if isinstance(orders[0], str) else orders[0]
        name, how, _ = self.only_field(item, path)
        field = indexed_path(name)
        if field != _SCORE and field not in SORTABLE:
            raise self.error(path, f"expected one of {', '.join((*SORTABLE, _SCORE))}")
        options = {"order": how} if isinstance(how, str) else self.object(how, path, ("order",))
        default = "desc" if field == _SCORE else "asc"
        order = self.choice(options.get("order", default), path, ("asc", "desc"))
        return None if field == _SCORE else field, order == "desc"

    def _sources(self, value: Any, path: str) -> tuple[bool, tuple[str, ...], tuple[str, ...]]:
        """Return True if sources are shown; which of their fields are shown, and which not."""
        if isinstance(value, bool):
            return value, (), ()
        if isinstance(value, str | list):
            return True, self._paths(value, path), ()
        names = ("includes", "excludes")
        body = self.object(value, path, names)
        include, exclude = (self._paths(body.get(key, []), f"{path}.{key}") for key in names)
        return True, include, exclude

    def _paths(self, value: Any, path: str) -> tuple[str, ...]:
        paths = [value] if isinstance(value, str) else value
        if not isinstance(paths, list):
            raise self.error(path, "expected a list of fields")
        named = tuple(self.string(each, path) for each in paths)
        check_paths(named, f"{self.where}: {path}")
        return named

    def _field(self, body: Mapping[str, Any], path: str) -> str:
        if "field" not in body:
            raise self.error(path, "'field' is missing")
        return self.string(body["field"], f"{path}.field")
