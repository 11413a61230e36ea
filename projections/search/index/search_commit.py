"""Carries out one query on the segments of a commit: evaluated one by one, ranked together."""

from projections.search.engine import EngineHits, EngineQuery
from projections.search.index.evaluate.deadline import Deadline, OutOfTime
from projections.search.index.evaluate.evaluator import Evaluator, evaluate
from projections.search.index.evaluate.nested import Nesting
from projections.search.index.evaluate.segments import Snapshot
from projections.search.index.rank import ranking
from projections.search.objects import ReadObjects


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
    matched: list[ranking.Matching] = []
    filters = [node for node in (query.filter, query.post_filter) if node is not None]
    nesting = Nesting(read_objects, deadline, evaluate)
    timed_out = False
    try:
        for view in snapshot.views:
            deadline.check()
            evaluator = Evaluator(snapshot, view, nesting)
            allowed = view.allowed(query.kinds, query.include_deleted)
            allowed = evaluator.restricted(allowed, filters)
            matches = evaluator.matches(query.tree)
            allowed = nesting.without_undecided(view, allowed)
            matched.append(ranking.Matching(view, matches, allowed))
    except OutOfTime:
        timed_out = True
    return ranking.page(query, matched, timed_out=timed_out or nesting.has_undecided)
