"""Terms of a lexicon by pattern or nearness: all of them at once, as arrays of their bytes."""

from collections.abc import Iterable, Iterator
from copy import copy

import numpy as np
from numpy.typing import NDArray

from projections.search.index.evaluate.joined_terms import terms_matching
from projections.search.index.evaluate.near_terms import TermsBySize, characters, one_slip, slips
from projections.search.index.evaluate.segments import Check, Memory, SegmentView
from projections.search.index.format.arrays import Inverted
from projections.search.language.patterns import TermPattern
from projections.search.matching.terms import EXACT, NUMBER, SEPARATOR, TEXT, WORDS
from projections.visibility.field_paths import indexed_path

TermNumbers = NDArray[np.int64]
"""(terms,): terms of a field by their numbers, ascending."""
NearTerms = tuple[TermNumbers, NDArray[np.int8]]
"""Terms by their numbers, and (terms,): how many slips each is away."""

_SHORT = 64
"""Letters of the longest word that is compared with terms as a whole, not letter by letter."""
_UTF8_BYTES = 4
"""Bytes of the longest character."""
_TERMS_PER_CHECK = 1 << 16
"""Terms that are compared with a word without a look at the clock."""
_BYTES_PER_CHECK = 1 << 20
"""Bytes of terms that are searched, or compared with a word, without a look at the clock."""


class Span:
    """The terms of a field that begin with `prefix`; patterns are over what follows it."""

    def __init__(
        self, inverted: Inverted, prefix: bytes, start: bytes, *, numbers: bool = True
    ) -> None:
        """Only terms that go on with `start`, and those of numbers only where wanted."""
        self._inverted = inverted
        self._prefix = prefix
        self._skip = len(prefix)
        self.low, self.high = inverted.span(prefix + start)
        """The numbers of the first term and of the one after the last."""
        if not numbers:
            _, after = inverted.span(prefix + NUMBER.encode())
            self.low = min(max(self.low, after), self.high)

    def all(self) -> TermNumbers:
        """The numbers of all terms."""
        return np.arange(self.low, self.high)

    def parts(self, check: Check) -> Iterator["Span"]:
        """The terms in order, a bounded number of bytes and terms at a time, one at least.

        `check` is called before each part.
        """
        offsets, low = self._inverted.offsets, self.low
        while low < self.high:
            check()
            upto = int(offsets.searchsorted(offsets[low] + _BYTES_PER_CHECK, "right")) - 1
            part = copy(self)
            part.low, part.high = low, min(self.high, max(upto, low + 1), low + _TERMS_PER_CHECK)
            yield part
            low = part.high

    def ending(self, suffix: bytes, shortest: int = 0) -> TermNumbers:
        """The terms with the suffix that have at least so many bytes."""
        if not suffix:
            return self.all()
        offsets, lexicon = self._inverted.offsets, self._inverted.lexicon
        ends = offsets[self.low + 1 : self.high + 1]
        places = np.flatnonzero(ends - offsets[self.low : self.high] >= self._skip + shortest)
        for at, byte in enumerate(reversed(suffix), 1):
            places = places.compress(lexicon.take(ends.take(places) - at) == byte)
        return places + self.low

    def containing(self, text: bytes) -> TermNumbers:
        """The terms that contain the text."""
        offsets = self._inverted.offsets
        begin, end = int(offsets[self.low]), int(offsets[self.high])
        span = self._inverted.lexicon[begin:end]
        if len(span) < len(text):
            return np.empty(0, np.int64)
        room = len(span) - len(text) + 1
        first = span[:room] == text[0]
        if len(text) > 1:
            first &= span[1 : room + 1] == text[1]
        hits = np.flatnonzero(first)
        for at in range(2, len(text)):
            hits = hits.compress(span.take(hits + at) == text[at])
        hits += begin
        terms = offsets[self.low : self.high].searchsorted(hits, "right") - 1 + self.low
        inside = (hits >= offsets.take(terms) + self._skip) & (
            hits + len(text) <= offsets.take(terms + 1)
        )
        terms = terms.compress(inside)
        if not len(terms):
            return terms
        return terms.compress(np.concatenate(([True], terms[1:] != terms[:-1])))

    def matching(self, pattern: TermPattern, memory: Memory, check: Check) -> TermNumbers:
        """The terms that the pattern matches, what follows the prefix taken as a whole.

        `memory` keeps what is made of the terms for it; `check` raises when the time is up.
        """
        match pattern.pieces:
            case (start, end):
                begun = self._going_on_with(start)
                if not end:
                    return begun.all()
                suffix, shortest = end.encode(), len((start + end).encode())
                return _joined(part.ending(suffix, shortest) for part in begun.parts(check))
            case ("", inner, ""):
                text = inner.encode()
                return _joined(part.containing(text) for part in self.parts(check))
        low, high = self._bounds(pattern)
        return terms_matching(self._inverted, self._skip, low, high, pattern.runs(), memory, check)

    def _going_on_with(self, start: str) -> "Span":
        narrower = copy(self)
        low, high = self._inverted.span(self._prefix + start.encode())
        narrower.low = max(self.low, low)
        narrower.high = max(narrower.low, min(self.high, high))
        return narrower

    def _bounds(self, pattern: TermPattern) -> tuple[int, int]:
        """The first and the end of the numbers of all terms that the pattern can match."""
        bounds = pattern.bounds()
        if bounds is None:
            return self.low, self.high
        least, greatest = (self._prefix + bound for bound in bounds)
        # Nothing lies between a term and itself with a zero byte added.
        first, after = self._inverted.first(least), self._inverted.first(greatest + b"\0")
        return max(self.low, first), min(self.high, after)

    def near(self, word: str, limit: int, memory: Memory, check: Check) -> NearTerms:
        """The terms at most `limit` slips from the word, with their slips.

        `memory` keeps the terms by their sizes; `check` raises when the time is up.
        """
        size = len(word)
        by_size = memory.get(
            ("by size", self._inverted),
            lambda: TermsBySize.of(self._inverted, check),
            lambda terms: terms.nbytes,
        )
        plain = by_size.plain(self.low, self.high, self._skip + size - limit, 2 * limit + 1)
        others = by_size.others(self.low, self.high)
        # As many terms are compared with a long word as with a short one of as many bytes.
        step = max(1, min(_TERMS_PER_CHECK, _BYTES_PER_CHECK // (size + 1)))
        near: list[NearTerms] = [(np.empty(0, np.int64), np.empty(0, np.int8))]
        near += [self._near_plain(part, word, limit, check) for part in _parts(plain, step)]
        near += [self._near_others(part, word, limit, check) for part in _parts(others, step)]
        numbers, counts = map(np.concatenate, zip(*near, strict=True))
        order = np.argsort(numbers)
        return numbers.take(order), counts.take(order)

    def _near_plain(self, terms: TermNumbers, word: str, limit: int, check: Check) -> NearTerms:
        """The terms near the word, among terms in ASCII, with their slips."""
        check()
        if limit == 1 and word.isascii() and len(word) <= _SHORT:
            near, few = one_slip(self._inverted, terms, self._skip, word.encode())
            return np.array(near, np.int64), np.array(few, np.int8)
        begins, lengths = self._places(terms)
        counts = slips(self._inverted.lexicon, begins, lengths, word, limit, check)
        return terms.compress(counts <= limit), counts.compress(counts <= limit)

    def _near_others(self, terms: TermNumbers, word: str, limit: int, check: Check) -> NearTerms:
        """The terms near the word, among terms in any characters, with their slips."""
        check()
        begins, lengths = self._places(terms)
        short = lengths <= _UTF8_BYTES * (len(word) + limit)
        terms, begins, lengths = (each.compress(short) for each in (terms, begins, lengths))
        codes, begins, lengths = characters(self._inverted.lexicon, begins, lengths)
        close = np.abs(lengths - len(word)) <= limit
        terms, begins, lengths = (each.compress(close) for each in (terms, begins, lengths))
        counts = slips(codes, begins, lengths, word, limit, check)
        return terms.compress(counts <= limit), counts.compress(counts <= limit)

    def _places(self, terms: TermNumbers) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The places at which terms go on after the prefix, and the bytes that follow there."""
        begins = self._inverted.offsets.take(terms) + self._skip
        return begins, self._inverted.offsets.take(terms + 1) - begins


def _parts(terms: TermNumbers, step: int) -> Iterator[TermNumbers]:
    return (terms[begin : begin + step] for begin in range(0, len(terms), step))


def _joined(parts: Iterable[TermNumbers]) -> TermNumbers:
    return np.concatenate((np.empty(0, np.int64), *parts))


Spans = list[tuple[str, Span]]
"""Fields of the index, each with a span of its terms."""


def spans(view: SegmentView, field: str | None, start: bytes = b"") -> Spans:
    """The terms of a field as written in a query that begin with `start`."""
    fields = view.fields
    if field is None:
        return [(WORDS, Span(fields[WORDS], b"", start))]
    path = indexed_path(field).encode()
    separator = SEPARATOR.encode()
    expanded = [(EXACT, Span(fields[EXACT], path + b".keyword" + separator, start))]
    if not field.endswith(".keyword"):
        expanded.append((TEXT, Span(fields[TEXT], path + separator, start)))
        # Values of `exact` that are no numbers are true and false.
        expanded.append((EXACT, Span(fields[EXACT], path + separator, start, numbers=False)))
    return expanded
