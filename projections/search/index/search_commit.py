"""Carries out one query on the segments of a commit: evaluated one by one, ranked together."""

from collections import defaultdict

import numpy as np

from projections.search.answers.decisions import Decisions
from projections.search.documents.sources import ReadObjects
from projections.search.engine import (
    EngineHits,
    EngineQuery,
    FacetResult,
    nothing,
)
from projections.search.index.aggregate.aggregator import Aggregator
from projections.search.index.evaluate.evaluator import Evaluator
from projections.search.index.evaluate.nested import Nesting
from projections.search.index.evaluate.object_search import ObjectSearch
from projections.search.index.evaluate.results import Matches
from projections.search.index.evaluate.segments import Mask, SegmentView, Snapshot
from projections.search.index.rank import ranking
from projections.search.matching.candidates import Candidates
from projections.search.matching.deadline import Deadline, OutOfTime
from projections.search.tree import Node

_FEW = 1_000
"""Number of documents that are looked at first, as one of them often decides."""


def search(
    snapshot: Snapshot,
    query: EngineQuery,
    deadline: Deadline,
    read_objects: ReadObjects | None = None,
) -> EngineHits:
    """The page of hits that the query asks for.

    When time is up, the hits are of the segments that were evaluated by then, and of these only
    documents whose objects were looked at as far as the query needs it.
    `read_objects` reads what `tree.Nested` cannot decide by the index alone. Raises InvalidInput
    for what cannot be answered.
    """
    nesting = Nesting(Candidates(read_objects, deadline, ObjectSearch))
    segments = _Segments(snapshot, query, nesting)
    matched: list[ranking.Matching] = []
    parts: defaultdict[Node | None, list[ranking.Matching]] = defaultdict(list)
    timed_out = False
    try:
        query = segments.decisions.of_filters(query)
        of_facets = {facet.filter for facet in query.facets}
        for view in snapshot.views:
            deadline.check()
            evaluator = segments.evaluator(view)
            allowed = view.allowed(query.kinds, query.include_deleted)
            allowed = evaluator.restricted(allowed, _filters(query.filter))
            restricted = {
                node: evaluator.restricted(allowed, _filters(node))
                for node in {query.post_filter, *of_facets}
            }
            matches = evaluator.matches(query.tree)
            decided = {
                node: nesting.without_undecided(view, mask) for node, mask in restricted.items()
            }
            matched.append(ranking.Matching(view, matches, decided[query.post_filter]))
            for node in of_facets:
                mask = _mask(view, matches, decided[node])
                parts[node].append(ranking.Matching(view, matches, mask))
    except OutOfTime:
        timed_out = True
    facets: list[FacetResult] = []
    try:
        aggregator = Aggregator(deadline.check, snapshot.memory)
        for facet in query.facets:
            facets.append(aggregator.result(facet.aggregation, parts[facet.filter]))
    except OutOfTime:
        timed_out = True
        facets += [nothing(facet.aggregation) for facet in query.facets[len(facets) :]]
    timed_out = timed_out or nesting.has_undecided
    return ranking.page(query, matched, facets=tuple(facets), timed_out=timed_out)


class _Segments:
    """Evaluates the nodes of one query in the segments of a commit."""

    def __init__(self, snapshot: Snapshot, query: EngineQuery, nesting: Nesting) -> None:
        self.decisions = Decisions(self._is_found)
        self._snapshot = snapshot
        self._query = query
        self._nesting = nesting
        self._last: Evaluator | None = None

    def evaluator(self, view: SegmentView) -> Evaluator:
        """The evaluator of a segment, the same one when the segment was asked for last."""
        if self._last is None or self._last.view is not view:
            self._last = Evaluator(self._snapshot, view, self._nesting, self.decisions)
        return self._last

    def _is_found(self, node: Node) -> bool:
        for view in self._snapshot.views:
            self._nesting.deadline.check()
            allowed = view.allowed(self._query.visible, self._query.include_deleted)
            if _any(self.evaluator(view).matches(node), allowed):
                return True
        return False


def _any(matches: Matches, allowed: Mask | None) -> bool:
    """Return True if any of the documents is allowed."""
    if allowed is None or not matches.count:
        return matches.count > 0
    if matches.is_dense:
        return bool(np.any(matches.mask() & allowed))
    ids = matches.ids()
    return bool(allowed.take(ids[:_FEW]).any() or allowed.take(ids[_FEW:]).any())


def _filters(node: Node | None) -> tuple[Node, ...]:
    return () if node is None else (node,)


def _mask(view: SegmentView, matches: Matches, allowed: Mask | None) -> Mask | None:
    """The allowed documents (None: all) that match; None when that is all of the segment."""
    if matches.count < view.size:
        mask = matches.mask()
        return mask if allowed is None else mask & allowed
    return None if allowed is None or allowed.all() else allowed
