"""Explains in plain words how a search text was parsed."""

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


def _say(node: Node) -> str:
    """A node of the tree in words; a node that texts cannot make is described by its parts."""
    match node:
        case tree.Term(field=field, text=text):
            return f"{_of(field, 'the word')} {_quoted(text)}"
        case tree.Exact(field=field, value=value):
            return f"{field} is {_quoted(value)}"
        case tree.Phrase(field=field, text=text, slop=slop):
            moved = f" (words moved by up to {slop})" if slop else ""
            return f"{_of(field, 'the phrase')} {_quoted(text)}{moved}"
        case tree.Wildcard(field=field, pattern=pattern):
            return f"{_of(field, 'a word', 'has a word')} like {_quoted(pattern)}"
        case tree.Fuzzy(field=field, text=text, distance=distance):
            slips = "one slip" if distance == 1 else f"{distance} slips"
            return f"{_of(field, 'the word')} {_quoted(text)} (or up to {slips} away)"
        case tree.Regex(field=field, pattern=pattern):
            return f"{_of(field, 'a word', 'has a word')} that matches /{pattern}/"
        case tree.Range(field=field):
            bounds = ((word, getattr(node, name)) for name, word in _BOUNDS)
            return f"{field} " + " ".join(f"{word} {value}" for word, value in bounds if value)
        case tree.Exists(field=field):
            return f"any {field}"
        case tree.Boosted(node=inner, boost=boost):
            return f"{_inner(inner)} (counts {boost:g} times)"
        case tree.Bool():
            return _joined(node)
    return " or ".join(map(_inner, tree.children(node))) or "everything"


def _joined(node: tree.Bool) -> str:
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
