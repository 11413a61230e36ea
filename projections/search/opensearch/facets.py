"""Aggregations in the language of the cluster, and what comes of them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from projections.search.aggregations import (
    MAX_BUCKETS,
    Aggregation,
    AnswerSize,
    DateHistogram,
    Terms,
    TopHits,
)
from projections.search.analysis import keyword
from projections.search.engine import (
    SCORE,
    Bucket,
    Buckets,
    FacetResult,
    Sort,
    TopDocuments,
    nothing,
)
from projections.search.language.regex import lucene
from projections.search.language.regex import lucene_escaped as escaped
from projections.search.matching.moments import with_gaps
from projections.search.matching.terms import (
    EXACT,
    KEYWORD,
    NUMBER,
    SEPARATOR,
    as_written,
    number_in,
)
from projections.search.opensearch.leaves import Dsl
from projections.search.opensearch.mapping import MAX_TOP, column, has_columns
from projections.search.opensearch.pages import ROW, hits_of, order
from projections.visibility.field_paths import indexed_path

_COLUMNS = {"texts": "values", "numbers": "numbers", "moments": "numbers", "booleans": "booleans"}
_ORDERS: Mapping[str, list[Any]] = {
    "count": [{"_count": "desc"}, {"_key": "asc"}],
    "key": [{"_key": "asc"}],
    "nearest": [{"_key": "asc"}],
}
_ANY = ".*"


def compiled(aggregation: Aggregation, name: str) -> Dsl:
    """An aggregation under a name of its own, from which `Reader` reads what came of it."""
    match aggregation:
        case Terms(order="nearest"):
            # A text itself comes before whatever else begins with it.
            return {
                f"{name}a": _terms(aggregation, beginning=True),
                f"{name}b": _terms(aggregation, beginning=False),
            }
        case Terms():
            return {f"{name}a": _terms(aggregation)}
        case DateHistogram():
            return {f"{name}a": _histogram(aggregation)}
        case TopHits():
            return {f"{name}a": {"top_hits": _top(aggregation)}}


def _below(aggregations: Sequence[Aggregation]) -> Dsl:
    made: Dsl = {}
    for number, each in enumerate(aggregations):
        made |= compiled(each, str(number))
    return {"aggs": made} if made else {}


def _terms(asked: Terms, *, beginning: bool | None = None) -> Dsl:
    """The buckets of values; `beginning` leaves those that begin with `containing`, or others."""
    field, prefix = _place(asked)
    size = min(max(asked.size, 1), MAX_BUCKETS + 1)
    options: Dsl = {"field": field, "size": size, "order": _ORDERS[asked.order]}
    # Enough of every shard, so that what they come to together is exact.
    options["shard_size"] = max(size, MAX_BUCKETS)
    include = _included(asked, beginning=beginning)
    if include or prefix:
        options["include"] = _all_of([f"{escaped(prefix)}({_all_of(include)})"])
    if beginning is False:
        # In an expression of its own: 3.x knows no complement any more.
        options["exclude"] = escaped(prefix) + _begun(asked)
    return {"terms": options} | _below(asked.below)


def _place(asked: Terms) -> tuple[str, str]:
    """The field with the values, and what stands before each of them there."""
    path = indexed_path(asked.field)
    if asked.written:
        return column("written", path), ""
    if has_columns(path):
        return column(_COLUMNS[asked.values], path), ""
    if asked.values == "texts":
        return EXACT, path + KEYWORD
    return EXACT, path + SEPARATOR + ("" if asked.values == "booleans" else NUMBER)


def _included(asked: Terms, *, beginning: bool | None) -> list[str]:
    """Regular expressions that all of the values match which make buckets."""
    made: list[str] = []
    if asked.values == "booleans":
        made.append("true|false")
    if asked.prefix:
        made.append(escaped(keyword(asked.prefix)) + _ANY)
    if asked.pattern is not None:
        made.append(lucene(asked.pattern))
    if asked.containing is not None:
        text = escaped(keyword(asked.containing))
        made.append(f"{_ANY}{text}{_ANY}")
        if beginning:
            made.append(_begun(asked))
    return [] if made == [_ANY + _ANY] else made


def _begun(asked: Terms) -> str:
    """The expression of values that begin with the text that is asked for."""
    return escaped(keyword(asked.containing or "")) + _ANY


def _all_of(patterns: Sequence[str]) -> str:
    if not patterns:
        return _ANY
    return patterns[0] if len(patterns) == 1 else "&".join(f"({each})" for each in patterns)


def _histogram(asked: DateHistogram) -> Dsl:
    interval = asked.interval
    kind = "calendar_interval" if isinstance(interval, str) else "fixed_interval"
    options = {
        "field": column("moments", indexed_path(asked.field)),
        kind: interval if isinstance(interval, str) else f"{interval}ms",
        "min_doc_count": 1,
    }
    return {"date_histogram": options} | _below(asked.below)


def _sort(asked: TopHits) -> Sort:
    return Sort(asked.sort_field or SCORE, asked.descending)


def _top(asked: TopHits) -> Dsl:
    size = min(max(asked.size, 1), MAX_TOP)
    return {"size": size, "sort": order(_sort(asked)), "track_scores": True, **ROW}


class Reader:
    """Reads what came of the aggregations of one search, within what one answer may have."""

    def __init__(self, check: Callable[[], None]) -> None:
        """`check` raises when the time is up."""
        self._check = check
        self._size = AnswerSize()

    def result(
        self, aggregation: Aggregation, name: str, aggregated: Mapping[str, Any]
    ) -> FacetResult:
        """Return the result of an aggregation that was `compiled` under a name.

        Raises InvalidInput when it is too much.
        """
        self._check()
        match aggregation:
            case Terms():
                return self._terms(aggregation, name, aggregated)
            case DateHistogram():
                return self._histogram(aggregation, aggregated[f"{name}a"])
            case TopHits():
                return self._top(aggregation, aggregated.get(f"{name}a"))

    def _terms(self, asked: Terms, name: str, aggregated: Mapping[str, Any]) -> Buckets:
        answers = [aggregated[key] for key in (f"{name}a", f"{name}b") if key in aggregated]
        every = [bucket for answer in answers for bucket in answer["buckets"]]
        chosen, left = every[: asked.size], every[asked.size :]
        self._size.add_buckets(len(chosen))
        others = sum(answer.get("sum_other_doc_count", 0) for answer in answers)
        others += sum(bucket["doc_count"] for bucket in left)
        _, prefix = _place(asked)
        buckets = tuple(
            Bucket(
                _key(asked, bucket["key"], prefix),
                bucket["doc_count"],
                self._inside(asked.below, bucket),
            )
            for bucket in chosen
        )
        return Buckets(buckets, others)

    def _histogram(self, asked: DateHistogram, answer: Mapping[str, Any]) -> Buckets:
        by_key = {int(bucket["key"]): bucket for bucket in answer["buckets"]}
        keys = with_gaps(sorted(by_key), asked.interval) if asked.gaps else sorted(by_key)
        self._size.add_buckets(len(keys))
        buckets = dict.fromkeys(keys, (0, tuple(map(nothing, asked.below))))
        for key, bucket in by_key.items():
            buckets[key] = bucket["doc_count"], self._inside(asked.below, bucket)
        return Buckets(tuple(Bucket(key, *inside) for key, inside in buckets.items()))

    def _inside(
        self, below: Sequence[Aggregation], bucket: Mapping[str, Any]
    ) -> tuple[FacetResult, ...]:
        return tuple(self.result(each, str(number), bucket) for number, each in enumerate(below))

    def _top(self, asked: TopHits, answer: Mapping[str, Any] | None) -> TopDocuments:
        if answer is None:
            return TopDocuments()
        sort = _sort(asked)
        section = answer["hits"]
        hits = hits_of(section, sort)[: asked.size]
        self._size.add_documents(len(hits))
        best = section["max_score"] if sort.field == SCORE else None
        return TopDocuments(section["total"]["value"], hits, best)


def _key(asked: Terms, key: Any, prefix: str) -> str | float | bool:
    if asked.values == "booleans":
        return bool(str(key).removeprefix(prefix) == "true")
    if asked.values == "texts":
        return as_written(key) if asked.written else str(key)[len(prefix) :]
    return number_in(key[len(prefix) :].encode()) if prefix else float(key)
