"""Plain text to the query tree: the search of people who type what they remember.

An exact name comes first, then documents with all the words, then with all of them up to one
slip each, then with most of them; inside each step the weighted fields decide.
"""

from collections.abc import Sequence

from projections.search import tree
from projections.search.tree import Node

EXACT = 10_000.0
ALL_WORDS = 4_000.0
ALL_WITH_SLIPS = 2_000.0
"""Scores of the steps, far above what the words of a text can add up to."""

MOST = "2<70%"
"""The `minimum_should_match` of the last step: both of two words, or 70% of more words."""

FORGIVEN_FROM = 5
"""Length of the shortest word in which a slip is forgiven."""

NAMES = ("name.keyword", "fullyQualifiedName.keyword", "displayName.keyword")
"""Fields with whose whole values a plain text is compared."""


def relevance(words: Sequence[str]) -> Node:
    """The tree of a text without operators, given its words as typed."""
    text = " ".join(words)
    telling = [word for word in words if any(c.isalnum() for c in word)] or list(words)
    exact = tree.DisMax(tuple(tree.Exact(path, text) for path in NAMES))
    strict = tuple(tree.Term(None, word) for word in telling)
    forgiving = tuple(_forgiving(word) for word in telling)
    return tree.Bool(
        should=(
            tree.Constant(exact, EXACT),
            tree.Constant(tree.all_of(strict), ALL_WORDS),
            tree.Constant(tree.all_of(forgiving), ALL_WITH_SLIPS),
            tree.Bool(should=forgiving, minimum_should_match=MOST),
        )
    )


def _forgiving(word: str) -> Node:
    term = tree.Term(None, word)
    if len(word) < FORGIVEN_FROM or len(word) > 64:
        return term
    return tree.DisMax((term, tree.Boosted(tree.Fuzzy(None, word, 1), 0.5)))
