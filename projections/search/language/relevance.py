"""Plain text to the query tree: the search of people who type what they remember.

An exact name comes first, then what a qualified name ends with, then documents with all the words,
then with all of them where words may go on, then with all up to a slip each, then with most of
them; inside each step the weighted fields decide.
"""

from collections.abc import Sequence

from domain.errors import InvalidInput
from domain.kinds import names
from projections.search import tree
from projections.search.analysis import fold, tokens
from projections.search.tree import Node

EXACT = 10_000.0
QUALIFIED = 8_000.0
ALL_WORDS = 4_000.0
ALL_BEGUN = 3_000.0
ALL_WITH_SLIPS = 2_000.0
"""Scores of the steps, far above what the words of a text can add up to."""

MOST = "2<70%"
"""The `minimum_should_match` of the last step: both of two words, or 70% of more words."""

BEGUN_FROM = 3
"""Letters and digits of the shortest word that may be the beginning of another one."""
BEGUN = 0.7
"""Weight of a word that begins with the one that is sought, beside 1 for the word itself."""

FORGIVEN_FROM = 5
"""Length of the shortest word in which a slip is forgiven although there is such a word."""
UNKNOWN_FROM = 3
"""Length of the shortest word in which a slip is forgiven where nothing has the word, or goes on
from it; from FORGIVEN_FROM on two are, behind the second letter."""
FORGIVEN_TO = 64
"""Length of the longest word in which slips are forgiven."""
SLIPPED = 0.5
"""Weight of a word that is a slip away, beside 1 for the word itself."""

NAMES = ("name.keyword", "fullyQualifiedName.keyword", "displayName.keyword")
"""Fields with whose whole values a plain text is compared."""


def relevance(words: Sequence[str]) -> Node:
    """The tree of a text without operators, given its words as typed."""
    text = " ".join(words)
    telling = [word for word in words if any(c.isalnum() for c in word)] or list(words)
    strict = tuple(tree.Term(None, word) for word in telling)
    begun = tuple(map(_begun, telling))
    forgiving = tuple(map(_forgiving, telling))
    return tree.Bool(
        should=(
            *_named(text),
            _step(strict, ALL_WORDS),
            _step(begun, ALL_BEGUN),
            _step(forgiving, ALL_WITH_SLIPS),
            tree.Bool(should=forgiving, minimum_should_match=MOST),
        )
    )


def quoted(text: str) -> Node:
    """The tree of a text that is one phrase: what is named so comes first."""
    return tree.Bool(should=(*_named(text), tree.Phrase(None, text)))


def _named(text: str) -> tuple[Node, ...]:
    """Nodes for the documents of this name, and for qualified names that end with the text."""
    exact = tree.DisMax(tuple(tree.Exact(path, text) for path in NAMES))
    named: tuple[Node, ...] = (tree.Constant(exact, EXACT),)
    try:
        parts = names.split(text)
    except InvalidInput:
        return named
    if len(parts) == 1:
        return named
    below = tree.Phrase(None, " ".join(parts))
    ends = tree.all_of((tree.Exact("name.keyword", parts[-1]), below))
    return (*named, tree.Constant(ends, QUALIFIED))


def _step(nodes: tuple[Node, ...], score: float) -> Node:
    """The documents that match all nodes, each with the score of the step instead of its own."""
    return tree.Constant(nodes[0] if len(nodes) == 1 else tree.Bool(filter=nodes), score)


def _begun(word: str) -> Node:
    term = tree.Term(None, word)
    if sum(map(str.isalnum, word)) < BEGUN_FROM:
        return term
    return tree.DisMax((term, tree.Boosted(tree.PhrasePrefix(None, word), BEGUN)))


def _forgiving(word: str) -> Node:
    begun = _begun(word)
    if not UNKNOWN_FROM <= len(word) <= FORGIVEN_TO:
        return begun
    # What has signs in it that are no part of a word may be sought as another word than itself.
    is_plain = tokens(word).parts == (fold(word),)
    slip = tree.Boosted(tree.Fuzzy(None, word, 1, others=is_plain), SLIPPED)
    if len(word) < FORGIVEN_FROM:
        return tree.IfFound(begun, begun, slip)
    slips = tree.Boosted(tree.Fuzzy(None, word, 2, prefix=2), SLIPPED)
    return tree.IfFound(begun, tree.DisMax((begun, slip)), tree.DisMax((slip, slips)))
