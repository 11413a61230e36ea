"""Explains in plain words how a search text was parsed."""

from functools import singledispatch

from projections.search import tree
from projections.search.language.text import Parsed
from projections.search.tree import Node

_BOUNDS = (("gte", "from"), ("gt", "above"), ("lte", "to"), ("lt", "below"))


def understood(parsed: Parsed) -> str | None:
    """A sentence that says what a search text asks for; None for one that asks for everything."""
    if isinstance(parsed.written, tree.MatchAll):
        return None
    said = _say(parsed.written)
    return f"{said}, best matches first" if parsed.plain else said


@singledispatch
def _say(node: Node) -> str:
    """A node of the tree in words; a node that texts cannot make is described by its parts."""
    return " or ".join(map(_inner, tree.children(node))) or "everything"


@_say.register
def _(node: tree.Term) -> str:
    return f"{_of(node.field, 'the word')} {_quoted(node.text)}"


@_say.register
def _(node: tree.Exact) -> str:
    return f"{node.field} is {_quoted(node.value)}"


@_say.register
def _(node: tree.Phrase) -> str:
    moved = f" (words moved by up to {node.slop})" if node.slop else ""
    return f"{_of(node.field, 'the phrase')} {_quoted(node.text)}{moved}"


@_say.register
def _(node: tree.Wildcard) -> str:
    return f"{_of(node.field, 'a word', 'has a word')} like {_quoted(node.pattern)}"


@_say.register
def _(node: tree.Fuzzy) -> str:
    slips = "one slip" if node.distance == 1 else f"{node.distance} slips"
    return f"{_of(node.field, 'the word')} {_quoted(node.text)} (or up to {slips} away)"


@_say.register
def _(node: tree.Regex) -> str:
    return f"{_of(node.field, 'a word', 'has a word')} that matches /{node.pattern}/"


@_say.register
def _(node: tree.Range) -> str:
    bounds = ((word, getattr(node, name)) for name, word in _BOUNDS)
    return f"{node.field} " + " ".join(f"{word} {value}" for word, value in bounds if value)


@_say.register
def _(node: tree.Exists) -> str:
    return f"any {node.field}"


@_say.register
def _(node: tree.Boosted) -> str:
    return f"{_inner(node.node)} (counts {node.boost:g} times)"


@_say.register
def _(node: tree.Bool) -> str:
    parts = [_inner(each) for each in (*node.must, *node.filter)]
    if node.should:
        either = " or ".join(map(_inner, node.should))
        if not node.required:
            either = f"preferably {either}"
        parts.append(f"({either})" if parts and len(node.should) > 1 else either)
    parts += [f"not {_inner(each)}" for each in node.must_not]
    return " and ".join(parts)


def _inner(node: Node) -> str:
    """A node as part of another one."""
    several = isinstance(node, tree.Bool) and len(tree.children(node)) > 1
    return f"({_say(node)})" if several else _say(node)


def _of(field: str | None, alone: str, held: str = "has") -> str:
    return alone if field is None else f"{field} {held}"


def _quoted(text: str) -> str:
    return f"“{text}”"
