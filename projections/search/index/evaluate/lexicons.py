"""Terms of a lexicon by pattern or nearness: all of them at once, as arrays of their bytes."""

from collections.abc import Callable, Iterable, Iterator
from copy import copy

import numpy as np
from numpy.typing import NDArray

from projections.search.index.evaluate.joined_terms import terms_matching
from projections.search.index.evaluate.near_terms import characters, one_slip, slips
from projections.search.index.evaluate.segments import Mask, Memory, SegmentView
from projections.search.index.format.arrays import Inverted
from projections.search.language.patterns import TermPattern
from projections.search.matching.terms import EXACT, NUMBER, SEPARATOR, TEXT, WORDS
from projections.visibility.field_paths import indexed_path

TermNumbers = NDArray[np.int64]
"""(terms,): terms of a field by their numbers, ascending."""
Check = Callable[[], None]
"""Raises when the time is up."""

_ASCII = 128
_SHORT = 64
"""Letters of the longest word that is compared with terms as a whole, not letter by letter."""
_UTF8_BYTES = 4
"""Bytes of the longest character."""
_TERMS_PER_CHECK = 1 << 16
"""Terms that are compared with a word without a look at the clock."""
_BYTES_PER_CHECK = 1 << 20
"""Bytes of terms that are searched for a text, or compared with a word, without such a look."""


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
        # As many terms are compared with a long word as with a short one of as many bytes.
        step = max(1, min(_TERMS_PER_CHECK, _BYTES_PER_CHECK // (len(word) + 1)))
        for low in range(self.low, self.high, _TERMS_PER_CHECK):
            check()
            terms, sizes = self._possible(low, min(low + _TERMS_PER_CHECK, self.high), word, limit)
            for begin in range(0, len(terms), step):
                part = slice(begin, begin + step)
                for compared, slip in self._slips(terms[part], sizes[part], word, limit, check):
                    close = slip <= limit
                    numbers.append(compared.compress(close))
                    counts.append(slip.compress(close))
        every = np.concatenate(numbers)
        order = np.argsort(every)
        return every.take(order), np.concatenate(counts).take(order)

    def _possible(
        self, low: int, high: int, word: str, limit: int
    ) -> tuple[TermNumbers, NDArray[np.int64]]:
        """The terms from `low` up to `high` that may be near the word, and their sizes in bytes."""
        sizes = np.diff(self._inverted.offsets[low : high + 1]) - self._skip
        longest = _UTF8_BYTES * (len(word) + limit)
        places = np.flatnonzero((sizes >= len(word) - limit) & (sizes <= longest))
        return places + low, sizes.take(places)

    def _slips(
        self, terms: TermNumbers, sizes: NDArray[np.int64], word: str, limit: int, check: Check
    ) -> list[tuple[TermNumbers, NDArray[np.int8]]]:
        """The slips of terms that are `_possible`, of those at least that are near."""
        inverted = self._inverted
        beyond = self._beyond_ascii(terms)
        ascii_ = ~beyond & (sizes <= len(word) + limit)
        plain, lengths = terms.compress(ascii_), sizes.compress(ascii_)
        begins = inverted.offsets.take(plain) + self._skip
        if limit == 1 and word.isascii() and len(word) <= _SHORT:
            near, counts = one_slip(inverted.lexicon, begins, lengths, word.encode())
            compared = [(plain.take(near), counts)]
        else:
            compared = [(plain, slips(inverted.lexicon, begins, lengths, word, limit, check))]
        others = terms.compress(beyond)
        if len(others):
            begins, lengths = inverted.offsets.take(others) + self._skip, sizes.compress(beyond)
            codes, begins, lengths = characters(inverted.lexicon, begins, lengths)
            close = np.abs(lengths - len(word)) <= limit
            begins, lengths = begins.compress(close), lengths.compress(close)
            counts = slips(codes, begins, lengths, word, limit, check)
            compared.append((others.compress(close), counts))
        return compared

    def _beyond_ascii(self, terms: TermNumbers) -> Mask:
        """Return a mask of those of the terms, ascending, with characters outside ASCII."""
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


def _joined(parts: Iterable[TermNumbers]) -> TermNumbers:
    return np.concatenate((np.empty(0, np.int64), *parts))


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
