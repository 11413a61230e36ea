"""Terms of a lexicon by pattern or nearness: all of them at once, as arrays of their bytes."""

from collections.abc import Callable
from copy import copy

import numpy as np
from numpy.typing import NDArray

from projections.search.index.evaluate.joined_terms import terms_matching
from projections.search.index.evaluate.near_terms import characters, slips
from projections.search.index.evaluate.segments import Mask, Memory, SegmentView
from projections.search.index.format.arrays import Inverted
from projections.search.index.format.terms import EXACT, NUMBER, SEPARATOR, TEXT, WORDS
from projections.search.language.patterns import TermPattern
from projections.visibility.field_paths import indexed_path

TermNumbers = NDArray[np.int64]
"""(terms,): terms of a field by their numbers, ascending."""
Check = Callable[[], None]
"""Raises when the time is up."""

_ASCII = 128
_UTF8_BYTES = 4
"""Bytes of the longest character."""
_TERMS_PER_CHECK = 1 << 16
"""Terms that are compared with a word without a look at the clock."""


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
        """Every term."""
        return np.arange(self.low, self.high)

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
                return begun.ending(end.encode(), len((start + end).encode()))
            case ("", inner, ""):
                return self.containing(inner.encode())
        low, high = self._bounds(pattern)
        return terms_matching(self._inverted, self._skip, low, high, pattern.runs(), memory, check)

    def _going_on_with(self, start: str) -> "Span":
        narrower = copy(self)
        low, high = self._inverted.span(self._prefix + start.encode())
        narrower.low = max(self.low, low)
        narrower.high = max(narrower.low, min(self.high, high))
        return narrower

    def _bounds(self, pattern: TermPattern) -> tuple[int, int]:
        """The numbers of the terms between which all are that the pattern can match."""
        bounds = pattern.bounds()
        if bounds is None:
            return self.low, self.high
        least, greatest = (self._prefix + bound for bound in bounds)
        # Nothing lies between a term and itself with a zero byte added.
        first, after = self._inverted.first(least), self._inverted.first(greatest + b"\0")
        return max(self.low, first), min(self.high, after)

    def near(self, word: str, limit: int, check: Check) -> tuple[TermNumbers, NDArray[np.int8]]:
        """The terms at most `limit` slips from the word, with their slips."""
        numbers, counts = [np.empty(0, np.int64)], [np.empty(0, np.int8)]
        for low in range(self.low, self.high, _TERMS_PER_CHECK):
            check()
            high = min(low + _TERMS_PER_CHECK, self.high)
            for terms, slip in self._slips(low, high, word, limit):
                close = slip <= limit
                numbers.append(terms.compress(close))
                counts.append(slip.compress(close))
        every = np.concatenate(numbers)
        order = np.argsort(every)
        return every.take(order), np.concatenate(counts).take(order)

    def _slips(
        self, low: int, high: int, word: str, limit: int
    ) -> list[tuple[TermNumbers, NDArray[np.int8]]]:
        """The slips of terms from `low` up to `high`, of those at least that are near."""
        inverted = self._inverted
        sizes = np.diff(inverted.offsets[low : high + 1]) - self._skip
        longest = len(word) + limit
        possible = (sizes >= len(word) - limit) & (sizes <= _UTF8_BYTES * longest)
        terms = np.flatnonzero(possible) + low
        beyond = self._beyond_ascii(terms)
        plain = terms.compress(~beyond & (sizes.take(terms - low) <= longest))
        begins, lengths = inverted.offsets.take(plain) + self._skip, sizes.take(plain - low)
        compared = [(plain, slips(inverted.lexicon, begins, lengths, word, limit))]
        others = terms.compress(beyond)
        if len(others):
            begins, lengths = inverted.offsets.take(others) + self._skip, sizes.take(others - low)
            codes, begins, lengths = characters(inverted.lexicon, begins, lengths)
            close = np.abs(lengths - len(word)) <= limit
            counts = slips(codes, begins.compress(close), lengths.compress(close), word, limit)
            compared.append((others.compress(close), counts))
        return compared

    def _beyond_ascii(self, terms: TermNumbers) -> Mask:
        """Which of the terms, ascending, have characters outside ASCII."""
        if not len(terms):
            return np.zeros(0, np.bool_)
        offsets = self._inverted.offsets
        begin, end = int(offsets[terms[0]]), int(offsets[terms[-1] + 1])
        high = np.flatnonzero(self._inverted.lexicon[begin:end] >= _ASCII)
        if not len(high):
            return np.zeros(len(terms), np.bool_)
        high += begin
        return high.searchsorted(offsets.take(terms) + self._skip) < high.searchsorted(
            offsets.take(terms + 1)
        )


Spans = list[tuple[str, Span]]
"""Fields of the index with terms of theirs."""


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
        # The others of `exact` are true and false.
        expanded.append((EXACT, Span(fields[EXACT], path + separator, start, numbers=False)))
    return expanded
