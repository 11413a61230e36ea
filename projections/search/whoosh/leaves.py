"""Leaves of the query tree against one segment: which documents, and how well each matches."""

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from domain.errors import InvalidInput
from projections.search import patterns, regex, tree
from projections.search.documents import indexed_path, is_prose
from projections.search.whoosh.analysis import fold, keyword, stem, tokens
from projections.search.whoosh.schema import EXACT, ID, TEXT, WORDS
from projections.search.whoosh.segments import SegmentView
from projections.search.whoosh.terms import NUMBER, PRESENT, SEPARATOR, STEM, sortable
from projections.search.whoosh.values import as_moment, as_number, between, together

MAX_EXPANSION = 20_000
"""Terms that a pattern may stand for."""
_K1, _B = 1.2, 0.75
_CHECK_EVERY = 256
_STEM_WEIGHT = 0.8

Scores = dict[int, float]
Space = tuple[str, str]
"""A field of the index and what the terms begin with."""


class Statistics(Protocol):
    """Figures over all segments of a snapshot."""

    documents: int
    average_length: float

    def frequency(self, field: str, term: str) -> int:
        """How many documents have the term."""


class Leaves:
    """Evaluates leaves; `check` raises when the time is up."""

    def __init__(
        self, view: SegmentView, statistics: Statistics, check: Callable[[], None]
    ) -> None:
        self.view = view
        self.statistics = statistics
        self.check = check

    def scores(self, node: tree.Leaf) -> Scores:
        """Document number -> score."""
        match node:
            case tree.MatchAll():
                return dict.fromkeys(range(self.view.size), 1.0)
            case tree.MatchNone():
                return {}
            case tree.Term(field=field, text=text):
                return self._term(field, text)
            case tree.Exact(field=field, value=value):
                return self._exact(field, value)
            case tree.Phrase(field=field, text=text, slop=slop):
                return self._phrase(field, text, slop)
            case tree.Fuzzy(field=field, text=text, distance=distance, prefix=prefix):
                return self._fuzzy(field, fold(text), distance, prefix)
            case tree.Wildcard(field=field, pattern=pattern):
                return self._pattern(field, patterns.wildcard(fold(pattern)), pattern)
            case tree.Regex(field=field, pattern=pattern):
                return self._pattern(field, regex.regex(pattern), pattern)
            case tree.Range():
                return self._range(node)
            case tree.Exists(field=field):
                return self._exists(indexed_path(field))
            case tree.Ids(values=values):
                return self._union((ID, value) for value in values)

    # Terms

    def _term(self, field: str | None, text: str) -> Scores:
        if field is not None and field.endswith(".keyword"):
            return self._exact(field, text)
        found = tokens(text)
        space, prose = _home(field)
        names = {found.wholes[0][0]} if found.wholes else set(found.parts[:1])
        scored = [self._bm25(space[0], space[1] + name) for name in names]
        if prose:
            for root in {stem(name) for name in names}:
                for name in {root, STEM + root} - names:
                    scored.append(_scaled(self._bm25(space[0], space[1] + name), _STEM_WEIGHT))
        if len(found.parts) > 1:
            scored.append(self._adjacent(space, found.parts, 0))
        if field is not None:
            scored.append(self._exact(field, text))
        return _best(scored)

    def _exact(self, field: str, value: str) -> Scores:
        path = indexed_path(field)
        whole = keyword(value)
        scored = [
            self._bm25(EXACT, f"{path}.keyword{SEPARATOR}{whole}"),
            self._bm25(EXACT, f"{path}{SEPARATOR}{whole}"),
        ]
        if (number := as_number(value)) is not None:
            scored.append(self._bm25(EXACT, f"{path}{SEPARATOR}{NUMBER}{sortable(number)}"))
        if not field.endswith(".keyword"):
            scored.append(self._bm25(TEXT, f"{path}{SEPARATOR}{whole}"))
        return _best(scored)

    def _bm25(self, field: str, term: str) -> Scores:
        self.check()
        frequency = self.statistics.frequency(field, term)
        if not frequency:
            return {}
        rarity = math.log(1 + (self.statistics.documents - frequency + 0.5) / (frequency + 0.5))
        weights = self.view.weights(field, term)
        top = rarity * (_K1 + 1)
        if field != WORDS:
            return {number: top * w / (w + _K1) for number, w in weights.items()}
        length, average = self.view.length, self.statistics.average_length
        return {
            number: top * w / (w + _K1 * (1 - _B + _B * length(number) / average))
            for number, w in weights.items()
        }

    # Phrases

    def _phrase(self, field: str | None, text: str, slop: int) -> Scores:
        parts = tokens(text).parts
        if len(parts) <= 1 or (field is not None and field.endswith(".keyword")):
            return self._term(field, text) if parts else {}
        scored = [self._adjacent(_home(field)[0], parts, slop)]
        if field is not None:
            scored.append(self._exact(field, text))
        return _best(scored)

    def _adjacent(self, space: Space, parts: tuple[str, ...], slop: int) -> Scores:
        """Documents in which the parts follow each other; the score is that of all parts."""
        field, start = space
        scored = {part: self._bm25(field, start + part) for part in dict.fromkeys(parts)}
        common = set.intersection(*(set(scores) for scores in scored.values()))
        if not common:
            return {}
        places = {part: self.view.positions(field, start + part) for part in scored}
        found: Scores = {}
        for number in common:
            lists = [
                [position - at for position in places[part][number]]
                for at, part in enumerate(parts)
            ]
            if together(lists, slop):
                found[number] = sum(scores[number] for scores in scored.values())
        return found

    # Many terms

    def _pattern(self, field: str | None, automaton: patterns.Automaton, shown: str) -> Scores:
        prefix = automaton.prefix
        return self._union(
            self._limited(
                shown,
                (
                    (space[0], space[1] + term)
                    for space in _spaces(field)
                    for term in self._expand(space, prefix)
                    if not term.startswith(NUMBER) and automaton.matches(term)
                ),
            )
        )

    def _fuzzy(self, field: str | None, word: str, distance: int, prefix: int) -> Scores:
        start = word[:prefix]
        matching: list[Scores] = []
        candidates = (
            (space[0], space[1] + term, slips)
            for space in _spaces(field)
            for term in self._expand(space, start)
            if abs(len(term) - len(word)) <= distance
            and (slips := patterns.distance(term, word, distance)) <= distance
        )
        for place, (name, term, slips) in enumerate(candidates):
            if place >= MAX_EXPANSION:
                raise _too_many(word)
            nearness = max(0.1, 1 - slips / max(1, len(word)))
            matching.append(_scaled(self._bm25(name, term), nearness))
        return _best(matching)

    def _expand(self, space: Space, prefix: str) -> Iterator[str]:
        """The terms of a space with the prefix, watching the time."""
        for place, term in enumerate(self.view.expand(*space, prefix)):
            if not place % _CHECK_EVERY:
                self.check()
            yield term

    def _range(self, node: tree.Range) -> Scores:
        path = indexed_path(node.field)
        lows = [bound for bound in (node.gt, node.gte) if bound is not None]
        highs = [bound for bound in (node.lt, node.lte) if bound is not None]
        as_numbers = {text: as_moment(text) for text in (*lows, *highs)}
        found: list[tuple[str, str]] = []
        if all(number is not None for number in as_numbers.values()):
            encode = {t: NUMBER + sortable(n) for t, n in as_numbers.items() if n is not None}
            space = (EXACT, path + SEPARATOR)
            terms = [t for t in self.view.lexicon(*space) if t.startswith(NUMBER)]
            found += [(EXACT, space[1] + t) for t in between(terms, node, encode)]
        space = (EXACT, f"{path}.keyword{SEPARATOR}")
        encode = {text: keyword(text) for text in (*lows, *highs)}
        found += [(EXACT, space[1] + t) for t in between(self.view.lexicon(*space), node, encode)]
        return self._union(found)

    def _exists(self, path: str) -> Scores:
        below = (
            (EXACT, f"{PRESENT}{path}.{rest}")
            for rest in self.view.lexicon(EXACT, f"{PRESENT}{path}.")
        )
        return self._union([(EXACT, PRESENT + path), *below])

    def _union(self, terms: Iterable[tuple[str, str]]) -> Scores:
        found: set[int] = set()
        for field, term in terms:
            self.check()
            found.update(self.view.documents(field, term))
        return dict.fromkeys(found, 1.0)

    def _limited(self, shown: str, terms: Iterator[tuple[str, str]]) -> Iterator[tuple[str, str]]:
        for place, term in enumerate(terms):
            if place >= MAX_EXPANSION:
                raise _too_many(shown)
            yield term


def _too_many(shown: str) -> InvalidInput:
    return InvalidInput(
        f"{shown[:80]!r} stands for more than {MAX_EXPANSION} different words: make it longer"
    )


def _home(field: str | None) -> tuple[Space, bool]:
    """Where the tokens of a field are, and whether they have stems."""
    if field is None:
        return (WORDS, ""), True
    path = indexed_path(field)
    return (TEXT, path + SEPARATOR), is_prose(path)


def _spaces(field: str | None) -> list[Space]:
    """Where the terms of a field are: its tokens and its whole values."""
    if field is None:
        return [(WORDS, "")]
    path = indexed_path(field)
    whole = [(EXACT, f"{path}.keyword{SEPARATOR}")]
    if field.endswith(".keyword"):
        return whole
    return [(TEXT, path + SEPARATOR), *whole, (EXACT, path + SEPARATOR)]


def _scaled(scores: Scores, factor: float) -> Scores:
    return {number: score * factor for number, score in scores.items()}


def _best(all_scores: list[Scores]) -> Scores:
    """The best score of each document."""
    filled = [scores for scores in all_scores if scores]
    if not filled:
        return {}
    best = dict(filled[0])
    for scores in filled[1:]:
        for number, score in scores.items():
            if score > best.get(number, 0.0):
                best[number] = score
    return best
