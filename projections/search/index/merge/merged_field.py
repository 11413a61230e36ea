"""Inverted indexes of several segments to one.

Postings are taken in blocks of terms and written as they come, so that memory does not grow with
the segments.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from projections.search.index.evaluate.segments import SegmentView
from projections.search.index.format.arrays import (
    ArrayFile,
    distinct,
    ranges,
    read_texts,
    text_arrays,
)
from projections.search.index.format.arrays import starts as starts_of
from projections.search.index.format.sorted_texts import Int64Array, united
from projections.search.matching.terms import WHOLE, WHOLE_SIZE

_DOCUMENT_BITS = 32


def _mapped_digests(lexicons: Sequence[NDArray[Any]]) -> tuple[list[Int64Array], NDArray[Any]]:
    """The result of `united`, for lexicons whose texts all have 8 bytes, given as arrays of bytes.

    The union is uint64, (different texts,): the texts read as big-endian numbers.
    """
    digests = [texts.view(">u8").astype(np.uint64) for texts in lexicons]
    union = distinct(np.concatenate(digests))
    return [np.searchsorted(union, texts) for texts in digests], union


class MergedField:
    """The merge of one inverted index."""

    def __init__(
        self,
        name: str,
        segments: Sequence[SegmentView],
        new_ids: Sequence[Int64Array],
        check: Callable[[], None],
        block: int,
    ) -> None:
        """`new_ids` has for each segment the number of each of its documents in the merged one, -1
        for the dead; `check` is called for each `block` of positions, or postings: as many are
        held at a time.
        """
        self._name = name
        self._parts = [view.fields[name] for view in segments]
        self._new_ids = new_ids
        self._check = check
        self._size = block
        self._union: Any
        if name == WHOLE:
            self._terms, self._union = _mapped_digests([part.lexicon for part in self._parts])
        else:
            self._terms, self._union = united([read_texts(view.arrays, name) for view in segments])

    def write(self, file: ArrayFile) -> None:
        """Write the arrays of the field."""
        name, first = self._name, self._parts[0]
        postings, positions = self._sizes()
        ids = file.reserve(f"{name}.ids", np.int32, postings)
        impacts = places = begins = None
        if first.impacts is not None:
            impacts = file.reserve(f"{name}.impacts", np.uint8, postings)
        if first.positions is not None:
            places = file.reserve(f"{name}.positions", np.int32, positions)
            begins = file.reserve(f"{name}.position_starts", np.int64, postings + 1)
            begins.write(np.zeros(1, np.int64))
        counts = np.zeros(len(self._union), np.int64)
        written = 0
        for low, high in self._blocks():
            self._check()
            block = self._block(low, high)
            counts[low:high] = np.bincount(block.terms - low, minlength=high - low)
            ids.write(block.ids)
            if impacts is not None:
                impacts.write(block.impacts)
            if places is not None and begins is not None:
                places.write(block.positions[ranges(block.begins, block.sizes)])
                begins.write(np.cumsum(block.sizes) + written)
                written += int(block.sizes.sum())
        used = np.flatnonzero(counts)
        file.put(f"{name}.starts", starts_of(counts[used]))
        if name == WHOLE:
            file.put(f"{name}.lexicon", self._union[used].astype(">u8").view(np.uint8))
            file.put(f"{name}.offsets", np.arange(len(used) + 1, dtype=np.int64) * WHOLE_SIZE)
        else:
            file.put_all(text_arrays(name, [self._union[place] for place in used.tolist()]))

    def _blocks(self) -> Iterator[tuple[int, int]]:
        """Ranges of the terms of the union, of about a block each."""
        sizes = np.zeros(len(self._union), np.int64)
        for part, terms in zip(self._parts, self._terms, strict=True):
            starts = part.starts
            if part.position_starts is not None:
                starts = part.position_starts[starts]
            sizes[terms] += np.diff(starts)
        ends = np.cumsum(sizes)
        low, done = 0, 0
        while low < len(ends):
            high = max(low + 1, int(np.searchsorted(ends, done + self._size, "right")))
            yield low, high
            low, done = high, int(ends[high - 1])

    def _sizes(self) -> tuple[int, int]:
        """Return the numbers of postings and positions of live documents."""
        postings = positions = 0
        for part, new in zip(self._parts, self._new_ids, strict=True):
            for begin in range(0, len(part.ids), self._size):
                end = min(begin + self._size, len(part.ids))
                live = new[part.ids[begin:end]] >= 0
                postings += int(live.sum())
                if part.position_starts is not None:
                    positions += int(np.diff(part.position_starts[begin : end + 1])[live].sum())
        return postings, positions

    def _block(self, low: int, high: int) -> "_Block":
        """The postings of a range of terms of the union, in their new order.

        They are sorted by one key of 64 bits, which puts the term first and the document second:
        the term's place in the range in the upper half, the document's new number in the lower.
        """
        terms, ids, impacts, begins, sizes = [], [], [], [], []
        pieces: list[NDArray[Any]] = []
        base = 0
        for part, mapped, new in zip(self._parts, self._terms, self._new_ids, strict=True):
            first, last = np.searchsorted(mapped, (low, high)).tolist()
            begin, end = int(part.starts[first]), int(part.starts[last])
            doc_id = new[part.ids[begin:end]]
            live = doc_id >= 0
            ids.append(doc_id[live])
            terms.append(
                np.repeat(mapped[first:last], np.diff(part.starts[first : last + 1]))[live]
            )
            if part.impacts is not None:
                impacts.append(part.impacts[begin:end][live])
            if part.position_starts is not None and part.positions is not None:
                places = part.position_starts[begin : end + 1]
                begins.append((places[:-1] - places[0] + base)[live])
                sizes.append(np.diff(places)[live])
                pieces.append(part.positions[int(places[0]) : int(places[-1])])
                base += len(pieces[-1])
        term, doc_ids = np.concatenate(terms), np.concatenate(ids)
        order = np.argsort((term - low) << _DOCUMENT_BITS | doc_ids)
        none = np.zeros(0, np.int64)
        return _Block(
            term[order],
            doc_ids[order],
            np.concatenate(impacts)[order] if impacts else none,
            np.concatenate(begins)[order] if begins else none,
            np.concatenate(sizes)[order] if sizes else none,
            np.concatenate(pieces) if pieces else none,
        )


class _Block(msgspec.Struct, frozen=True):
    """Postings side by side, each an element of the first five arrays, and their positions."""

    terms: Int64Array
    ids: Int64Array
    impacts: NDArray[Any]
    begins: Int64Array
    sizes: Int64Array
    positions: NDArray[Any]
