"""Many texts brought into order in blocks.

A call that sorts or counts all texts of an index would keep every other thread of the process
waiting until it is done; between blocks others have their turn.
"""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import count

import numpy as np
from numpy.typing import NDArray

TEXTS = 16_384
"""Texts that are sorted in one call, during which no other thread of the process goes on."""

Int64Array = NDArray[np.int64]


def united(
    lexicons: Sequence[list[bytes]], size: int = TEXTS
) -> tuple[list[Int64Array], list[bytes]]:
    """For each lexicon, (its texts,): the place of each text in the union of all; and the union.

    Each lexicon is sorted and without repetition, and so is the union. The work is done in blocks
    of about `size` texts, so that other threads have their turn between them.
    """
    union: list[bytes] = []
    mapped = [np.empty(len(texts), np.int64) for texts in lexicons]
    done = [0] * len(lexicons)
    each = max(1, size // max(1, len(lexicons)))
    while some := [at for at, texts in enumerate(lexicons) if done[at] < len(texts)]:
        ends = {at: min(done[at] + each, len(lexicons[at])) for at in some}
        last = min(lexicons[at][end - 1] for at, end in ends.items())
        block: list[bytes] = []
        for at in some:
            ends[at] = bisect_right(lexicons[at], last, done[at], ends[at])
            block += lexicons[at][done[at] : ends[at]]
        block = list(dict.fromkeys(sorted(block)))  # the sort makes use of the sorted runs
        places = dict(zip(block, count(len(union)), strict=False))
        union += block
        for at in some:
            texts = lexicons[at][done[at] : ends[at]]
            numbers = np.fromiter(map(places.__getitem__, texts), np.int64, len(texts))
            mapped[at][done[at] : ends[at]] = numbers
            done[at] = ends[at]
    return mapped, union


def sorted_places(names: list[bytes], size: int = TEXTS) -> list[int]:
    """The places of different names in the order of the names.

    They are sorted in pieces of `size`, which are then united.
    """
    pieces = [
        sorted(range(start, min(start + size, len(names))), key=names.__getitem__)
        for start in range(0, len(names), size)
    ]
    if len(pieces) < 2:
        return pieces[0] if pieces else []
    mapped, union = united([[names[place] for place in piece] for piece in pieces], size)
    order = np.empty(len(union), np.int64)
    for piece, places in zip(pieces, mapped, strict=True):
        order[places] = piece
    ordered: list[int] = order.tolist()
    return ordered
