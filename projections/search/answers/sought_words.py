"""The words of a query in one text: where each of them stands there.

They are marked as the engine matches them, word by word: parts of names, plurals by their singular,
the words of a phrase in a row, beginnings, patterns, slips.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import accumulate
from types import MappingProxyType
from typing import Any

import msgspec

from projections.search import tree
from projections.search.analysis import (
    fold,
    keyword,
    lowered,
    places,
    segments,
    stem,
    tokens,
)
from projections.search.language.patterns import TERM_END, TermPattern, wildcard
from projections.search.language.regex import regex
from projections.search.slips import are_within
from projections.search.tree import Node

Marks = list[tuple[int, int]]
"""Beginnings and ends of marked words in a text."""
Token = tuple[int, int, str]
Typed = Mapping[str, set[str]]
"""A word -> the typed texts that look for it."""

MAX_PATTERNS = 8
"""Patterns of a path that are looked for, the first ones; a compiled one may take megabytes."""
_LONGEST = 64
"""Characters of the longest word that is compared with another letter by letter."""
_REMEMBERED = 20_000
"""Tokens of which it is remembered whether they fit."""
_NEVER = "(?!)"
"""A pattern that nothing fits."""


class _Slipped(msgspec.Struct, frozen=True):
    """A word that may be slipped, as typed and folded, and what must begin alike."""

    text: str
    word: str
    distance: int
    start: str


class SoughtWords:
    """The leaves of a query that look at one path."""

    def __init__(self, leaves: Iterable[Node], check: Callable[[], None] = lambda: None) -> None:
        """`check` is called for each text and for each new word; whichever method is looking for
        words raises what `check` raises."""
        self._check = check
        self._wholes: set[str] = set()
        self._words: dict[str, set[str]] = {}
        """A word and its stem -> the typed texts that are this word."""
        self._begun: dict[str, set[str]] = {}
        """The beginning of a word -> the typed texts that are this beginning."""
        self._rows: dict[str, list[tuple[str, tuple[str, ...], bool]]] = {}
        """First word of a row -> typed text, all words, and True if the last one is only begun."""
        self._patterns: list[Any] = []
        """Compiled expressions, as `TermPattern.runs` makes them."""
        self._pieces: set[str] = set()
        """For each pattern, a text that is part of every word that fits the pattern, or of its
        plural; "" if no such text is known."""
        self._slips: dict[str, list[_Slipped]] = {}
        """First letter -> words that begin with it, in which slips are forgiven."""
        remember = lru_cache(_REMEMBERED)
        self._typed = remember(partial(_typed, self._words, self._begun))
        self._fits_pattern = remember(partial(_fits, self._patterns, check))
        self._marks_in = remember(partial(_marks_in, self._typed, self._pattern_marks))
        self._slipped_from = remember(partial(_slipped_from, self._slips, check))
        for leaf in leaves:
            self._add(leaf)
        sought = (*self._words, *self._begun, *self._rows)
        hints = sorted(self._pieces.union(map(_literal, sought)))
        either = "|".join(map(re.escape, hints)) or _NEVER
        # Patterns are also held against words with what joins them.
        self._joiners = "_-" if self._patterns else ""
        self._hint = re.compile(f"(?:{either})[a-z0-9{self._joiners}]*")
        """Finds what stands in every lowered text with any of the words, to the end of a word."""
        self._are_hinted = all(map(str.isalnum, hints)) and not self._wholes
        """True if a text without a hint has none of the words, however JSON writes it."""

    def _add(self, leaf: Node) -> None:
        match leaf:
            case tree.Exact(value=value):
                self._wholes.add(keyword(value))
            case tree.Phrase(text=text, slop=slop) if slop:
                for part in tokens(text).parts:
                    self._add_row(text, (part,), begun=False)
            case tree.Term(text=text) | tree.Phrase(text=text):
                self._add_row(text, tokens(text).parts, begun=False)
            case tree.PhrasePrefix(text=text):
                self._add_row(text, tokens(text).parts, begun=True)
            case tree.Wildcard(pattern=pattern):
                self._add_pattern(wildcard(pattern))
            case tree.Regex(pattern=pattern):
                self._add_pattern(regex(pattern))
            case tree.Fuzzy(text=text, distance=distance, prefix=prefix):
                word = fold(text)
                slipped = _Slipped(text, word, distance, word[:prefix])
                self._slips.setdefault(slipped.start[:1], []).append(slipped)

    def _add_pattern(self, pattern: TermPattern) -> None:
        if len(self._patterns) < MAX_PATTERNS:
            self._patterns.append(pattern.runs())
            self._pieces.add(max(pattern.pieces or ("",), key=len).removesuffix("y"))

    def _add_row(self, text: str, parts: tuple[str, ...], *, begun: bool) -> None:
        if len(parts) > 1:
            self._rows.setdefault(parts[0], []).append((text, parts, begun))
        elif parts and begun:
            self._begun.setdefault(parts[0], set()).add(text)
        elif parts:
            for form in {parts[0], stem(parts[0])}:
                self._words.setdefault(form, set()).add(text)

    def may_be_in(self, texts_json: bytes) -> bool:
        """Return True if texts in JSON may have words, but for slips; when in doubt, they may."""
        if not self._are_hinted or b"\\" in texts_json:
            return True
        return self._hint.search(lowered(texts_json.decode())) is not None

    def marked(self, texts: Sequence[str], met: set[str], most: int) -> dict[int, Marks]:
        """The marks of texts by their places, as `first_marked` has those that `marks` finds."""
        joined = "\n".join(texts)
        if self._rows or not (self._are_hinted and joined.isascii()):
            return first_marked(texts, partial(self.marks, met=met), most)
        # Only the words around hints are looked at, in all texts at once.
        marked: dict[int, Marks] = {}
        lower = joined.lower()
        begins = list(accumulate([len(text) + 1 for text in texts], initial=0))
        for hint in self._hint.finditer(lower):
            begin, end = hint.span()
            while begin and (lower[begin - 1].isalnum() or lower[begin - 1] in self._joiners):
                begin -= 1
            self._check()
            if parts := self._marks_in(joined[begin:end]):
                at = bisect_right(begins, begin) - 1
                if at not in marked and len(marked) == most:
                    break
                start = begin - begins[at]
                for first, last, typed in parts:
                    met |= typed
                    marked.setdefault(at, []).append((start + first, start + last))
        return marked

    def marks(self, text: str, met: set[str]) -> Marks:
        """Return the places of words in a text, but for slips; adds to `met` what was typed."""
        self._check()
        if self._wholes and keyword(text) in self._wholes:
            return [(0, len(text))]
        marks: Marks = []
        if self._hint.search(lowered(text)):
            text_tokens = list(places(text))
            for at, (begin, end, token) in enumerate(text_tokens):
                if typed := self._typed(token):
                    met |= typed
                    marks.append((begin, end))
                for text_typed, parts, begun in self._rows.get(token, ()):
                    row = text_tokens[at : at + len(parts)]
                    if _is_row([own[2] for own in row], parts, begun):
                        met.add(text_typed)
                        marks.append((begin, row[-1][1]))
        marks += self._pattern_marks(text)
        return marks

    def _pattern_marks(self, text: str) -> Marks:
        """The places of what fits a pattern."""
        if not self._patterns:
            return []
        return [(begin, end) for begin, end, token in _tokens(text) if self._fits_pattern(token)]

    def has_slips(self, met: set[str]) -> bool:
        """Return True if there are words to look for that may be slipped and were not met."""
        return bool(self._slips) and any(
            each.text not in met for some in self._slips.values() for each in some
        )

    def slipped(self, text: str, met: set[str]) -> Marks:
        """Return the places in a text of words that are a few slips from those not yet met."""
        self._check()
        return [
            (begin, end) for begin, end, token in _tokens(text) if self._slipped_from(token) - met
        ]


def first_marked(
    texts: Sequence[str],
    find: Callable[[str], Marks],
    most: int,
    known: Mapping[int, Marks] = MappingProxyType({}),
) -> dict[int, Marks]:
    """The known marks, with those that `find` finds in the first texts that have any.

    Marks are given by the place of their text. No further text is looked at once `most` texts are
    marked.
    """
    marked = dict(known)
    for at, text in enumerate(texts):
        if marks := find(text):
            marked[at] = [*marked.get(at, ()), *marks]
            if len(marked) == most:
                break
    return marked


def _typed(words: Typed, begun: Typed, token: str) -> frozenset[str]:
    """The typed texts that are this word, its singular or plural, or a beginning of it."""
    typed = [words.get(form, set()) for form in {token, stem(token)}]
    typed += [texts for start, texts in begun.items() if token.startswith(start)]
    return frozenset().union(*typed)


def _marks_in(
    typed_of: Callable[[str], frozenset[str]], pattern_marks: Callable[[str], Marks], word: str
) -> tuple[tuple[int, int, frozenset[str]], ...]:
    """The parts of a word that were typed: where each begins and ends, and the typed texts.

    A part that fits a pattern has no typed text.
    """
    parts = [
        (begin, end, typed) for begin, end, token in places(word) if (typed := typed_of(token))
    ]
    parts += [(begin, end, frozenset()) for begin, end in pattern_marks(word)]
    return tuple(parts)


def _slipped_from(
    slips: Mapping[str, list[_Slipped]], check: Callable[[], None], token: str
) -> frozenset[str]:
    """The typed texts that the token is a few slips from."""
    check()
    return frozenset(
        each.text
        for each in (*slips.get(token[:1], ()), *slips.get("", ()))
        if is_near(token, each) or is_near(stem(token), each)
    )


def _fits(patterns: Iterable[Any], check: Callable[[], None], token: str) -> bool:
    check()
    lines = [f"{form}{TERM_END}".encode() for form in {token, stem(token)}]
    return any(run.match(line) is not None for run in patterns for line in lines)


def _tokens(text: str) -> Iterator[Token]:
    yield from segments(text)
    yield from places(text)


def _literal(part: str) -> str:
    """Return the beginning of every form of a word, singular or plural."""
    root = stem(part)
    return root[:-1] if root.endswith("y") and len(root) > 2 else root


def _is_row(held: Sequence[str], parts: Sequence[str], begun: bool) -> bool:
    """Return True if the words held are the parts, the last one perhaps only `begun`."""
    if len(held) < len(parts) or any(map(str.__ne__, held[:-1], parts[:-1])):
        return False
    return held[-1] == parts[-1] or (begun and held[-1].startswith(parts[-1]))


def is_near(token: str, slipped: _Slipped) -> bool:
    """Return True if a token is as few slips from the word as are forgiven, and begins like it."""
    word, distance = slipped.word, slipped.distance
    return (
        token.startswith(slipped.start)
        and max(len(token), len(word)) <= _LONGEST
        and are_within(token, word, distance)
    )
