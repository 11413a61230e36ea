"""Joins the clauses of a query text: some are required, some optional, some excluded."""

from typing import Literal

import msgspec

from projections.search import tree
from projections.search.tree import Node

Sign = Literal["", "+", "-"]


class Clause(msgspec.Struct, frozen=True):
    """One operand of a query text, with the sign and the NOT before it."""

    node: Node
    sign: Sign = ""
    negated: bool = False
    noise: bool = False
    """A lone word without letters or digits: it counts only when nothing else stands beside."""


def is_noise(node: Node) -> bool:
    """Return True if a node is a word without letters or digits, for which no field was named."""
    return (
        isinstance(node, tree.Term)
        and node.field is None
        and not any(character.isalnum() for character in node.text)
    )


def disjoin(groups: list[list[Clause]]) -> Node:
    """The tree of conjunctions joined by OR; a lone `+a` or `-a` among them binds them all."""
    must: list[Node] = []
    must_not: list[Node] = []
    should: list[Node] = []
    for group in groups:
        alone = group[0] if len(group) == 1 and len(groups) > 1 else None
        if alone and alone.sign == "+":
            node = alone.node
            must.append(tree.Bool(must_not=(node,)) if alone.negated else node)
        elif alone and alone.sign == "-" and not alone.negated:
            must_not.append(alone.node)
        else:
            should.append(_conjoin(group))
    if len(should) == 1 and not must:
        must, should = should, []
    if not must_not and not should and len(must) == 1:
        return must[0]
    return tree.Bool(must=tuple(must), should=tuple(should), must_not=tuple(must_not))


def _conjoin(group: list[Clause]) -> Node:
    excluded = [clause.node for clause in group if (clause.sign == "-") != clause.negated]
    wanted = [clause.node for clause in group if (clause.sign == "-") == clause.negated]
    if not excluded and len(wanted) == 1:
        return wanted[0]
    return tree.Bool(must=tuple(wanted), must_not=tuple(excluded))
