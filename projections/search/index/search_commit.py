"""Carries out one query on the segments of a commit: evaluated one by one, ranked together."""

import time

from projections.search import tree
from projections.search.engine import EngineHits, EngineQuery
from projections.search.index.evaluate.evaluator import Evaluator
from projections.search.index.evaluate.nested import Nesting
from projections.search.index.evaluate.results import Matches
from projections.search.index.evaluate.segments import SegmentView, Snapshot
from projections.search.index.rank import ranking
from projections.search.objects import ReadObjects


class OutOfTime(Exception):
    """The deadline of a search has come."""


def search(
    snapshot: Snapshot, query: EngineQuery, ends: float, read_objects: ReadObjects | None = None
) -> EngineHits:
    """The page of hits that the query asks for; `ends` is when to answer with what is known.

    `read_objects` reads what `tree.Nested` cannot decide by the index alone. Raises InvalidInput
    for what cannot be answered.
    """

    def check() -> None:
        if time.monotonic() > ends:
            raise OutOfTime

    matched: list[ranking.Matching] = []
    filters = [node for node in (query.filter, query.post_filter) if node is not None]
    try:
        nesting = Nesting(read_objects, check, _matches)
        for view in snapshot.views:
            check()
            evaluator = Evaluator(snapshot, view, nesting)
            allowed = view.allowed(query.kinds, query.include_deleted)
            allowed = evaluator.restricted(allowed, filters)
            matched.append(ranking.Matching(view, evaluator.matches(query.tree), allowed))
    except OutOfTime:
        return ranking.page(query, matched, timed_out=True)
    return ranking.page(query, matched, timed_out=False)


def _matches(snapshot: Snapshot, view: SegmentView, nesting: Nesting, node: tree.Node) -> Matches:
    return Evaluator(snapshot, view, nesting).matches(node)
