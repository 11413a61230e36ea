"""Terms near a word: by size, as such terms are among few, and by slips.

A slip is a letter more, less, other, or two swapped.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable

import msgspec
import numpy as np
from numpy.typing import NDArray

from projections.search.index.format.arrays import Inverted, distinct, ranges, starts, sums

_ASCII = 128
_BYTES_PER_CHECK = 1 << 20
"""Bytes of a lexicon that are gone through without a look at the clock."""
_LONGEST = (1 << 16) - 1
"""Size that stands for all larger ones: numbers of 16 bits are sorted by counting."""
_NOT_FIRST, _FIRST_BITS = 0x80, 0xC0
"""The first two bits, and their mask, of a byte in UTF-8 that does not begin a character."""


_FEW = 200
"""Below this number of terms, comparing all letters takes less time than choosing terms first."""


class TermsBySize(msgspec.Struct, frozen=True):
    """The numbers of the terms of a lexicon, by size in bytes; apart those that are not in ASCII.

    Size 0 stands for terms that are not in ASCII, and for the empty term.
    """

    numbers: NDArray[np.int32]
    """(terms,): by size, ascending in each size."""
    begins: NDArray[np.int64]
    """(sizes + 1,): where the terms of each size begin."""

    @classmethod
    def of(cls, inverted: Inverted, check: Callable[[], None]) -> "TermsBySize":
        """The terms of a lexicon; `check` raises when the time is up."""
        sizes = np.minimum(np.diff(inverted.offsets), _LONGEST).astype(np.uint16)
        for low in range(0, len(inverted.lexicon), _BYTES_PER_CHECK):
            check()
            part = inverted.lexicon[low : low + _BYTES_PER_CHECK]
            beyond = np.flatnonzero(part >= _ASCII) + low
            sizes[inverted.offsets.searchsorted(beyond, "right") - 1] = 0
        numbers = np.argsort(sizes, kind="stable").astype(np.int32)
        return cls(numbers, starts(np.bincount(sizes, minlength=1)))

    @property
    def nbytes(self) -> int:
        """Memory that the numbers take, in bytes."""
        return self.numbers.nbytes + self.begins.nbytes

    def others(self, low: int, high: int) -> NDArray[np.int64]:
        """The terms from `low` up to `high` that are not in ASCII."""
        return self._of_size(0, low, high).astype(np.int64)

    def plain(self, low: int, high: int, size: int, sizes: int) -> NDArray[np.int64]:
        """The terms in ASCII from `low` up to `high` with one of `sizes` sizes, from `size` bytes
        on."""
        every = range(max(1, size), min(size + sizes, len(self.begins) - 1))
        parts = [self._of_size(each, low, high) for each in every]
        return np.concatenate((np.empty(0, np.int64), *parts))

    def _of_size(self, size: int, low: int, high: int) -> NDArray[np.int32]:
        # For two numbers, a search by numpy takes twice as long.
        begin, end = self.begins[size : size + 2].tolist()
        begin = bisect_left(self.numbers.data, low, begin, end)
        return self.numbers[begin : bisect_left(self.numbers.data, high, begin, end)]


def characters(
    lexicon: NDArray[np.uint8], begins: NDArray[np.int64], sizes: NDArray[np.int64]
) -> tuple[NDArray[np.uint32], NDArray[np.int64], NDArray[np.int64]]:
    """The code points of texts in UTF-8, given as (texts,) places and sizes in bytes.

    Gives (characters,) the code points of all texts, and (texts,) where each text begins among
    them and how many it has.
    """
    data = lexicon.take(ranges(begins, sizes))
    lengths = sums((data & _FIRST_BITS) != _NOT_FIRST, sizes)
    codes = np.frombuffer(data.tobytes().decode().encode("utf-32-le"), "<u4")
    return codes, starts(lengths)[:-1], lengths


def one_slip(
    inverted: Inverted, terms: NDArray[np.int64], skip: int, word: bytes
) -> tuple[list[int], list[int]]:
    """The terms at most one slip from the word, by their numbers, and their slips: 0 or 1.

    A slip leaves alone what comes before it, and what comes after the two letters that it concerns
    at most. So a term has the first half of the word, or what follows the letter after that half,
    or more slips than one: few terms do. These few are compared as a whole. Terms, but for their
    first `skip` bytes, and word are in ASCII, and their lengths differ by one letter at most.
    """
    half = len(word) // 2
    first, last = word[:half], word[half + 1 :]
    if len(terms) > _FEW:
        begins, ends = inverted.offsets.take(terms) + skip, inverted.offsets.take(terms + 1)
        # The first letters are the same in most of the terms: the last ones leave few at once.
        begun = _having(inverted.lexicon, begins, [*enumerate(first)][::-1])
        ended = _having(inverted.lexicon, ends, [*enumerate(last, -len(last))][::-1])
        terms = terms.take(distinct(np.concatenate((begun, ended))))
    near: list[int] = []
    counts: list[int] = []
    for number in terms.tolist():
        term = inverted.term(number)[skip:]
        if term.startswith(first) or term.endswith(last):
            count = _few_slips(term, word)
            if count < 2:
                near.append(number)
                counts.append(count)
    return near, counts


def _having(
    lexicon: NDArray[np.uint8], bases: NDArray[np.int64], letters: Iterable[tuple[int, int]]
) -> NDArray[np.intp]:
    """Return which of the places `bases` have all letters, given with their distances."""
    having = np.arange(len(bases))
    for distance, letter in letters:
        having = having.compress(lexicon.take(bases.take(having) + distance) == letter)
    return having


def _few_slips(term: bytes, word: bytes) -> int:
    """Return the slips from the word to a term: 0, 1, or 2 for more than one."""
    if term == word:
        return 0
    shorter = min(len(term), len(word))
    at = next((at for at in range(shorter) if term[at] != word[at]), shorter)
    if len(term) != len(word):
        longer, other = (term, word) if len(term) > len(word) else (word, term)
        return 1 if longer[at + 1 :] == other[at:] else 2
    swapped = word[at : at + 2][::-1] + word[at + 2 :]
    return 1 if term[at + 1 :] == word[at + 1 :] or term[at:] == swapped else 2


def slips(
    codes: NDArray[np.uint8] | NDArray[np.uint32],
    begins: NDArray[np.int64],
    lengths: NDArray[np.int64],
    word: str,
    limit: int,
    check: Callable[[], None],
) -> NDArray[np.int8]:
    """(terms,) the slips between the word and each term; `limit + 1` stands for any number above.

    A term is `codes[begin : begin + length]`, code points none of which is 0. Only the band of the
    table of distances counts that is `limit` wide on both sides of the diagonal: its lines are the
    word's characters, its columns those of all terms at once. `check` is called before each line,
    and raises when the time is up.
    """
    if not len(begins):
        return np.empty(0, np.int8)
    far = np.int8(limit + 1)
    width = len(word) + limit
    columns = np.zeros((width + 1, len(begins)), codes.dtype)
    """(width + 1, terms): the terms' characters by position from 1 on, 0 after the end."""
    for at in range(min(width, int(lengths.max(initial=0)))):
        here = np.flatnonzero(lengths > at)
        columns[at + 1][here] = codes.take(begins.take(here) + at)
    beyond = np.full(len(begins), far, np.int8)
    line: dict[int, NDArray[np.int8]] = {
        j: np.full(len(begins), j, np.int8) for j in range(limit + 1)
    }
    before: dict[int, NDArray[np.int8]] = {}
    for i, character in enumerate(map(ord, word), 1):
        check()
        two_before, before, line = before, line, {}
        if i <= limit:
            line[0] = np.full(len(begins), i, np.int8)
        for j in range(max(1, i - limit), i + limit + 1):
            cost = before.get(j - 1, beyond) + (columns[j] != character)
            np.minimum(cost, before.get(j, beyond) + 1, out=cost)
            np.minimum(cost, line.get(j - 1, beyond) + 1, out=cost)
            if i > 1 and j > 1 and j - 2 in two_before:
                swapped = (columns[j - 1] == character) & (columns[j] == ord(word[i - 2]))
                swap = np.where(swapped, two_before[j - 2] + 1, far)
                np.minimum(cost, swap, out=cost)
            line[j] = np.minimum(cost, far)
    result = beyond.copy()
    for j, cost in line.items():
        ended = lengths == j
        result[ended] = cost[ended]
    return result
