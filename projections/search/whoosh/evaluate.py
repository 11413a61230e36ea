"""The query tree against one segment: sets and scores combined, leaf results remembered.

Whoosh's own query classes are not used: they ignore constant scores and minimum_should_match, and
expand patterns a scorer per term. Posting lists are read whole and combined as sets.
"""

from collections.abc import Callable, Iterable

from projections.search import tree
from projections.search.whoosh.leaves import Leaves, Scores, Statistics
from projections.search.whoosh.schema import EXACT
from projections.search.whoosh.segments import SegmentView
from projections.search.whoosh.terms import SEPARATOR, scalar_term


class Evaluator:
    """Evaluates trees against a segment, for the length of one query."""

    def __init__(
        self, view: SegmentView, statistics: Statistics, check: Callable[[], None]
    ) -> None:
        self._view = view
        self._leaves = Leaves(view, statistics, check)
        self._known: dict[tree.Node, Scores] = {}

    def matching(
        self,
        query: tree.Node,
        filters: Iterable[tree.Node],
        kinds: frozenset[str] | None,
        include_deleted: bool,
    ) -> Scores:
        """The living documents that match everything, with the query's scores."""
        found = self.scores(query)
        outside = set(self._view.dead)
        if not include_deleted:
            outside |= self._remembered(scalar_term("deleted", True))
        allowed: set[int] | None = None
        for node in filters:
            documents = self.scores(node).keys()
            allowed = set(documents) if allowed is None else allowed & documents
        if kinds is not None:
            of_kinds: set[int] = set()
            for kind in kinds:
                of_kinds |= self._remembered(f"entityType.keyword{SEPARATOR}{kind.lower()}")
            allowed = of_kinds if allowed is None else allowed & of_kinds
        if allowed is None and not outside:
            return found
        return {
            number: score
            for number, score in found.items()
            if number not in outside and (allowed is None or number in allowed)
        }

    def _remembered(self, term: str) -> frozenset[int]:
        known = self._view.remembered.get(term)
        if known is None:
            known = frozenset(self._view.documents(EXACT, term))
            self._view.remembered[term] = known
        return known

    def scores(self, node: tree.Node) -> Scores:
        """Document number -> score; not to be changed by the caller."""
        known = self._known.get(node)
        if known is None:
            known = self._known[node] = self._scores(node)
        return known

    def _scores(self, node: tree.Node) -> Scores:
        match node:
            case tree.Bool():
                return self._bool(node)
            case tree.Boosted(node=inner, boost=boost):
                return {number: score * boost for number, score in self.scores(inner).items()}
            case tree.Constant(node=inner, score=score):
                return dict.fromkeys(self.scores(inner), score)
            case tree.DisMax(nodes=nodes, tie_breaker=tie):
                return _dis_max([self.scores(inner) for inner in nodes], tie)
            case tree.Nested(node=inner):
                return self.scores(inner)
            case _:
                return self._leaves.scores(node)

    def _bool(self, node: tree.Bool) -> Scores:
        must = sorted((self.scores(inner) for inner in node.must), key=len)
        filters = sorted((self.scores(inner) for inner in node.filter), key=len)
        should = [self.scores(inner) for inner in node.should]
        required = node.required
        if required > len(should):
            return {}
        if must:
            found = {n: sum(s[n] for s in must) for n in must[0] if all(n in s for s in must[1:])}
        elif filters:
            found = dict.fromkeys(filters[0], 0.0)
        elif required:
            found = dict.fromkeys(set().union(*should), 0.0)
        else:
            found = dict.fromkeys(range(self._view.size), 0.0 if should else 1.0)
        for scores in filters:
            found = {n: score for n, score in found.items() if n in scores}
        for inner in node.must_not:
            excluded = self.scores(inner)
            found = {n: score for n, score in found.items() if n not in excluded}
        return _with_should(found, should, required) if should else found


def _with_should(found: Scores, should: list[Scores], required: int) -> Scores:
    """Add the scores of the optional clauses; drop what too few of them match."""
    counts = dict.fromkeys(found, 0)
    for scores in should:
        small, large = (scores, found) if len(scores) < len(found) else (found, scores)
        for number in [n for n in small if n in large]:
            found[number] += scores[number]
            counts[number] += 1
    if required <= 0:
        return found
    return {number: score for number, score in found.items() if counts[number] >= required}


def _dis_max(all_scores: list[Scores], tie: float) -> Scores:
    best: Scores = {}
    total: Scores = {}
    for scores in all_scores:
        for number, score in scores.items():
            best[number] = max(best.get(number, 0.0), score)
            total[number] = total.get(number, 0.0) + score
    if not tie:
        return best
    return {number: score + tie * (total[number] - score) for number, score in best.items()}
