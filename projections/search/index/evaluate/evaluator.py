"""The query tree against the segments of a snapshot.

Every node comes to documents and scores by whole arrays: conjunctions begin with the rarest clause
and look the others up, disjunctions add up over the segment. Filters are kept as masks, by node.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from projections.search import tree
from projections.search.index.evaluate.leaves import Leaves
from projections.search.index.evaluate.nested import Nesting
from projections.search.index.evaluate.results import (
    Dense,
    Matches,
    Sparse,
    everything,
    is_many,
    nothing,
    of_mask,
    union,
)
from projections.search.index.evaluate.segments import DocIds, Mask, SegmentView, Snapshot

_LARGE = 64
"""Values in a filter that is too large to be remembered."""


class Evaluator:
    """Evaluates trees against a segment, for the length of one query."""

    def __init__(self, snapshot: Snapshot, view: SegmentView, nesting: Nesting) -> None:
        self._view = view
        self._nesting = nesting
        self._leaves = Leaves(snapshot, view, nesting.deadline.check)
        self._known: dict[tree.Node, Matches] = {}

    def restricted(self, allowed: Mask | None, filters: Iterable[tree.Node]) -> Mask | None:
        """The allowed documents that match all filters; None stands for all documents."""
        for node in filters:
            mask = self._mask(node)
            allowed = mask if allowed is None else allowed & mask
        return allowed

    def _mask(self, node: tree.Node) -> Mask:
        if remembered_values(node) > _LARGE:
            return self.matches(node).mask()
        memory = self._view.memory
        return memory.array(("mask", node), lambda: self.matches(node).mask())

    def matches(self, node: tree.Node) -> Matches:
        """The documents that match the node, with their scores."""
        known = self._known.get(node)
        if known is None:
            known = self._known[node] = self._evaluate(node)
        return known

    def _evaluate(self, node: tree.Node) -> Matches:
        match node:
            case tree.Bool():
                return self._bool(node)
            case tree.Boosted(node=inner, boost=boost):
                return self.matches(inner).scaled(boost)
            case tree.Constant(node=inner, score=score):
                return self.matches(inner).fixed(score)
            case tree.DisMax(nodes=nodes, tie_breaker=tie):
                return self._dis_max([self.matches(inner) for inner in nodes], tie)
            case tree.Nested():
                return self._nesting.matches(node, self._view, self.matches)
            case _:
                return self._leaves.matches(node)

    def _dis_max(self, clauses: list[Matches], tie: float) -> Matches:
        best = union(self._view, clauses, np.maximum)
        if not tie:
            return best
        total = union(self._view, clauses)
        ids = best.ids()
        highest = best.scores_at(ids)
        rest = total.scores_at(ids) - highest
        return Sparse(self._view.size, ids, highest + np.float32(tie) * rest)

    def _bool(self, node: tree.Bool) -> Matches:
        must = [self.matches(inner) for inner in node.must]
        filters = [self.matches(inner) for inner in node.filter]
        should = [self.matches(inner) for inner in node.should]
        excluded = [clause for inner in node.must_not if (clause := self.matches(inner)).count]
        self._nesting.deadline.check()
        required = node.required
        if required > len(should):
            return nothing(self._view)
        if should and required == len(should):
            must, should, required = [*must, *should], [], 0
        if len(must) == 1 and not filters and not should and not excluded:
            return must[0]
        if must or filters:
            ids = self._intersection([*must, *filters], excluded)
            if not should:
                return self._summed(ids, must)
            return self._with_should(ids, must, should, required)
        if should and required:
            return self._any_of(should, excluded, required)
        every = everything(self._view, 0.0 if should else 1.0)
        if excluded:
            mask = every.mask()
            for clause in excluded:
                mask = mask & ~clause.mask()
            every = of_mask(mask, 0.0 if should else 1.0)
        if not should:
            return every
        optional = union(self._view, should)
        return Dense(every.mask(), optional.dense() * every.mask())

    def _intersection(self, clauses: list[Matches], excluded: list[Matches]) -> DocIds:
        """The documents of all clauses and none of the excluded."""
        first, *others = sorted(clauses, key=lambda clause: clause.count)
        if first.count * 4 > self._view.size and not isinstance(first, Sparse):
            mask = first.mask()
            for clause in others:
                mask = mask & clause.mask()
            for clause in excluded:
                mask = mask & ~clause.mask()
            return np.flatnonzero(mask).astype(np.int32)
        ids = first.ids()
        for clause in others:
            ids = ids.compress(clause.present(ids))
        for clause in excluded:
            ids = ids.compress(~clause.present(ids))
        return ids

    def _summed(self, ids: DocIds, must: list[Matches], should: Sequence[Matches] = ()) -> Matches:
        """Documents that match all of `must`, with the sum of the clauses' scores."""
        clauses = [*must, *should]
        if not clauses:
            return Sparse(self._view.size, ids, 0.0)
        constants = [clause.constant for clause in must if clause.constant is not None]
        if len(constants) == len(clauses):
            total = np.cumsum(np.array(constants, np.float32))[-1]
            return Sparse(self._view.size, ids, float(total))
        scores = clauses[0].scores_at(ids)
        for clause in clauses[1:]:
            scores = scores + clause.scores_at(ids)
        return Sparse(self._view.size, ids, scores)

    def _with_should(
        self, ids: DocIds, must: list[Matches], should: list[Matches], required: int
    ) -> Matches:
        if required > 0:
            counts = np.zeros(len(ids), np.uint16)
            for clause in should:
                counts += clause.present(ids)
            ids = ids.compress(counts >= required)
        return self._summed(ids, must, should)

    def _any_of(self, should: list[Matches], excluded: list[Matches], required: int) -> Matches:
        """The documents with enough of the clauses and none of the excluded."""
        either = union(self._view, should)
        if required == 1 and not excluded:
            return either
        if not is_many(self._view, should):
            ids = either.ids()
            for clause in excluded:
                ids = ids.compress(~clause.present(ids))
            return self._with_should(ids, [], should, required)
        mask = either.mask()
        if required > 1:
            counts = np.zeros(self._view.size, np.uint16)
            for clause in should:
                if clause.count:
                    counts += clause.mask()
            mask = counts >= required
        for clause in excluded:
            mask = mask & ~clause.mask()
        return Dense(mask, either.dense() * mask)


def evaluate(snapshot: Snapshot, view: SegmentView, nesting: Nesting, node: tree.Node) -> Matches:
    """The documents of one segment that match the node."""
    return Evaluator(snapshot, view, nesting).matches(node)


def remembered_values(node: tree.Node) -> int:
    """Values in a node; more than `_LARGE` where its result must not be remembered."""
    match node:
        case tree.Nested():
            return _LARGE + 1  # depends on more than the index
        case tree.Ids(values=values):
            return len(values)
    return 1 + sum(map(remembered_values, tree.children(node)))
