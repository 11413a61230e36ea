"""The documents of any of several results, with one score each."""

from collections.abc import Callable, Sequence
from typing import Any, TypeGuard

import numpy as np

from projections.search.index.evaluate.results import (
    DENSE,
    Combine,
    Dense,
    Matches,
    Sparse,
    nothing,
    places,
)
from projections.search.index.evaluate.segments import Check, Mask, SegmentView
from projections.search.index.evaluate.term_results import Postings
from projections.search.index.format.arrays import distinct


def union(view: SegmentView, clauses: Sequence[Matches], combine: Combine, check: Check) -> Matches:
    """The documents of any clause; their scores combined in the order of the clauses."""
    clauses = [clause for clause in clauses if clause.count]
    if len(clauses) < 2:
        return clauses[0] if clauses else nothing(view)
    first = clauses[0]
    if isinstance(first, Postings) and all([_is_of(clause, first) for clause in clauses]):
        return _of_term(first, clauses, combine, check)
    if is_many(view, clauses):
        mask = first.mask().copy()
        for clause in clauses[1:]:
            check()
            if clause.is_dense:
                mask |= clause.mask()
            else:
                mask[places(clause.ids())] = True
        count = int(np.count_nonzero(mask))
        for clause in clauses:
            if isinstance(clause, Postings) and clause.count == count:
                return _of_term(clause, clauses, combine, check)
        return _many(mask, count, clauses, combine, check)
    return _few(view, clauses, combine, check)


def _is_of(clause: Matches, postings: Postings) -> TypeGuard[Postings]:
    """Return True if the clause has the documents of the same term."""
    return isinstance(clause, Postings) and clause.term == postings.term


def _of_term(
    postings: Postings,
    clauses: Sequence[Matches],
    combine: Combine,
    check: Check,
) -> Matches:
    """The documents of a term that has the documents of all clauses, with combined scores."""
    ids = postings.ids()

    def scores_of(clause: Matches) -> Any:
        if _is_of(clause, postings):
            return clause.own_scores()
        return clause.scores_at(ids) if clause.is_dense else clause.dense().take(ids)

    scores = _combined(clauses, postings.count, scores_of, combine, check)
    if isinstance(scores, np.ndarray):
        return postings.rescored(scores)
    return postings.fixed(float(scores))


def _few(view: SegmentView, clauses: Sequence[Matches], combine: Combine, check: Check) -> Sparse:
    """The documents of all clauses by their numbers, with combined scores."""
    ids = distinct(np.concatenate([clause.ids() for clause in clauses]))
    for clause in clauses:
        if clause.count == len(ids):
            # These are the same documents, whose scores need no looking up.
            ids = clause.ids()
    scores = _combined(clauses, len(ids), lambda each: each.scores_at(ids), combine, check)
    return Sparse(view.size, ids, scores if isinstance(scores, np.ndarray) else float(scores))


def _combined(
    clauses: Sequence[Matches],
    count: int,
    scores_of: Callable[[Matches], Any],
    combine: Combine,
    check: Check,
) -> Any:
    """The scores of `count` documents, which are those of all clauses, combined in their order.

    One score for all until a clause tells documents apart.
    """
    scores: Any = None
    for clause in clauses:
        check()
        if clause.constant is not None and clause.count == count:
            own: Any = np.float32(clause.constant)
        else:
            own = scores_of(clause)
        scores = own if scores is None else combine(scores, own)
    return scores


def _many(
    mask: Mask, count: int, clauses: Sequence[Matches], combine: Combine, check: Check
) -> Dense:
    """The `count` documents of a mask, which are those of all clauses, with combined scores."""
    scores: Any = None
    """One for all until a clause tells documents apart."""
    beyond = False
    """True once documents outside the mask have scores too."""
    for clause in clauses:
        check()
        own: Any
        if clause.constant is not None and clause.count == count:
            own, beyond = np.float32(clause.constant), True
        elif clause.is_dense or scores is None:
            own = clause.dense()
        else:
            if not isinstance(scores, np.ndarray):
                scores = np.full(len(mask), scores)
            at = places(clause.ids())
            scores[at] = combine(scores.take(at), clause.scores_at(clause.ids()))
            continue
        scores = own if scores is None else combine(scores, own)
    if not isinstance(scores, np.ndarray):
        return Dense(mask, float(scores), count)
    return Dense(mask, scores * mask if beyond else scores, count)


def is_many(view: SegmentView, clauses: Sequence[Matches]) -> bool:
    """Return True if the documents of all clauses are better kept as a mask."""
    return sum(clause.count for clause in clauses) * DENSE > view.size or any(
        clause.is_dense for clause in clauses
    )
