"""Leaves of the query tree against one segment: which documents, and how well each matches."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import assert_never

import numpy as np

from projections.search import tree
from projections.search.analysis import keyword, single_token, stem, tokens
from projections.search.index.evaluate.beginnings import Beginnings
from projections.search.index.evaluate.fuzzy import FuzzyWord
from projections.search.index.evaluate.lexicons import TermNumbers, spans
from projections.search.index.evaluate.phrase_prefixes import begun_together
from projections.search.index.evaluate.phrases import together
from projections.search.index.evaluate.results import (
    Dense,
    Matches,
    Sparse,
    everything,
    gathered,
    nothing,
)
from projections.search.index.evaluate.segments import DocIds, SegmentView, Snapshot
from projections.search.index.evaluate.term_results import Postings, PostingsList
from projections.search.index.evaluate.unions import union
from projections.search.index.format.arrays import ranges
from projections.search.language.patterns import TermPattern, wildcard
from projections.search.language.regex import regex
from projections.search.matching.terms import (
    EXACT,
    KEYWORD,
    MAX_SLOP,
    PRESENT,
    SEPARATOR,
    TEXT,
    WHOLE,
    WORDS,
    refuse_whole,
    takes_whole,
    term_ranges,
    value_terms,
)
from projections.search.matching.weights import STEM
from projections.visibility.field_paths import indexed_path

_FREQUENT = 500
"""Postings of a term from which on they are taken by themselves."""
_GATHERED = 4_096
"""Rare terms whose postings are gathered at once, 2 million at most."""
_POSTINGS = _GATHERED * _FREQUENT
"""Postings of successive terms that are taken at once."""


Space = tuple[str, str]
"""A field of the index, and the prefix of the terms in it."""


class Leaves:
    """Evaluates leaves against a segment; `check` raises when the time is up."""

    def __init__(self, snapshot: Snapshot, view: SegmentView, check: Callable[[], None]) -> None:
        self._snapshot = snapshot
        self._view = view
        self._check = check
        self._beginnings = Beginnings(snapshot, check)

    def matches(self, node: tree.Leaf) -> Matches:
        """The documents that the leaf matches, scored."""
        match node:  # what plain text is made of comes first
            case tree.Exact(field=field, value=value):
                return self._best(self._exact(field, value))
            case tree.Term(field=field, text=text):
                return self._term(field, text)
            case tree.PhrasePrefix(field=field, text=text, slop=slop):
                refuse_whole(field)
                return self._phrase_prefix(field, tokens(text).parts, min(slop, MAX_SLOP))
            case tree.Fuzzy(field=field):
                refuse_whole(field)
                return FuzzyWord(self._snapshot, node, self._check).matches(self._view)
            case tree.MatchAll():
                return everything(self._view, 1.0)
            case tree.MatchNone():
                return nothing(self._view)
            case tree.Phrase(field=field, text=text, slop=slop):
                return self._phrase(field, text, slop)
            case tree.Wildcard(field=field, pattern=pattern):
                return self._remembered(node, lambda: self._pattern(field, wildcard(pattern)))
            case tree.Regex(field=field, pattern=pattern):
                return self._remembered(node, lambda: self._pattern(field, regex(pattern)))
            case tree.Range():
                return self._remembered(node, lambda: self._range(node))
            case tree.Exists(field=field):
                return self._remembered(node, lambda: self._exists(indexed_path(field)))
            case tree.Ids(values=values):
                return self.any_value(tree.Exact("id", value) for value in dict.fromkeys(values))
            case _:
                assert_never(node)

    def _remembered(self, key: Hashable, make: Callable[[], Sparse | Dense]) -> Matches:
        return self._view.memory.get(key, make, lambda matches: matches.nbytes)

    # Terms

    def _term(self, field: str | None, text: str) -> Matches:
        if takes_whole(field):
            return self._best(self._exact(field, text))
        analysed = tokens(text)
        space, start = _home(field)
        scored: list[Matches] = []
        if name := single_token(text, analysed):
            scored = self._postings(space, start + name)
            if (root := stem(name)) != name:
                roots = self._postings(space, start + root)
                if field is not None:
                    # A value of one word is kept whole only.
                    roots += self._postings(EXACT, f"{indexed_path(field)}{KEYWORD}{root}")
                scored += [f.scaled(STEM) for f in roots]
        if len(analysed.parts) > 1:
            scored.append(self._together((space, start), analysed.parts, 0))
        if field is not None:
            scored += (
                self._values(field, text) if name == keyword(text) else self._exact(field, text)
            )
        return self._best(scored)

    def _exact(self, field: str, value: str) -> list[Matches]:
        """The documents with the whole value, or with a word that is the value."""
        return [m for name, term in value_terms(field, value) for m in self._postings(name, term)]

    def _values(self, field: str, value: str) -> list[Matches]:
        """The documents with the whole value."""
        terms = [known for known in value_terms(field, value) if known[0] != TEXT]
        return [m for name, term in terms for m in self._postings(name, term)]

    def _postings(self, field: str, term: str | bytes) -> list[Matches]:
        """The documents with a term, if there are any."""
        name = term.encode() if isinstance(term, str) else term
        number = self._view.number(field, name)
        return [] if number < 0 else [self._scored(field, number, name)]

    def _scored(self, field: str, number: int, name: bytes) -> Postings:
        weight = self._snapshot.term_weight(field, name)
        postings = PostingsList(self._view, field, number)
        if field in (EXACT, WHOLE):
            return Postings(postings, 0.0, weight)
        return Postings(postings, weight)

    def _best(self, clauses: Sequence[Matches]) -> Matches:
        return union(self._view, clauses, np.maximum, self._check)

    def any_value(self, values: Iterable[tree.Exact]) -> Matches:
        """The documents with any of the whole values, all with the same score."""
        lists: list[DocIds] = []
        for value in values:
            self._check()
            for name, term in value_terms(value.field, value.value):
                if (number := self._view.number(name, term)) >= 0:
                    inverted = self._view.fields[name]
                    lists.append(inverted.ids[inverted.postings(number)])
        return gathered(self._view, lists, sum(map(len, lists)), self._check)

    # Phrases

    def _phrase(self, field: str | None, text: str, slop: int) -> Matches:
        parts = tokens(text).parts
        if len(parts) <= 1 or takes_whole(field):
            return self._term(field, text) if parts else nothing(self._view)
        scored = [self._together(_home(field), parts, min(slop, MAX_SLOP))]
        if field is not None:
            scored += self._exact(field, text)
        return self._best(scored)

    def _together(self, space: Space, parts: tuple[str, ...], slop: int) -> Matches:
        """Documents in which the parts follow each other; the score is that of all parts."""
        field, start = space
        view = self._view
        names = [(start + part).encode() for part in parts]
        numbers = [view.number(field, name) for name in names]
        if min(numbers) < 0:
            return nothing(view)
        self._check()
        scored = {
            number: self._scored(field, number, name)
            for number, name in zip(numbers, names, strict=True)
        }
        postings = [scored[number] for number in numbers]

        def make() -> Sparse:
            ids = together(view, field, numbers, postings, slop, self._check)
            return Sparse(view.size, ids, 1.0)

        ids = self._remembered(("together", field, tuple(numbers), slop), make).ids()
        first, *others = scored.values()
        scores = first.scores_at(ids)
        for other in others:
            self._check()
            scores = scores + other.scores_at(ids)
        return Sparse(view.size, ids, scores)

    def _phrase_prefix(self, field: str | None, parts: tuple[str, ...], slop: int) -> Matches:
        """Documents in which the parts follow each other, the last one being the beginning of one.

        The score is that of all parts.
        """
        view = self._view
        if not parts:
            return nothing(view)
        *words, start = parts
        begun = self._beginnings.matches(view, field, start)
        if not words:
            return begun
        name, before = _home(field)
        terms = [(before + word).encode() for word in words]
        numbers = [view.number(name, term) for term in terms]
        span = view.fields[name].span((before + start).encode())
        if min(numbers) < 0 or span[0] == span[1]:
            return nothing(view)
        postings = [self._scored(name, *known) for known in zip(numbers, terms, strict=True)]

        def make() -> Sparse:
            ids = begun_together(view, name, (numbers, postings), span, slop, self._check)
            return Sparse(view.size, ids, 1.0)

        ids = self._remembered(("begun", field, parts, slop), make).ids()
        scores = begun.scores_at(ids)
        for each in dict(zip(numbers, postings, strict=True)).values():
            self._check()
            scores = scores + each.scores_at(ids)
        return Sparse(view.size, ids, scores)

    # Many terms

    def _pattern(self, field: str | None, pattern: TermPattern) -> Sparse | Dense:
        refuse_whole(field)
        expanded = [
            (name, span.matching(pattern, self._view.memory, self._check))
            for name, span in spans(self._view, field)
        ]
        return self._union(expanded)

    def _union(self, expanded: Sequence[tuple[str, TermNumbers]]) -> Sparse | Dense:
        """The documents with any of the terms."""
        count = 0
        for name, terms in expanded:
            starts = self._view.fields[name].starts
            count += int((starts.take(terms + 1) - starts.take(terms)).sum())
        lists = (ids for name, terms in expanded for ids in self._ids_of(name, terms))
        return gathered(self._view, lists, count, self._check)

    def _ids_of(self, name: str, terms: TermNumbers) -> Iterator[DocIds]:
        """The documents of the terms, in pieces of a few million at most."""
        if not len(terms):
            return
        inverted = self._view.fields[name]
        first, last = int(terms[0]), int(terms[-1])
        if last - first + 1 == len(terms):
            begin, end = int(inverted.starts[first]), int(inverted.starts[last + 1])
            for low in range(begin, end, _POSTINGS):
                yield inverted.ids[low : min(low + _POSTINGS, end)]
            return
        begins = inverted.starts.take(terms)
        sizes = inverted.starts.take(terms + 1) - begins
        rare = sizes < _FREQUENT
        begins, sizes = begins.compress(rare), sizes.compress(rare)
        for low in range(0, len(begins), _GATHERED):
            part = slice(low, low + _GATHERED)
            yield inverted.ids.take(ranges(begins[part], sizes[part]))
        for term in terms.compress(~rare).tolist():
            yield inverted.ids[inverted.postings(term)]

    def _range(self, node: tree.Range) -> Sparse | Dense:
        between = [self._between(start, bounds) for start, bounds in term_ranges(node)]
        return self._union([(EXACT, terms) for terms in between])

    def _between(self, start: str, bounds: Sequence[tuple[str, str]]) -> TermNumbers:
        """The terms of `exact` that begin with `start` and go on between the bounds."""
        inverted = self._view.fields[EXACT]
        low, high = inverted.span(start.encode())
        for side, bound in bounds:
            term = (start + bound).encode()
            # Nothing lies between a term and itself with a zero byte added.
            at = inverted.first(term + b"\0" if side in ("gt", "lte") else term)
            if side.startswith("g"):
                low = max(low, at)
            else:
                high = min(high, at)
        return np.arange(low, high)

    def _exists(self, path: str) -> Sparse | Dense:
        inverted = self._view.fields[EXACT]
        low, high = inverted.span(f"{PRESENT}{path}.".encode())
        own = inverted.find(f"{PRESENT}{path}".encode())
        itself = np.arange(own, own + 1) if own >= 0 else np.empty(0, np.int64)
        return self._union([(EXACT, itself), (EXACT, np.arange(low, high))])


def _home(field: str | None) -> Space:
    """Return the space that the tokens of a field are in."""
    return (WORDS, "") if field is None else (TEXT, indexed_path(field) + SEPARATOR)
