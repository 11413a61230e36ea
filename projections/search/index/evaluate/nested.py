"""Nested nodes: the index decides queries of one condition, and gives candidates for the others."""

from collections.abc import Callable

import numpy as np

from projections.search import tree
from projections.search.index.evaluate.results import Matches, Sparse
from projections.search.index.evaluate.segments import Mask, SegmentView
from projections.search.matching.candidates import Candidates, is_flat, relaxed, within
from projections.visibility.field_paths import indexed_path

EvaluateDocuments = Callable[[tree.Node], Matches]


class Nesting:
    """Evaluates nested nodes, for the length of one query."""

    def __init__(self, candidates: Candidates) -> None:
        self.deadline = candidates.deadline
        self._candidates = candidates
        self._undecided: dict[str, Mask] = {}
        """Name of a segment -> its documents that were not looked at for lack of time."""

    @property
    def has_undecided(self) -> bool:
        """True if there were candidates that were not looked at for lack of time."""
        return bool(self._undecided)

    def without_undecided(self, view: SegmentView, allowed: Mask | None) -> Mask | None:
        """The allowed documents (None: all) but for those that a nested node left undecided."""
        undecided = self._undecided.get(view.name)
        if undecided is None:
            return allowed
        return ~undecided if allowed is None else allowed & ~undecided

    def matches(self, node: tree.Nested, view: SegmentView, evaluate: EvaluateDocuments) -> Matches:
        """The documents with an object that satisfies the node, scored as if by the document."""
        path = indexed_path(node.path)
        asked = within(node.node, path)
        matches = evaluate(relaxed(asked, path))
        if is_flat(asked):
            return matches
        ids = matches.ids()
        if view.live is not None:
            ids = ids.compress(view.live.take(ids))
        stored = map(view.stored, ids.tolist())
        matching, undecided = self._candidates.decide(node, len(ids), stored)
        if undecided.any():
            mask = np.zeros(view.size, np.bool_)
            mask[ids.compress(undecided)] = True
            self._undecided[view.name] = self._undecided.get(view.name, False) | mask
        ids = ids.compress(matching)
        return Sparse(view.size, ids, matches.scores_at(ids))
