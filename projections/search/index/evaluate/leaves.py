"""Leaves of the query tree against one segment: which documents, and how well each matches."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import partial
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from domain.errors import InvalidInput
from projections.search import tree
from projections.search.analysis import keyword, stem, tokens
from projections.search.index.evaluate.beginnings import Beginnings
from projections.search.index.evaluate.fuzzy import Fuzzy
from projections.search.index.evaluate.lexicons import TermNumbers, spans
from projections.search.index.evaluate.phrase_prefixes import begun_together
from projections.search.index.evaluate.phrases import together
from projections.search.index.evaluate.results import (
    DENSE,
    Frequent,
    Matches,
    Sparse,
    everything,
    gathered,
    nothing,
    union,
)
from projections.search.index.evaluate.segments import DocIds, SegmentView, Snapshot
from projections.search.index.format.arrays import ranges
from projections.search.language.field_texts import is_whole
from projections.search.language.patterns import TermPattern, wildcard
from projections.search.language.regex import regex
from projections.search.matching.query_values import as_moment
from projections.search.matching.terms import (
    EXACT,
    MAX_SLOP,
    NUMBER,
    PRESENT,
    SEPARATOR,
    TEXT,
    WORDS,
    sortable,
)
from projections.search.matching.value_terms import value_terms
from projections.search.matching.weights import STEM
from projections.visibility.field_paths import indexed_path

_FREQUENT = 500
"""Postings of a term from which on they are taken by themselves."""
_GATHERED = 4_096
"""Rare terms whose postings are gathered at once, 2 million at most."""
_POSTINGS = _GATHERED * _FREQUENT
"""Postings of successive terms that are taken at once."""


Space = tuple[str, str]
"""A field of the index and what the terms begin with."""


class Leaves:
    """Evaluates leaves against a segment; `check` raises when the time is up."""

    def __init__(self, snapshot: Snapshot, view: SegmentView, check: Callable[[], None]) -> None:
        self._snapshot = snapshot
        self._view = view
        self._check = check
        self._beginnings = Beginnings(snapshot, check)

    def matches(self, node: tree.Leaf) -> Matches:
        """The documents that the leaf matches, scored."""
        match node:
            case tree.MatchAll():
                return everything(self._view, 1.0)
            case tree.MatchNone():
                return nothing(self._view)
            case tree.Term(field=field, text=text):
                return self._term(field, text)
            case tree.Exact(field=field, value=value):
                return self._best(self._exact(field, value))
            case tree.Phrase(field=field, text=text, slop=slop):
                return self._phrase(field, text, slop)
            case tree.PhrasePrefix(field=field, text=text, slop=slop):
                _refuse_whole(field)
                return self._phrase_prefix(field, tokens(text).parts, min(slop, MAX_SLOP))
            case tree.Fuzzy(field=field):
                _refuse_whole(field)
                return Fuzzy(self._snapshot, node, self._check).matches(self._view)
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

    def _remembered(self, key: Hashable, make: Callable[[], Matches]) -> Matches:
        return self._view.memory.get(key, make, lambda matches: matches.nbytes)

    # Terms

    def _term(self, field: str | None, text: str) -> Matches:
        if field is not None and (field.endswith(".keyword") or is_whole(indexed_path(field))):
            return self._best(self._exact(field, text))
        analysed = tokens(text)
        space, start = _home(field)
        scored: list[Matches] = []
        name = ""
        if len(analysed.parts) == 1 or (analysed.wholes and len(text.split()) == 1):
            name = analysed.wholes[0][0] if analysed.wholes else analysed.parts[0]
            scored = self._postings(space, start + name)
            if (root := stem(name)) != name:
                roots = self._postings(space, start + root)
                if field is not None:
                    # A value of one word is kept whole only.
                    roots += self._postings(
                        EXACT, f"{indexed_path(field)}.keyword{SEPARATOR}{root}"
                    )
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

    def _scored(self, field: str, number: int, name: bytes) -> Matches:
        view = self._view
        weight = self._snapshot.term_weight(field, name)
        inverted = view.fields[field]
        place = inverted.postings(number)
        ids = inverted.ids[place]
        if inverted.impacts is None:
            return Sparse(view.size, ids, weight)
        impacts = inverted.impacts[place]
        scores = np.multiply(impacts, np.float32(weight), dtype=np.float32)
        if len(ids) * DENSE <= view.size:
            return Sparse(view.size, ids, scores)

        def table() -> NDArray[np.uint8]:
            by_document = np.zeros(view.size, np.uint8)
            by_document[ids] = impacts
            return by_document

        remembered = partial(view.memory.array, ("impacts", field, number), table)
        return Frequent(view.size, ids, scores, remembered, weight)

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
        return gathered(self._view, lists, sum(map(len, lists)), 1.0, self._check)

    # Phrases

    def _phrase(self, field: str | None, text: str, slop: int) -> Matches:
        parts = tokens(text).parts
        whole = field is not None and (field.endswith(".keyword") or is_whole(indexed_path(field)))
        if len(parts) <= 1 or whole:
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
        return self._summed(ids, scored.values())

    def _summed(self, ids: DocIds, clauses: Iterable[Matches]) -> Matches:
        """The documents, scored by the sum of the clauses."""
        scores = np.zeros(len(ids), np.float32)
        for clause in clauses:
            self._check()
            scores = scores + clause.scores_at(ids)
        return Sparse(self._view.size, ids, scores)

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
        return self._summed(ids, (begun, *dict(zip(numbers, postings, strict=True)).values()))

    # Many terms

    def _pattern(self, field: str | None, pattern: TermPattern) -> Matches:
        _refuse_whole(field)
        expanded = [
            (name, span.matching(pattern, self._view.memory, self._check))
            for name, span in spans(self._view, field)
        ]
        return self._union(expanded)

    def _union(self, expanded: Sequence[tuple[str, TermNumbers]]) -> Matches:
        """The documents with any of the terms."""
        count = 0
        for name, terms in expanded:
            starts = self._view.fields[name].starts
            count += int((starts.take(terms + 1) - starts.take(terms)).sum())
        lists = (ids for name, terms in expanded for ids in self._ids_of(name, terms))
        return gathered(self._view, lists, count, 1.0, self._check)

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

    def _range(self, node: tree.Range) -> Matches:
        path = indexed_path(node.field)
        _refuse_whole(node.field)
        bounds = [
            (side, bound)
            for side in ("gt", "gte", "lt", "lte")
            if (bound := getattr(node, side)) is not None
        ]
        numbers = [(side, as_moment(bound)) for side, bound in bounds]
        expanded = [self._between(f"{path}.keyword{SEPARATOR}", [
            (side, keyword(bound)) for side, bound in bounds
        ])]  # fmt: skip
        encoded = [(side, sortable(number)) for side, number in numbers if number is not None]
        if len(encoded) == len(bounds):
            expanded.append(self._between(f"{path}{SEPARATOR}{NUMBER}", encoded))
        return self._union([(EXACT, terms) for terms in expanded])

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

    def _exists(self, path: str) -> Matches:
        inverted = self._view.fields[EXACT]
        low, high = inverted.span(f"{PRESENT}{path}.".encode())
        own = inverted.find(f"{PRESENT}{path}".encode())
        itself = np.arange(own, own + 1) if own >= 0 else np.empty(0, np.int64)
        return self._union([(EXACT, itself), (EXACT, np.arange(low, high))])


def _refuse_whole(field: str | None) -> None:
    if field is not None and is_whole(indexed_path(field)):
        raise InvalidInput(f"{field[:80]} is only matched whole: give a complete value")


def _home(field: str | None) -> Space:
    """Where the tokens of a field are."""
    return (WORDS, "") if field is None else (TEXT, indexed_path(field) + SEPARATOR)
