"""The documents of any of several results, with one score each."""

from collections.abc import Callable, Sequence
from typing import Any

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
from projections.search.index.evaluate.segments import Mask, SegmentView
from projections.search.index.evaluate.term_results import Postings, joined
from projections.search.index.format.arrays import distinct


def union(
    view: SegmentView, clauses: Sequence[Matches], combine: Combine, check: Callable[[], None]
) -> Matches:
    """The documents of any clause; their scores combined in the order of the clauses.

    `check` raises when the time is up.
    """
    clauses = [clause for clause in clauses if clause.count]
    if not clauses:
        return nothing(view)
    if len(clauses) == 1:
        return clauses[0]
    if (postings := _of_one_term(clauses)) is not None:
        return joined(postings, combine)
    if is_many(view, clauses):
        mask = clauses[0].mask().copy()
        for clause in clauses[1:]:
            check()
            if clause.is_dense:
                mask |= clause.mask()
            else:
                mask[places(clause.ids())] = True
        return _many(mask, clauses, combine, check)
    ids = distinct(np.concatenate([clause.ids() for clause in clauses]))
    scores = clauses[0].scores_at(ids)
    for clause in clauses[1:]:
        check()
        scores = combine(scores, clause.scores_at(ids))
    return Sparse(view.size, ids, scores)


def _many(
    mask: Mask, clauses: Sequence[Matches], combine: Combine, check: Callable[[], None]
) -> Dense:
    """The documents of the mask, which has those of all clauses, with the combined scores."""
    count = int(np.count_nonzero(mask))
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


def _of_one_term(clauses: Sequence[Matches]) -> list[Postings] | None:
    """Return the clauses if all of them are the documents of the same term."""
    postings = [clause for clause in clauses if isinstance(clause, Postings)]
    alike = len(postings) == len(clauses) and len({each.term for each in postings}) == 1
    return postings if alike else None
