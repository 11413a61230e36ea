"""Terms of a lexicon by pattern: joined to one text, which RE2 goes through in one call or few."""

from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from projections.search.index.evaluate.segments import Memory
from projections.search.index.format.arrays import Inverted, ranges
from projections.search.language.patterns import TERM_END


class _Joined(msgspec.Struct, frozen=True):
    """Successive terms without their common prefix, each with TERM_END after it."""

    text: bytes
    begins: NDArray[np.int64]
    """(terms + 1,): where each term begins in the text."""

    @property
    def nbytes(self) -> int:
        return len(self.text) + self.begins.nbytes


def terms_matching(
    inverted: Inverted,
    skip: int,
    low: int,
    high: int,
    runs: Any,
    memory: Memory,
    check: Callable[[], None],
    *,
    part_bytes: int = 4 << 20,
    steps: int = 4_000_000,
) -> NDArray[np.int64]:
    """The numbers of the terms from `low` up to `high` that match from their byte `skip` on.

    `runs` is `TermPattern.runs()`. Joined terms are kept in `memory`; `check` raises when the time
    is up. So many bytes of a lexicon are joined to one text, and RE2 goes through so many `steps`,
    bytes times instructions, without a look at the clock: 50 ms at worst.
    """
    matches = [np.empty(0, np.int64)]
    offsets = inverted.offsets
    while low < high:
        check()
        upto = int(offsets.searchsorted(offsets[low] + part_bytes, "right")) - 1
        after = min(high, max(upto, low + 1))
        joined = memory.get(
            ("joined", inverted, skip, low, after),
            lambda low=low, after=after: _join(inverted, skip, low, after),  # type: ignore[misc]
            lambda joined: joined.nbytes,
        )
        matches.append(_matching(joined, runs, steps, check) + low)
        low = after
    return np.concatenate(matches)


def _join(inverted: Inverted, skip: int, low: int, high: int) -> _Joined:
    begin, end = int(inverted.offsets[low]), int(inverted.offsets[high])
    ends = inverted.offsets[low + 1 : high + 1] - begin
    count = high - low
    begins = np.zeros(count + 1, np.int64)
    begins[1:] = ends + np.arange(1, count + 1) * (1 - skip)
    data = inverted.lexicon[begin:end]
    if skip:
        kept = np.ones(len(data), np.bool_)
        firsts = np.concatenate(([0], ends[:-1]))
        for at in range(skip):
            kept[firsts + at] = False
        data = data.compress(kept)
    text = np.insert(data, begins[1:] - np.arange(1, count + 1), ord(TERM_END))
    return _Joined(text.tobytes(), begins)


def _matching(
    joined: _Joined, runs: Any, steps: int, check: Callable[[], None]
) -> NDArray[np.int64]:
    """Return those of the joined terms that match, counted from the first."""
    step = max(1, steps // runs.programsize)
    begins, ends = [], []
    at, size = 0, len(joined.text)
    while at < size:
        check()
        end = int(joined.begins[joined.begins.searchsorted(min(at + step, size))])
        for run in runs.finditer(joined.text, at, end):
            begin, after = run.span()
            begins.append(begin)
            ends.append(after)
        at = end
    first = joined.begins.searchsorted(begins)
    return ranges(first, joined.begins.searchsorted(ends) - first)
