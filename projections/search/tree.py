"""The query tree: what is asked, in terms that no engine and no query syntax owns.

Query text and filter JSON are parsed into these nodes, an engine evaluates them. A field is a
dotted path of the search document, `path.keyword` its whole value; None stands for the weighted
default fields of the kinds. Nodes are hashable, so that an engine can remember their results.

Whoever walks a tree does so by `children`, `map_children` and `named_fields`, which know every node
by what it holds: a new kind of node is walked without being known.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from operator import is_
from typing import Any, TypeVar, Union, get_args, get_type_hints

import msgspec

from projections.search.minimum_should_match import required_matches

DEFAULT_BOOST = 1.0
MAX_BOOST = 100.0


class Base(msgspec.Struct, frozen=True):
    """The base of every node.

    The nodes inside a node are attributes of it, or stand in tuples, of any depth. The fields that
    a node names itself are its attributes `field` and `path`.
    """


class MatchAll(Base, frozen=True):
    """Every document."""


class MatchNone(Base, frozen=True):
    """No document."""


class Term(Base, frozen=True):
    """A word as typed: analysed like the field, all its parts in their order."""

    field: str | None
    text: str


class Exact(Base, frozen=True):
    """A value that is not split: a whole value, or one lower-cased word of a text."""

    field: str
    value: str


class Phrase(Base, frozen=True):
    """The words of the text next to each other, moved by `slop` places in all at most."""

    field: str | None
    text: str
    slop: int = 0


class PhrasePrefix(Base, frozen=True):
    """A phrase of whose last word only the beginning is given, as of one that is being typed."""

    field: str | None
    text: str
    slop: int = 0


class Wildcard(Base, frozen=True):
    """`*` any characters, `?` one character, a backslash takes the next one literally."""

    field: str | None
    pattern: str


class Fuzzy(Base, frozen=True):
    """Words at most `distance` slips away that share the first `prefix` letters.

    With `others` the word itself may be left out: it is sought beside this, and counts more there.
    """

    field: str | None
    text: str
    distance: int
    prefix: int = 1
    others: bool = False


class Regex(Base, frozen=True):
    """Words that the whole pattern matches; the dialect is that of `regex`."""

    field: str | None
    pattern: str


class Range(Base, frozen=True):
    """Values between the bounds: numbers, dates, or texts in code-point order."""

    field: str
    gt: str | None = None
    gte: str | None = None
    lt: str | None = None
    lte: str | None = None


class Exists(Base, frozen=True):
    """Documents with a value in the field or below it."""

    field: str


class Ids(Base, frozen=True):
    """Documents by their ids."""

    values: tuple[str, ...]


class Bool(Base, frozen=True):
    """All of `must` and `filter`, none of `must_not`, enough of `should`.

    `minimum_should_match` is as `required_matches` reads it; without it none of `should` is needed.
    Where there is neither `must` nor `filter`, one of `should` is needed at least.
    """

    must: tuple["Node", ...] = ()
    should: tuple["Node", ...] = ()
    must_not: tuple["Node", ...] = ()
    filter: tuple["Node", ...] = ()
    minimum_should_match: str | None = None

    @property
    def required(self) -> int:
        """The number of `should` that must match; more than there are when nothing can."""
        least = 1 if self.should and not (self.must or self.filter) else 0
        if self.minimum_should_match is None:
            return least
        return max(least, required_matches(self.minimum_should_match, len(self.should)))


class Boosted(Base, frozen=True):
    """The node with its scores multiplied."""

    node: "Node"
    boost: float


class Constant(Base, frozen=True):
    """The node's documents, each with the same score."""

    node: "Node"
    score: float = DEFAULT_BOOST


class DisMax(Base, frozen=True):
    """Any of the nodes; the best score counts, the others times `tie_breaker`."""

    nodes: tuple["Node", ...]
    tie_breaker: float = 0.0


class IfFound(Base, frozen=True):
    """`then` where any document that the caller may see matches `sought`, else `otherwise`.

    `sought` is looked for in the kinds that decide (`EngineQuery.visible`), with soft-deleted
    documents if the search has them. The index and the filters of the search do not narrow this, so
    that facets count what is found.
    """

    sought: "Node"
    then: "Node"
    otherwise: "Node"


class Nested(Base, frozen=True):
    """Documents with an object at `path` that itself satisfies the node.

    An object has the fields below `path` and no others: a condition on another field never holds.
    Its id is that of its document.
    """

    path: str
    node: "Node"


Leaf = (
    MatchAll
    | MatchNone
    | Term
    | Exact
    | Phrase
    | PhrasePrefix
    | Wildcard
    | Fuzzy
    | Regex
    | Range
    | Exists
    | Ids
)
N = TypeVar("N", bound=Base)
Node = Union[Leaf, Bool, Boosted, Constant, DisMax, IfFound, Nested]  # noqa: UP007 (named above, in quotes)


def children(node: Node) -> tuple[Node, ...]:
    """The nodes directly inside a node, in the order of its attributes; none for a leaf."""
    return tuple(_nodes_in(getattr(node, name) for name in _holding_nodes(type(node))))


def leaf_count(node: Node) -> int:
    """Return the number of leaves of the tree."""
    inside = children(node)
    return sum(map(leaf_count, inside)) if inside else 1


def map_children(node: N, change: Callable[[Node], Node]) -> N:
    """The node with each node directly inside it changed; the node itself when nothing changes."""
    changes: dict[str, Any] = {}
    for name in _holding_nodes(type(node)):
        value = getattr(node, name)
        if value and (changed := _mapped(value, change)) is not value:
            changes[name] = changed
    return msgspec.structs.replace(node, **changes) if changes else node


def named_fields(node: Node) -> tuple[str | None, ...]:
    """The fields that the node itself names; None for the default fields of the kinds."""
    return tuple(getattr(node, name) for name in ("field", "path") if hasattr(node, name))


@cache
def _holding_nodes(kind: type[Base]) -> tuple[str, ...]:
    """The attributes of a kind of node that may hold nodes."""
    hints = get_type_hints(kind)
    return tuple(name for name in kind.__struct_fields__ if _may_hold_nodes(hints[name]))


def _may_hold_nodes(hint: Any) -> bool:
    """Return True if a value of this type may be a node, or a tuple with nodes in it."""
    if isinstance(hint, type) and issubclass(hint, Base):
        return True
    return any(map(_may_hold_nodes, get_args(hint)))


def _nodes_in(values: Iterable[Any]) -> Iterator[Node]:
    for value in values:
        if isinstance(value, Base):
            yield value  # type: ignore[misc]
        elif isinstance(value, tuple):
            yield from _nodes_in(value)


def _mapped(value: Any, change: Callable[[Node], Node]) -> Any:
    """An attribute's value with the nodes in it changed; the value itself when nothing changes."""
    if isinstance(value, Base):
        return change(value)  # type: ignore[arg-type]
    if isinstance(value, tuple):
        changed = tuple([_mapped(item, change) for item in value])
        return value if all(map(is_, changed, value)) else changed
    return value


def boosted(node: Node, boost: float) -> Node:
    """The node itself when the boost changes nothing."""
    return node if boost == DEFAULT_BOOST else Boosted(node, boost)


def any_value_of(node: Node) -> tuple[Exact, ...]:
    """The whole values of which a node asks for any, as `any_of` makes it; none for other nodes."""
    match node:
        case Bool(must=(), filter=(), must_not=(), should=should, minimum_should_match=None):
            values = tuple(each for each in should if isinstance(each, Exact))
            return values if len(values) == len(should) else ()
    return ()


def all_of(nodes: Iterable[Node]) -> Node:
    """Every one of the nodes; the node itself when there is one."""
    nodes = tuple(nodes)
    return nodes[0] if len(nodes) == 1 else Bool(must=nodes)


def any_of(nodes: Iterable[Node]) -> Node:
    """At least one of the nodes; the node itself when there is one."""
    nodes = tuple(nodes)
    if not nodes:
        return MatchNone()
    return nodes[0] if len(nodes) == 1 else Bool(should=nodes)


def escape_wildcards(text: str) -> str:
    """The pattern that matches exactly this text."""
    return "".join("\\" + c if c in "\\*?" else c for c in text)
