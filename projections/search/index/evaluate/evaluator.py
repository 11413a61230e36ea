"""The query tree against the segments of a snapshot.

Every node comes to documents and scores by whole arrays. Clauses are joined one by one, so that no
more than two are held at once. Filters are kept as masks, by node.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

import numpy as np

from projections.search import tree
from projections.search.index.evaluate.leaves import Leaves
from projections.search.index.evaluate.nested import Nesting
from projections.search.index.evaluate.results import (
    Combine,
    Matches,
    Sparse,
    conjunction,
    everything,
    nothing,
    restricted,
    union,
)
from projections.search.index.evaluate.segments import Mask, SegmentView, Snapshot

_LARGE = 64
"""Values in a filter that is too large to be remembered."""
HELD_BYTES = 32_000_000
"""Memory that what a query remembers of its nodes in a segment may take."""


class Evaluator:
    """Evaluates trees against a segment, for the length of one query."""

    def __init__(self, snapshot: Snapshot, view: SegmentView, nesting: Nesting) -> None:
        self._view = view
        self._nesting = nesting
        self._check = nesting.deadline.check
        self._leaves = Leaves(snapshot, view, self._check)
        self._known: dict[tree.Node, Matches] = {}
        self._known_bytes = 0

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
            self._check()
            known = self._evaluate(node)
            if self._known_bytes + known.nbytes <= HELD_BYTES:
                self._known_bytes += known.nbytes
                self._known[node] = known
        return known

    def _evaluate(self, node: tree.Node) -> Matches:
        match node:
            case tree.Bool():
                return self._bool(node)
            case tree.Boosted(node=inner, boost=boost):
                return self.matches(inner).scaled(boost)
            case tree.Constant(node=inner, score=score) if values := tree.any_value_of(inner):
                return self._leaves.any_value(values).fixed(score)
            case tree.Constant(node=inner, score=score):
                return self.matches(inner).fixed(score)
            case tree.DisMax(nodes=nodes, tie_breaker=tie):
                return self._dis_max(nodes, tie)
            case tree.Nested():
                return self._nesting.matches(node, self._view, self.matches)
            case tree.IfFound():
                raise TypeError("a decision was not made before the segments are evaluated")
            case _:
                return self._leaves.matches(node)

    def _dis_max(self, nodes: Sequence[tree.Node], tie: float) -> Matches:
        best = self._union(nodes, np.maximum)
        if not tie:
            return best
        total = self._union(nodes, np.add)
        ids = best.ids()
        highest = best.scores_at(ids)
        rest = total.scores_at(ids) - highest
        return Sparse(self._view.size, ids, highest + np.float32(tie) * rest)

    def _union(self, nodes: Iterable[tree.Node], combine: Combine) -> Matches:
        return union(self._view, map(self.matches, nodes), combine, self._check)

    def _bool(self, node: tree.Bool) -> Matches:
        required, must, should = node.required, node.must, node.should
        if should and required == len(should):
            must, should, required = (*must, *should), (), 0
        filters = (self.matches(each).fixed(0.0) for each in node.filter)
        clauses = chain(filters, map(self.matches, must))
        matches = conjunction(self._view, clauses, self._check)
        if required > len(should):
            return nothing(self._view)
        if matches is not None:
            excluding = self._without(matches, node.must_not)
            return self._with_should(excluding, should, required) if should else excluding
        any_of = self._any_of(should, required) if should else everything(self._view, 1.0)
        return self._without(any_of, node.must_not)

    def _without(self, matches: Matches, nodes: Iterable[tree.Node]) -> Matches:
        for node in nodes:
            self._check()
            excluded = self.matches(node)
            if excluded.count:
                matches = restricted(matches, ~excluded.mask())
        return matches

    def _with_should(self, matches: Matches, nodes: Iterable[tree.Node], required: int) -> Matches:
        """Those of the documents with enough of the nodes, scored by these too."""
        ids = matches.ids()
        scores = matches.scores_at(ids)
        counts = np.zeros(len(ids), np.uint16)
        for node in nodes:
            self._check()
            clause = self.matches(node)
            scores = scores + clause.scores_at(ids)
            if required:
                counts += clause.present(ids)
        if required:
            enough = counts >= required
            ids, scores = ids.compress(enough), scores.compress(enough)
        return Sparse(self._view.size, ids, scores)

    def _any_of(self, nodes: Sequence[tree.Node], required: int) -> Matches:
        """The documents with enough of the nodes."""
        if required == 1:
            return self._union(nodes, np.add)
        counts = np.zeros(self._view.size, np.uint16)
        """(documents,): how many of the nodes each document matches."""

        def counted() -> Iterator[Matches]:
            for clause in map(self.matches, nodes):
                if clause.is_dense:
                    np.add(counts, clause.mask(), out=counts)
                else:
                    counts[clause.ids()] += 1
                yield clause

        either = union(self._view, counted(), np.add, self._check)
        return restricted(either, counts >= required)


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
