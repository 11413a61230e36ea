"""The query tree against the segments of a snapshot.

Every node comes to documents and scores by whole arrays: conjunctions begin with the rarest clause
and look the others up, disjunctions add up over the segment. Filters are kept as masks, by node.
"""

from collections.abc import Callable, Iterable, Sequence
from operator import is_
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projections.search import tree
from projections.search.answers.decisions import Decisions
from projections.search.index.evaluate.leaves import Leaves
from projections.search.index.evaluate.nested import Nesting
from projections.search.index.evaluate.results import (
    Combine,
    Dense,
    Matches,
    Scores,
    Sparse,
    everything,
    nothing,
    of_mask,
)
from projections.search.index.evaluate.segments import DocIds, Mask, SegmentView, Snapshot
from projections.search.index.evaluate.unions import is_many, union

_LARGE = 64
"""The most values of a filter whose result is remembered."""


class Evaluator:
    """Evaluates trees against a segment, for the length of one query."""

    def __init__(
        self,
        snapshot: Snapshot,
        view: SegmentView,
        nesting: Nesting,
        decisions: Decisions | None = None,
    ) -> None:
        """Without `decisions`, all of them must have been made in the trees."""
        self.view = view
        self._nesting = nesting
        self._decisions = decisions
        self._check = nesting.deadline.check
        self._leaves = Leaves(snapshot, view, self._check)
        self._held_bytes = view.steps.held_bytes
        self._known: dict[tree.Node, Matches] = {}
        self._known_bytes = 0
        self._met: tuple[list[Matches], DocIds] = [], np.empty(0, np.int32)
        """The clauses of the last intersection, and their documents."""

    def restricted(self, allowed: Mask | None, filters: Iterable[tree.Node]) -> Mask | None:
        """The allowed documents that match all filters; None stands for all documents."""
        for node in filters:
            mask = self._mask(node)
            allowed = mask if allowed is None else allowed & mask
        return allowed

    def _mask(self, node: tree.Node) -> Mask:
        if remembered_values(node) > _LARGE:
            return self.matches(node).mask()
        memory = self.view.memory
        return memory.array(("mask", node), lambda: self.matches(node).mask())

    def matches(self, node: tree.Node) -> Matches:
        """The documents that match the node, with their scores."""
        known = self._known.get(node)
        if known is None:
            self._check()
            known = _EVALUATE.get(type(node), Evaluator._leaf)(self, node)
            if self._known_bytes + known.nbytes <= self._held_bytes:
                self._known_bytes += known.nbytes
                self._known[node] = known
        return known

    def _held(
        self, nodes: Iterable[tree.Node], join: Callable[[list[Matches]], Matches]
    ) -> list[Matches]:
        """Return the documents of the nodes in order; the first are joined to save memory."""
        held: list[Matches] = []
        held_bytes = 0
        for node in nodes:
            matches = self.matches(node)
            held.append(matches)
            held_bytes += matches.nbytes
            if held_bytes > self._held_bytes and len(held) > 1:
                held = [join(held)]
                held_bytes = held[0].nbytes
        return held

    def _leaf(self, node: tree.Leaf) -> Matches:
        return self._leaves.matches(node)

    def _boosted(self, node: tree.Boosted) -> Matches:
        return self.matches(node.node).scaled(node.boost)

    def _constant(self, node: tree.Constant) -> Matches:
        if values := tree.any_value_of(node.node):
            return self._leaves.any_value(values).fixed(node.score)
        return self.matches(node.node).fixed(node.score)

    def _nested(self, node: tree.Nested) -> Matches:
        if self._decisions is not None:
            # An object decides nothing: what a node stands for is that of all documents.
            node = tree.map_children(node, self._decisions.made)
        return self._nesting.matches(node, self.view, self.matches)

    def _if_found(self, node: tree.IfFound) -> Matches:
        if self._decisions is None:
            raise TypeError("a decision was not made before the objects are searched")
        return self.matches(self._decisions.chosen(node))

    def _dis_max(self, node: tree.DisMax) -> Matches:
        best = self._best(self._held(node.nodes, self._best))
        if not node.tie_breaker:
            return best
        total = self._union(self._held(node.nodes, self._union))
        ids = best.ids()
        highest = best.scores_at(ids)
        rest = total.scores_at(ids) - highest
        return Sparse(self.view.size, ids, highest + np.float32(node.tie_breaker) * rest)

    def _union(self, clauses: Sequence[Matches], combine: Combine = np.add) -> Matches:
        return union(self.view, clauses, combine, self._check)

    def _best(self, clauses: Sequence[Matches]) -> Matches:
        return self._union(clauses, np.maximum)

    def _bool(self, node: tree.Bool) -> Matches:
        required, must_nodes, should_nodes = node.required, node.must, node.should
        if should_nodes and required == len(should_nodes):
            must_nodes, should_nodes, required = (*must_nodes, *should_nodes), (), 0
        must = self._held(must_nodes, lambda held: self._summed(self._intersected(held, []), held))
        filters = self._held(node.filter, self._all)
        excluded = [clause for clause in self._held(node.must_not, self._union) if clause.count]
        if required > len(should_nodes):
            return nothing(self.view)
        if len(must) == 1 and not filters and not should_nodes and not excluded:
            return must[0]
        if must or filters:
            ids = self._intersection([*must, *filters], excluded)
            if not should_nodes:
                return self._summed(ids, must)
            return self._with_should(ids, must, map(self.matches, should_nodes), required)
        if should_nodes and required:
            return self._any_of(should_nodes, excluded, required)
        every = everything(self.view, 0.0 if should_nodes else 1.0)
        if excluded:
            mask = every.mask()
            for clause in excluded:
                self._check()
                mask = mask & ~clause.mask()
            every = of_mask(mask, 0.0 if should_nodes else 1.0)
        if not should_nodes:
            return every
        optional = self._union(self._held(should_nodes, self._union))
        return Dense(every.mask(), optional.dense() * every.mask())

    def _all(self, clauses: list[Matches]) -> Matches:
        return Sparse(self.view.size, self._intersected(clauses, []), 0.0)

    def _intersection(self, clauses: list[Matches], excluded: list[Matches]) -> DocIds:
        """The documents that all clauses and none of the excluded ones match."""
        if excluded:
            return self._intersected(clauses, excluded)
        # Plain text asks for the same words as a step, and for their scores.
        if not _are_same(clauses, self._met[0]):
            self._met = clauses, self._intersected(clauses, [])
        return self._met[1]

    def _intersected(self, clauses: list[Matches], excluded: list[Matches]) -> DocIds:
        first, *others = sorted(clauses, key=lambda clause: clause.count)
        if isinstance(first, Dense) or first.count * 8 > self.view.size:
            mask = first.mask()
            for clause in others:
                self._check()
                mask = mask & clause.mask()
            for clause in excluded:
                self._check()
                mask = mask & ~clause.mask()
            return np.flatnonzero(mask).astype(np.int32)
        ids = first.ids()
        for clause in others:
            self._check()
            ids = ids.compress(clause.present(ids))
        for clause in excluded:
            self._check()
            ids = ids.compress(~clause.present(ids))
        return ids

    def _summed(self, ids: DocIds, must: list[Matches]) -> Matches:
        """Documents that match all of `must`, with the sum of the clauses' scores."""
        if not must:
            return Sparse(self.view.size, ids, 0.0)
        constants = [clause.constant for clause in must if clause.constant is not None]
        if len(constants) == len(must):
            total = np.cumsum(np.array(constants, np.float32))[-1]
            return Sparse(self.view.size, ids, float(total))
        return Sparse(self.view.size, ids, self._sum(ids, must))

    def _sum(self, ids: DocIds, clauses: Sequence[Matches]) -> Scores:
        scores = clauses[0].scores_at(ids)
        for clause in clauses[1:]:
            self._check()
            scores = scores + clause.scores_at(ids)
        return scores

    def _with_should(
        self, ids: DocIds, must: list[Matches], should: Iterable[Matches], required: int
    ) -> Matches:
        """The documents, among `ids`, that match enough of `should`, which is iterated once."""
        scores = self._sum(ids, must) if must else np.zeros(len(ids), np.float32)
        counts = np.zeros(len(ids), np.uint16)
        for clause in should:
            self._check()
            scores = scores + clause.scores_at(ids)
            if required:
                counts += clause.present(ids)
        if required:
            enough = counts >= required
            ids, scores = ids.compress(enough), scores.compress(enough)
        return Sparse(self.view.size, ids, scores)

    def _any_of(
        self, nodes: Sequence[tree.Node], excluded: list[Matches], required: int
    ) -> Matches:
        """The documents with enough of the nodes and none of the excluded."""
        counts: NDArray[np.uint16] | None = None
        """(documents,): how many of the nodes that were joined each document matches."""

        def join(clauses: list[Matches]) -> Matches:
            nonlocal counts
            counts = self._counted(clauses, counts)
            return self._union(clauses)

        should = self._held(nodes, join)
        either = self._union(should)
        if required == 1 and not excluded:
            return either
        if counts is None and not is_many(self.view, should):
            ids = either.ids()
            for clause in excluded:
                self._check()
                ids = ids.compress(~clause.present(ids))
            return self._with_should(ids, [], should, required)
        mask = either.mask()
        if required > 1:
            mask = self._counted(should, counts) >= required
        for clause in excluded:
            self._check()
            mask = mask & ~clause.mask()
        return Dense(mask, either.dense() * mask)

    def _counted(
        self, clauses: Sequence[Matches], counts: NDArray[np.uint16] | None
    ) -> NDArray[np.uint16]:
        """(documents,): how many clauses each document matches.

        If the first clause is a join of earlier ones, `counts` has the numbers for these; else
        None.
        """
        if counts is None:
            counts = np.zeros(self.view.size, np.uint16)
        else:
            clauses = clauses[1:]
        for clause in clauses:
            self._check()
            if clause.count:
                counts += clause.mask()
        return counts


def _are_same(clauses: Sequence[Matches], others: Sequence[Matches]) -> bool:
    return len(clauses) == len(others) and all(map(is_, clauses, others))


_EVALUATE: dict[type[tree.Base], Callable[[Evaluator, Any], Matches]] = {
    tree.Bool: Evaluator._bool,
    tree.Boosted: Evaluator._boosted,
    tree.Constant: Evaluator._constant,
    tree.DisMax: Evaluator._dis_max,
    tree.IfFound: Evaluator._if_found,
    tree.Nested: Evaluator._nested,
}


def remembered_values(node: tree.Node) -> int:
    """Values in a node; more than `_LARGE` where its result must not be remembered."""
    match node:
        case tree.Nested():
            return _LARGE + 1  # depends on more than the index
        case tree.Ids(values=values):
            return len(values)
    return 1 + sum(map(remembered_values, tree.children(node)))
