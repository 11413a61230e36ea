"""The query tree, node by node, in the language of the cluster.

Of nested nodes the cluster decides queries of one condition, and gives candidates for others.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import compress
from typing import Any

from projections.search import tree
from projections.search.matching.candidates import Candidates, is_flat, relaxed, within
from projections.search.matching.stored_document import StoredDocument
from projections.search.opensearch import leaves
from projections.search.opensearch.leaves import MATCH_ALL, MATCH_NONE, Dsl, constant
from projections.visibility.field_paths import indexed_path

ReadCandidates = Callable[[Dsl], Iterator[StoredDocument]]
"""Function that reads the documents of a clause, up to one more than a query may look into."""


class Compiler:
    """Makes clauses of nodes; a node always gives the same clause."""

    def __init__(self, nested: "NestedSearch") -> None:
        """`nested` decides nested nodes. Trees must have no IfFound any more."""
        self._nested = nested

    def clause(self, node: tree.Node) -> Dsl:
        """The documents of a node, with their scores."""
        match node:
            case tree.Bool():
                return self._bool(node)
            case tree.Boosted(node=inner, boost=boost):
                return {"bool": {"must": [self.clause(inner)], "boost": boost}}
            case tree.Constant(node=inner, score=score):
                return constant(self.filter(inner), score)
            case tree.DisMax(nodes=nodes, tie_breaker=tie):
                queries = [self.clause(each) for each in nodes]
                return {"dis_max": {"queries": queries, "tie_breaker": tie}}
            case tree.Nested():
                return self._nested.clause(node)
            case tree.IfFound():
                raise TypeError("a decision was not made before the query is compiled")
            case _:
                return leaves.compiled(node)

    def filter(self, node: tree.Node) -> Dsl:
        """The documents of a node, whatever their scores."""
        return plain(self.clause(node))

    def _bool(self, node: tree.Bool) -> Dsl:
        if node.required > len(node.should):
            return MATCH_NONE
        must = [self.clause(each) for each in node.must]
        made: dict[str, Any] = {
            "must": must,
            "filter": [self.filter(each) for each in node.filter],
            "should": [self.clause(each) for each in node.should],
            "must_not": [self.filter(each) for each in node.must_not],
        }
        made = {part: clauses for part, clauses in made.items() if clauses}
        if not made.keys() - {"must_not"}:
            made["must"] = [MATCH_ALL]
        if node.should:
            made["minimum_should_match"] = node.required
        return {"bool": made}


def plain(clause: Dsl) -> Dsl:
    """A clause as a filter: many terms of a field as one clause, without anything for scores only.

    So a list of a thousand values stays within the clauses that a cluster allows.
    """
    (kind, options), *_ = clause.items()
    if kind == "dis_max":
        return _either(plain(each) for each in options["queries"])
    if kind == "constant_score":
        return plain(options["filter"])
    if kind == "term":
        ((field, value),) = options.items()
        return {"terms": {field: [value["value"] if isinstance(value, dict) else value]}}
    if kind != "bool":
        return clause
    return _plain_bool(options)


def _plain_bool(options: Mapping[str, Any]) -> Dsl:
    required = options.get("minimum_should_match", 0)
    all_of = [plain(each) for part in ("must", "filter") for each in options.get(part, ())]
    all_of = [each for each in all_of if each != MATCH_ALL]
    should = [plain(each) for each in options.get("should", ())]
    none_of = [plain(each) for each in options.get("must_not", ())]
    if should and (required == 1 or ("minimum_should_match" not in options and not all_of)):
        all_of.append(_either(should))
    elif should and required > 1:
        all_of.append({"bool": {"should": should, "minimum_should_match": required}})
    if len(all_of) == 1 and not none_of:
        return all_of[0]
    made: dict[str, Any] = {}
    if all_of:
        made["filter"] = all_of
    if none_of:
        made["must_not"] = none_of
    return {"bool": made} if made else MATCH_ALL


def _either(clauses: Iterable[Dsl]) -> Dsl:
    """The documents of any of the clauses, all terms of one field being one of them."""
    terms: dict[str, dict[Any, None]] = {}
    others: list[Dsl] = []
    for clause in clauses:
        if clause == MATCH_ALL:
            return MATCH_ALL
        if "terms" in clause:
            ((field, values),) = clause["terms"].items()
            terms.setdefault(field, {}).update(dict.fromkeys(values))
        elif clause != MATCH_NONE:
            others.append(clause)
    merged = [{"terms": {field: list(values)}} for field, values in terms.items()]
    return leaves.any_of([*merged, *others])


class NestedSearch:
    """Decides the nested nodes of one query."""

    def __init__(self, read: ReadCandidates, candidates: Candidates) -> None:
        self._read = read
        self._candidates = candidates
        self._known: dict[tree.Nested, Dsl] = {}
        self.undecided: list[str] = []
        """Ids of candidates that were not looked at for lack of time."""

    def clause(self, node: tree.Nested) -> Dsl:
        """The documents with an object that satisfies the node, scored as if by the document."""
        known = self._known.get(node)
        if known is None:
            known = self._known[node] = self._clause(node)
        return known

    def _clause(self, node: tree.Nested) -> Dsl:
        path = indexed_path(node.path)
        asked = within(node.node, path)
        # Of a nested node inside, only what decides it is left.
        candidates = Compiler(self).clause(relaxed(asked, path))
        if is_flat(asked):
            return candidates
        rows = list(self._read(candidates))
        matching, undecided = self._candidates.decide(node, len(rows), rows)
        self.undecided += [row.id for row in compress(rows, undecided)]
        ids = [row.id for row in compress(rows, matching)]
        return {"bool": {"must": [candidates], "filter": [{"terms": {"id": ids}}]}}
