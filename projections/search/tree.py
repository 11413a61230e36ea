"""The query tree: what is asked, in terms that no engine and no query syntax owns.

Query text and filter JSON are parsed into these nodes, an engine evaluates them. A field is a
dotted path of the search document, `path.keyword` its whole value; None stands for the weighted
default fields of the kinds. Nodes are hashable, so that an engine can remember their results.
"""

import re
from collections.abc import Iterable
from typing import Union

import msgspec

from domain.errors import InvalidInput

DEFAULT_BOOST = 1.0
MAX_BOOST = 100.0


class _Node(msgspec.Struct, frozen=True):
    pass


class MatchAll(_Node, frozen=True):
    """Every document."""


class MatchNone(_Node, frozen=True):
    """No document."""


class Term(_Node, frozen=True):
    """A word as typed: analysed like the field, all its parts in their order."""

    field: str | None
    text: str


class Exact(_Node, frozen=True):
    """A value that is not split: a whole value, or one lower-cased word of a text."""

    field: str
    value: str


class Phrase(_Node, frozen=True):
    """The words of the text next to each other, moved by `slop` places in all at most."""

    field: str | None
    text: str
    slop: int = 0


class Wildcard(_Node, frozen=True):
    """`*` any characters, `?` one character, a backslash takes the next one literally."""

    field: str | None
    pattern: str


class Fuzzy(_Node, frozen=True):
    """Words at most `distance` slips away that share the first `prefix` letters."""

    field: str | None
    text: str
    distance: int
    prefix: int = 1


class Regex(_Node, frozen=True):
    """Words that the whole pattern matches; the dialect is that of `regex`."""

    field: str | None
    pattern: str


class Range(_Node, frozen=True):
    """Values between the bounds: numbers, dates, or texts in code-point order."""

    field: str
    gt: str | None = None
    gte: str | None = None
    lt: str | None = None
    lte: str | None = None


class Exists(_Node, frozen=True):
    """Documents with a value in the field or below it."""

    field: str


class Ids(_Node, frozen=True):
    """Documents by their ids."""

    values: tuple[str, ...]


class Bool(_Node, frozen=True):
    """All of `must` and `filter`, none of `must_not`, enough of `should`.

    `minimum_should_match` is as `required_matches` reads it; without it one of `should` is
    needed when there is neither `must` nor `filter`, and none otherwise.
    """

    must: tuple["Node", ...] = ()
    should: tuple["Node", ...] = ()
    must_not: tuple["Node", ...] = ()
    filter: tuple["Node", ...] = ()
    minimum_should_match: str | None = None

    @property
    def required(self) -> int:
        """How many of `should` must match."""
        if self.minimum_should_match is None:
            return 0 if self.must or self.filter or not self.should else 1
        return required_matches(self.minimum_should_match, len(self.should))


class Boosted(_Node, frozen=True):
    """The node with its scores multiplied."""

    node: "Node"
    boost: float


class Constant(_Node, frozen=True):
    """The node's documents, each with the same score."""

    node: "Node"
    score: float = DEFAULT_BOOST


class DisMax(_Node, frozen=True):
    """Any of the nodes; the best score counts, the others times `tie_breaker`."""

    nodes: tuple["Node", ...]
    tie_breaker: float = 0.0


class Nested(_Node, frozen=True):
    """Documents with an object at `path` that itself satisfies the node."""

    path: str
    node: "Node"


Leaf = (
    MatchAll | MatchNone | Term | Exact | Phrase | Wildcard | Fuzzy | Regex | Range | Exists | Ids
)
Node = Union[Leaf, Bool, Boosted, Constant, DisMax, Nested]  # noqa: UP007 (named above, in quotes)


def boosted(node: Node, boost: float) -> Node:
    """The node itself when the boost changes nothing."""
    return node if boost == DEFAULT_BOOST else Boosted(node, boost)


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


def required_matches(rule: str, clauses: int) -> int:
    """How many of so many optional clauses the rule asks for.

    Rules are a number (`2`, or `-1`: all but one), a percentage (`75%`, `-25%`, rounded down),
    or either for more than so many clauses, for several numbers (`2<75% 9<-3`: all of up to two,
    three quarters of up to nine, all but three of more). Raises InvalidInput.
    """
    if "<" not in rule:
        return _simple_rule(rule.strip(), clauses, rule)
    required, decided = clauses, False
    for condition in re.sub(r"\s*<\s*", "<", rule).split():
        limit, _, rest = condition.partition("<")
        above = clauses > _whole_number(limit, rule)
        wanted = _simple_rule(rest, clauses, rule)
        decided = decided or not above
        if not decided:
            required = wanted
    return required


def _simple_rule(text: str, clauses: int, rule: str) -> int:
    if not text.endswith("%"):
        number = _whole_number(text, rule)
        return max(0, clauses + number) if number < 0 else number
    percentage = _whole_number(text[:-1], rule)
    part = clauses * abs(percentage) // 100
    return part if percentage >= 0 else max(0, clauses - part)


def _whole_number(text: str, rule: str) -> int:
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 6):
        return _refuse(rule)
    return int(text)


def _refuse(rule: str) -> int:
    raise InvalidInput(
        f"minimum_should_match must be a number, a percentage or `n<either`, got {rule[:40]!r}"
    )
