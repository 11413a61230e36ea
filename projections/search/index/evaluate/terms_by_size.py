"""Terms of a lexicon by their sizes: those near a word are among few."""

from collections.abc import Callable

import msgspec
import numpy as np
from numpy.typing import NDArray

from projections.search.index.format.arrays import Inverted, starts

_ASCII = 128
_BYTES_PER_CHECK = 1 << 20
"""Bytes of a lexicon that are gone through without a look at the clock."""
_LONGEST = (1 << 16) - 1
"""Size that stands for all larger ones: as large as numbers are that are sorted by counting."""


class TermsBySize(msgspec.Struct, frozen=True):
    """The numbers of the terms of a lexicon, by size in bytes; apart those that are not in ASCII.

    Among these are empty terms, to which both have no size.
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
        """Those of the terms from `low` up to `high` that are not in ASCII."""
        return self._of_size(0, low, high).astype(np.int64)

    def plain(self, low: int, high: int, size: int, sizes: int) -> NDArray[np.int64]:
        """Those in ASCII that have `size` bytes, or up to so many sizes from there on."""
        every = range(max(1, size), min(size + sizes, len(self.begins) - 1))
        parts = [self._of_size(each, low, high) for each in every]
        return np.concatenate((np.empty(0, np.int64), *parts))

    def _of_size(self, size: int, low: int, high: int) -> NDArray[np.int32]:
        terms = self.numbers[self.begins[size] : self.begins[size + 1]]
        begin, end = terms.searchsorted(np.array((low, high), np.int32))
        return terms[begin:end]
