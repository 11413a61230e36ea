"""Aggregations over the matching documents of all segments, from the outermost inwards.

What is aggregated of a segment are the documents that its `Matching` allows, all of which match.

Buckets are counted and chosen first. Aggregations inside are then carried out for each bucket that
was chosen, over a mask of its documents.
"""

from collections.abc import Hashable, Iterator, Sequence

import numpy as np

from projections.search import tree
from projections.search.aggregations import (
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
    EngineQuery,
    FacetResult,
    Sort,
    TopDocuments,
)
from projections.search.index.aggregate import merging
from projections.search.index.aggregate.counting import counts, intervals, number_prefix
from projections.search.index.evaluate.lexicons import Span
from projections.search.index.evaluate.results import Matches, Sparse
from projections.search.index.evaluate.segments import Check, Memory
from projections.search.index.format.arrays import Inverted
from projections.search.index.rank.ranking import Matching, page
from projections.search.language.patterns import TermPattern, wildcard
from projections.search.language.regex import regex
from projections.search.matching.moments import with_gaps
from projections.search.matching.terms import (
    EXACT,
    KEYWORD,
    SEPARATOR,
    WRITTEN,
    as_written,
    number_in,
)
from projections.visibility.field_paths import indexed_path

_SPAN_BYTES = 200
"""Memory that a span takes."""


class Aggregator:
    """Carries out the aggregations of one search, within what one answer may have."""

    def __init__(self, check: Check, memory: Memory) -> None:
        """`memory` keeps what depends on all segments of the commit."""
        self._check = check
        self._memory = memory
        self._size = AnswerSize()

    def result(self, aggregation: Aggregation, parts: Sequence[Matching]) -> FacetResult:
        """Aggregate some documents; raises InvalidInput when it is too much."""
        self._check()
        match aggregation:
            case Terms():
                return self._terms(aggregation, parts)
            case DateHistogram():
                return self._histogram(aggregation, parts)
            case TopHits():
                return self._top(aggregation, parts)

    # Values

    def _terms(self, asked: Terms, parts: Sequence[Matching]) -> Buckets:
        prefix, low_is_number = _prefix(asked)
        counted = [self._counted(asked, prefix, part, low_is_number) for part in parts]
        names = tuple(part.view.name for part in parts)
        chosen = self._chosen(asked, counted, ("keys", prefix, asked.prefix, names))
        self._size.add_buckets(len(chosen))
        others = sum(terms.total() for terms in counted) - sum(count for _, count in chosen)
        buckets = tuple(
            Bucket(_key(asked, key), count, self._inside(asked.below, parts, prefix + key))
            for key, count in chosen
        )
        return Buckets(buckets, others)

    def _counted(self, asked: Terms, prefix: bytes, part: Matching, numbers: bool) -> merging.Terms:
        """The terms of a segment that the aggregation is about and that some document has."""
        inverted = part.view.fields[EXACT]
        start = keyword(asked.prefix).encode() if asked.prefix else b""
        span = part.view.memory.get(
            ("span", prefix, start),
            lambda: Span(inverted, prefix, start, numbers=numbers),
            lambda _: _SPAN_BYTES,
        )
        counted = counts(inverted, span.low, span.high, part.allowed, self._check)
        places = np.flatnonzero(counted)
        for pattern in _patterns(asked):
            matching = span.matching(pattern, part.view.memory, self._check) - span.low
            places = np.intersect1d(places, matching, assume_unique=True)
        return merging.Terms(
            inverted, len(prefix), places + span.low, counted.take(places), span.low, span.high
        )

    def _chosen(
        self, asked: Terms, counted: Sequence[merging.Terms], remembered_as: Hashable
    ) -> list[merging.Counted]:
        """Choose the buckets of the answer; `remembered_as` is the key for remembering terms."""
        if asked.order == "count":
            few = sum(terms.high - terms.low for terms in counted) <= merging.FEW
            if few and len(counted) > 1 and asked.size:
                same = self._memory.get(
                    remembered_as,
                    lambda: merging.SameKeys.of(counted),
                    lambda same: merging.KEY_BYTES * len(same.keys),
                )
                return same.largest(counted, asked.size)
            return merging.largest(counted, asked.size, self._check)
        if asked.order == "key":
            return merging.first(counted, asked.size, self._check)
        text = keyword(asked.containing or "").encode()
        chosen: list[merging.Counted] = []
        # A text itself comes before whatever else begins with it.
        for beginning in (True, False):
            some = [_beginning(terms, text, beginning=beginning) for terms in counted]
            chosen += merging.first(some, asked.size - len(chosen), self._check)
        return chosen

    def _inside(
        self, below: Sequence[Aggregation], parts: Sequence[Matching], term: bytes
    ) -> tuple[FacetResult, ...]:
        """Aggregate the documents, among those of the parts, that have a term."""
        if not below:
            return ()
        inside = []
        for part in parts:
            number = part.view.number(EXACT, term)
            if number >= 0:
                inside.append(_restricted(part, number, number + 1))
        return tuple(self.result(each, inside) for each in below)

    # Time

    def _histogram(self, asked: DateHistogram, parts: Sequence[Matching]) -> Buckets:
        path = indexed_path(asked.field)
        total: dict[int, int] = {}
        places: dict[int, list[tuple[Matching, int, int]]] = {}
        for part in parts:
            self._check()
            for key, low, high, count in intervals(part.view, part.allowed, path, asked.interval):
                total[key] = total.get(key, 0) + count
                places.setdefault(key, []).append((part, low, high))
        keys = with_gaps(sorted(total), asked.interval) if asked.gaps else sorted(total)
        self._size.add_buckets(len(keys))
        buckets = []
        for key in keys:
            inside = [_restricted(*place) for place in places.get(key, ())] if asked.below else []
            below = tuple(self.result(each, inside) for each in asked.below)
            buckets.append(Bucket(key, total.get(key, 0), below))
        return Buckets(tuple(buckets))

    # Documents

    def _top(self, asked: TopHits, parts: Sequence[Matching]) -> TopDocuments:
        sort = Sort(asked.sort_field or SCORE, asked.descending)
        query = EngineQuery(tree=tree.MatchAll(), sort=sort, size=asked.size)
        matching = [Matching(part.view, _scored(part), None) for part in parts]
        hits = page(query, matching, timed_out=False)
        self._size.add_documents(len(hits.hits))
        return TopDocuments(hits.total, hits.hits, hits.max_score)


def _prefix(asked: Terms) -> tuple[bytes, bool]:
    """Return the beginning of the terms of the values, and True if numbers may be among them."""
    path = indexed_path(asked.field)
    match asked.values:
        case "texts":
            return f"{path}{WRITTEN if asked.written else KEYWORD}".encode(), True
        case "booleans":
            return f"{path}{SEPARATOR}".encode(), False
    return number_prefix(path), True


def _key(asked: Terms, key: bytes) -> str | float | bool:
    match asked.values:
        case "texts":
            return as_written(key.decode()) if asked.written else key.decode()
        case "booleans":
            return key == b"true"
    return number_in(key)


def _patterns(asked: Terms) -> Iterator[TermPattern]:
    if asked.pattern is not None:
        yield regex(asked.pattern)
    if asked.containing is not None:
        yield wildcard(f"*{tree.escape_wildcards(keyword(asked.containing))}*")


def _beginning(terms: merging.Terms, text: bytes, *, beginning: bool) -> merging.Terms:
    """The terms that begin with a text, or the others."""
    if not len(terms.numbers):
        return terms
    inverted = terms.inverted
    prefix = inverted.term(int(terms.numbers[0]))[: terms.skip] + text
    low, high = terms.numbers.searchsorted(inverted.span(prefix))
    inside = np.zeros(len(terms.numbers), np.bool_)
    inside[low:high] = True
    return terms.select(np.flatnonzero(inside == beginning))


def _restricted(part: Matching, low: int, high: int) -> Matching:
    """The documents of a part that have any of the terms from `low` up to `high`."""
    inverted: Inverted = part.view.fields[EXACT]
    ids = inverted.ids[int(inverted.starts[low]) : int(inverted.starts[high])]
    mask = np.zeros(part.view.size, np.bool_)
    mask[ids if part.allowed is None else ids.compress(part.allowed.take(ids))] = True
    return Matching(part.view, part.matches, mask)


def _scored(part: Matching) -> Matches:
    """The documents of a part with their scores."""
    if part.allowed is None:
        return part.matches
    ids = np.flatnonzero(part.allowed).astype(np.int32)
    constant = part.matches.constant
    scores = part.matches.scores_at(ids) if constant is None else constant
    return Sparse(part.view.size, ids, scores)
