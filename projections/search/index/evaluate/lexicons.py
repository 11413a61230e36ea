"""Terms of a lexicon by pattern or nearness: all of them at once, as arrays of their bytes."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from domain.errors import InvalidInput
from projections.search.index.evaluate.segments import Mask, SegmentView
from projections.search.index.format.arrays import Inverted
from projections.search.index.format.schema import EXACT, TEXT, WORDS
from projections.search.index.format.terms import NUMBER, SEPARATOR
from projections.search.language.patterns import Automaton, States, distance
from projections.visibility.field_paths import indexed_path

TermNumbers = NDArray[np.int64]
Check = Callable[[], None]
"""Raises when the time is up."""

MAX_MACHINE_STATES = 20_000
_ASCII = 128
_CHECK_EVERY = 256
_UNKNOWN = -1
_DEAD, _START = 0, 1


class Span:
    """The terms of a field that begin with `prefix`; patterns are over what follows it."""

    def __init__(
        self, inverted: Inverted, prefix: bytes, start: bytes, *, numbers: bool = True
    ) -> None:
        """Only terms that go on with `start`, and those of numbers only where wanted."""
        self._inverted = inverted
        self._skip = len(prefix)
        self.low, self.high = inverted.span(prefix + start)
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

    def matching(
        self, automaton: Automaton, check: Check, pieces: Sequence[str] | None = None
    ) -> TermNumbers:
        """The terms that the automaton matches, which begin with its prefix.

        `pieces` are the texts around the stars where that is all there is to the pattern.
        """
        match pieces:
            case [start, end]:
                return self.ending(end.encode(), len((start + end).encode()))
            case ["", inner, ""]:
                return self.containing(inner.encode())
        required = automaton.required
        terms = self.containing(required.encode()) if required else self.all()
        if not len(terms):
            return terms
        offsets = self._inverted.offsets
        begins, ends = offsets.take(terms) + self._skip, offsets.take(terms + 1)
        ascii_ = ~self._beyond_ascii(terms)
        found = np.zeros(len(terms), np.bool_)
        machine = _Machine(automaton)
        found[ascii_] = machine.run(
            self._inverted.lexicon, begins.compress(ascii_), ends.compress(ascii_), check
        )
        for count, place in enumerate(np.flatnonzero(~ascii_).tolist()):
            if not count % _CHECK_EVERY:
                check()
            found[place] = automaton.matches(self._text(int(terms[place])))
        return terms.compress(found)

    def near(self, word: str, limit: int, check: Check) -> tuple[TermNumbers, NDArray[np.int8]]:
        """The terms at most `limit` slips from the word, with their slips."""
        offsets = self._inverted.offsets
        sizes = np.diff(offsets[self.low : self.high + 1]) - self._skip
        # A character has one to four bytes, so that only a term of ASCII is as long as it seems.
        long_enough = sizes >= len(word) - limit
        terms = np.flatnonzero(long_enough & (sizes <= 4 * (len(word) + limit))) + self.low
        beyond = self._beyond_ascii(terms)
        plain = terms.compress(~beyond & (sizes.take(terms - self.low) <= len(word) + limit))
        check()
        slips = _slips(
            self._inverted.lexicon,
            offsets.take(plain) + self._skip,
            sizes.take(plain - self.low),
            word,
            limit,
        )
        close = slips <= limit
        found, counts = plain.compress(close), slips.compress(close)
        others: list[tuple[int, int]] = []
        for count, number in enumerate(terms.compress(beyond).tolist()):
            if not count % _CHECK_EVERY:
                check()
            if (slip := distance(self._text(number), word, limit)) <= limit:
                others.append((number, slip))
        if others:
            more = np.array(others, np.int64)
            found = np.concatenate((found, more[:, 0]))
            counts = np.concatenate((counts, more[:, 1].astype(np.int8)))
            order = np.argsort(found)
            found, counts = found[order], counts[order]
        return found, counts

    def _text(self, number: int) -> str:
        return self._inverted.term(number)[self._skip :].decode()

    def _beyond_ascii(self, terms: TermNumbers) -> Mask:
        """Which of the terms have characters outside ASCII."""
        offsets = self._inverted.offsets
        begin, end = int(offsets[self.low]), int(offsets[self.high])
        high = np.flatnonzero(self._inverted.lexicon[begin:end] >= _ASCII)
        if not len(high):
            return np.zeros(len(terms), np.bool_)
        high += begin
        return high.searchsorted(offsets.take(terms)) < high.searchsorted(offsets.take(terms + 1))


Spans = list[tuple[str, Span]]
"""Fields of the index with terms of theirs."""


def spans(view: SegmentView, field: str | None, start: bytes) -> Spans:
    """The terms of a field as written in a query that begin with `start`."""
    fields = view.fields
    if field is None:
        return [(WORDS, Span(fields[WORDS], b"", start))]
    path = indexed_path(field).encode()
    separator = SEPARATOR.encode()
    found = [(EXACT, Span(fields[EXACT], path + b".keyword" + separator, start))]
    if not field.endswith(".keyword"):
        found.append((TEXT, Span(fields[TEXT], path + separator, start)))
        # The others of `exact` are true and false.
        found.append((EXACT, Span(fields[EXACT], path + separator, start, numbers=False)))
    return found


class _Machine:
    """An automaton made deterministic, as far as the terms at hand need it; for ASCII."""

    def __init__(self, automaton: Automaton) -> None:
        self._automaton = automaton
        self._states: list[States] = [frozenset(), automaton.start()]
        self._numbers = {states: number for number, states in enumerate(self._states)}
        self._table = np.full(16 * _ASCII, _UNKNOWN, np.int32)
        self._table[:_ASCII] = _DEAD

    def run(
        self,
        lexicon: NDArray[np.uint8],
        begins: NDArray[np.int64],
        ends: NDArray[np.int64],
        check: Check,
    ) -> Mask:
        """Which of the texts between the offsets match."""
        sizes = ends - begins
        terms = np.argsort(-sizes, kind="stable")
        ascending = sizes.take(terms)[::-1]
        states = np.full(len(sizes), _START, np.int32)
        final = states.copy()
        at = 0
        while len(terms):
            check()
            ongoing = len(terms) - int(ascending.searchsorted(at, "right"))
            final[terms[ongoing:]] = states[ongoing:]
            terms, states = terms[:ongoing], states[:ongoing]
            ascending = ascending[len(ascending) - ongoing :]
            places = states.astype(np.int64) * _ASCII + lexicon.take(begins.take(terms) + at)
            states = self._after(places)
            alive = states != _DEAD
            if np.count_nonzero(alive) * 2 < len(alive):
                final[terms.compress(~alive)] = _DEAD
                terms, states = terms.compress(alive), states.compress(alive)
                ascending = ascending.compress(alive[::-1])
            at += 1
        accepting = np.array([self._automaton.accepts(states) for states in self._states])
        return accepting.take(final)

    def _after(self, places: NDArray[np.int64]) -> NDArray[np.int32]:
        states = self._table.take(places)
        unknown = states == _UNKNOWN
        if not unknown.any():
            return states
        for place in np.unique(places.compress(unknown)).tolist():
            state, code = divmod(place, _ASCII)
            self._table[place] = self._number(self._automaton.step(self._states[state], chr(code)))
        return self._table.take(places)

    def _number(self, states: States) -> int:
        number = self._numbers.get(states)
        if number is None:
            number = self._numbers[states] = len(self._states)
            self._states.append(states)
            if number >= MAX_MACHINE_STATES:
                raise InvalidInput("the pattern is too complex for this index: make it simpler")
            if len(self._states) * _ASCII > len(self._table):
                more = np.full(len(self._table), _UNKNOWN, np.int32)
                self._table = np.concatenate((self._table, more))
        return number


def _slips(
    lexicon: NDArray[np.uint8],
    begins: NDArray[np.int64],
    sizes: NDArray[np.int64],
    word: str,
    limit: int,
) -> NDArray[np.int8]:
    """Slips between the word and each term, as `patterns.distance` counts them; over `limit`: more.

    Rows are the word's characters, columns the terms'; only the band around the diagonal counts.
    """
    far = np.int8(limit + 1)
    width = len(word) + limit
    columns = np.zeros((width + 1, len(begins)), np.uint8)
    """The terms' bytes by position from 1 on, 0 after the end."""
    for at in range(min(width, int(sizes.max(initial=0)))):
        here = np.flatnonzero(sizes > at)
        columns[at + 1][here] = lexicon.take(begins.take(here) + at)
    beyond = np.full(len(begins), far, np.int8)
    codes = [ord(character) if ord(character) < _ASCII else _ASCII for character in word]
    row: dict[int, NDArray[np.int8]] = {
        j: np.full(len(begins), j, np.int8) for j in range(limit + 1)
    }
    before: dict[int, NDArray[np.int8]] = {}
    for i, code in enumerate(codes, 1):
        two_before, before, row = before, row, {}
        if i <= limit:
            row[0] = np.full(len(begins), i, np.int8)
        for j in range(max(1, i - limit), i + limit + 1):
            cost = before.get(j - 1, beyond) + (columns[j] != code)
            np.minimum(cost, before.get(j, beyond) + 1, out=cost)
            np.minimum(cost, row.get(j - 1, beyond) + 1, out=cost)
            if i > 1 and j > 1 and j - 2 in two_before:
                swapped = (columns[j - 1] == code) & (columns[j] == codes[i - 2])
                swap = np.where(swapped, two_before[j - 2] + 1, far)
                np.minimum(cost, swap, out=cost)
            row[j] = np.minimum(cost, far)
    result = beyond.copy()
    for j, cost in row.items():
        ended = sizes == j
        result[ended] = cost[ended]
    return result
