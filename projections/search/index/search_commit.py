"""Carries out one query on the segments of a commit: evaluated one by one, ranked together."""

from collections import defaultdict
from collections.abc import Callable
from weakref import ref

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
    finder = _Finder(snapshot, query, nesting)
    decisions = Decisions(finder.is_found)
    matched: list[ranking.Matching] = []
    parts: defaultdict[Node | None, list[ranking.Matching]] = defaultdict(list)
    timed_out = False
    try:
        query = decisions.of_filters(query)
        of_facets = {facet.filter for facet in query.facets}
        for view in snapshot.views:
            deadline.check()
            evaluator = Evaluator(snapshot, view, nesting, decisions)
            finder.ask_first(evaluator)
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


class _Finder:
    """Tells if there are documents for the decisions of one query."""

    def __init__(self, snapshot: Snapshot, query: EngineQuery, nesting: Nesting) -> None:
        self._snapshot = snapshot
        self._query = query
        self._nesting = nesting
        self._at_work: Callable[[], Evaluator | None] = lambda: None

    def ask_first(self, evaluator: Evaluator) -> None:
        """Ask this evaluator about its segment: it needs what it finds for the hits, too."""
        # It holds the decisions, which hold this: arrays would wait for the garbage collector.
        self._at_work = ref(evaluator)

    def is_found(self, node: Node) -> bool:
        """True if any document that decides matches a node without decisions."""
        at_work = self._at_work()
        for view in self._snapshot.views:
            self._nesting.deadline.check()
            allowed = view.allowed(self._query.visible, self._query.include_deleted)
            if at_work is not None and at_work.view is view:
                matches = at_work.matches(node)
            else:
                matches = Evaluator(self._snapshot, view, self._nesting).matches(node)
            if _any(matches, allowed):
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
