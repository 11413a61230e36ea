"""Carries out one query on the segments of a commit: evaluated one by one, ranked together."""

import numpy as np

from projections.search.answers.decisions import decided
from projections.search.documents.sources import ReadObjects
from projections.search.engine import (
    EngineHits,
    EngineQuery,
    FacetResult,
    nothing,
)
from projections.search.index.aggregate.aggregator import Aggregator
from projections.search.index.evaluate.evaluator import Evaluator, evaluate
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
    try:
        query = _decided(snapshot, query, deadline)
        views = snapshot.views
        timed_out = False
    except OutOfTime:
        views = ()
        timed_out = True
    matched: list[ranking.Matching] = []
    parts: dict[Node | None, list[ranking.Matching]] = {facet.filter: [] for facet in query.facets}
    nesting = Nesting(Candidates(read_objects, deadline, ObjectSearch))
    try:
        for view in views:
            deadline.check()
            evaluator = Evaluator(snapshot, view, nesting)
            allowed = view.allowed(query.kinds, query.include_deleted)
            allowed = evaluator.restricted(allowed, _filters(query.filter))
            restricted = {
                node: evaluator.restricted(allowed, _filters(node))
                for node in {query.post_filter, *parts}
            }
            matches = evaluator.matches(query.tree)
            decided = {
                node: nesting.without_undecided(view, mask) for node, mask in restricted.items()
            }
            matched.append(ranking.Matching(view, matches, decided[query.post_filter]))
            for node, documents in parts.items():
                mask = _mask(view, matches, decided[node])
                documents.append(ranking.Matching(view, matches, mask))
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


def _decided(snapshot: Snapshot, query: EngineQuery, deadline: Deadline) -> EngineQuery:
    nesting = Nesting(Candidates(None, deadline, ObjectSearch))

    def is_found(node: Node) -> bool:
        for view in snapshot.views:
            deadline.check()
            deciding = view.allowed(query.visible, query.include_deleted)
            if _any(evaluate(snapshot, view, nesting, node), deciding):
                return True
        return False

    return decided(query, is_found)


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
