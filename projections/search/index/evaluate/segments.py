"""The view of a search: the segments of one commit, immutable and shared by all threads."""

import math
import threading
from bisect import bisect_right
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from projections.search.index.format.arrays import Inverted, ranges, starts
from projections.search.matching.stored_document import StoredDocument
from projections.search.matching.terms import EXACT, TEXT, WHOLE, WORDS
from projections.search.matching.weights import HIGHEST, K1

Mask = NDArray[np.bool_]
DocIds = NDArray[np.int32]
"""Documents by their numbers in the segment, ascending."""
Check = Callable[[], None]
"""Raises when the time is up."""
T = TypeVar("T")
N = TypeVar("N", int, float)

MAX_REMEMBERED_BYTES = 64_000_000
"""Memory that each segment, and a snapshot, may use for remembered results, in bytes."""
REMEMBERED_PER_DOCUMENT, LEAST_REMEMBERED = 640, 1_000_000
"""Bytes for remembered results that a small segment or snapshot may use: so many for each of its
documents, and at least the second number in all."""
MAX_FIGURES = 10_000
"""Terms of which a segment, or a snapshot, remembers one figure, such as the number."""
MAX_FIGURE_TERM = 256
"""Bytes of a term that is remembered; longer ones are looked up whenever they are asked for."""
_MAX_ALLOWED = 64
_OVERHEAD = 200
"""Bytes of an entry beside its key and its arrays."""
_UNKNOWN = np.empty(0, np.bool_)

Term = tuple[str, bytes]
"""A field of the index and a term of it."""
_decode_stored = msgspec.msgpack.Decoder(StoredDocument).decode


class Figures(dict[Term, N]):
    """Figures of terms, as many as take some megabytes: few terms, and short ones only."""

    def remember(self, term: Term, figure: N) -> N:
        """Keep the figure unless the term is long; begin anew when there are too many."""
        if len(term[1]) <= MAX_FIGURE_TERM:
            if len(self) >= MAX_FIGURES:
                self.clear()
            self[term] = figure
        return figure


class Memory:
    """Remembered results, up to a number of bytes; those used last stay longest."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._held = 0
        self._lock = threading.Lock()
        self._entries: dict[Hashable, tuple[Any, int]] = {}

    def get(self, key: Hashable, make: Callable[[], T], size: Callable[[T], int]) -> T:
        """The result remembered under the key, or a new one.

        The memory counts the characters of the key, and the bytes that `size` tells of the result.
        """
        with self._lock:
            entry = self._entries.pop(key, None)
            if entry is not None:
                self._entries[key] = entry
                known: T = entry[0]
                return known
        made = make()
        bytes_ = size(made) + len(repr(key)) + _OVERHEAD
        with self._lock:
            replaced = self._entries.pop(key, None)
            self._held += bytes_ - (replaced[1] if replaced else 0)
            self._entries[key] = (made, bytes_)
            while self._held > self._limit and len(self._entries) > 1:
                self._held -= self._entries.pop(next(iter(self._entries)))[1]
        return made

    def array(self, key: Hashable, make: Callable[[], NDArray[Any]]) -> NDArray[Any]:
        """The array remembered under the key, or a new one; see `get`."""
        return self.get(key, make, _bytes)


def _memory_of(documents: int, most_bytes: int = MAX_REMEMBERED_BYTES) -> Memory:
    """A Memory for results over `documents` documents, of at most `most_bytes`."""
    return Memory(min(most_bytes, LEAST_REMEMBERED + REMEMBERED_PER_DOCUMENT * documents))


def _bytes(array: NDArray[Any]) -> int:
    return array.nbytes


class Steps(msgspec.Struct, frozen=True, kw_only=True):
    """Work and memory of a search between two looks at the clock."""

    documents: int = 48_000
    """Number of documents, times the different words of a phrase, that are compared."""
    places: int = 1 << 15
    """Number of places of a phrase that are compared with a word."""
    positions: int = 1 << 20
    """Positions of begun words that are held, or those of one document where it has more."""
    postings: int = 1 << 18
    """Postings of begun words that are gone through."""
    held_bytes: int = 32_000_000
    """Memory of the clauses of one node before they are joined, and of known nodes together."""


class SegmentView:
    """One segment; `dead` marks its documents that were replaced or removed later."""

    steps = Steps()

    def __init__(
        self, name: str, arrays: Mapping[str, NDArray[Any]], dead: Mask | None = None
    ) -> None:
        self.name = name
        self.arrays = arrays
        self.size = len(arrays["kind"])
        self.fields = {field: Inverted.of(arrays, field) for field in (WHOLE, EXACT, TEXT, WORDS)}
        self.memory = _memory_of(self.size)
        """Remembers results that do not depend on which documents are dead."""
        self._numbers: Figures[int] = Figures()
        self._bury(dead)

    def with_dead(self, dead: Mask | None) -> "SegmentView":
        """A view of the segment with other dead documents; both share remembered results."""
        view = object.__new__(SegmentView)
        view.__dict__.update(self.__dict__)
        view._bury(dead)
        return view

    def _bury(self, dead: Mask | None) -> None:
        self.dead = dead if dead is not None and dead.any() else None
        self.live: Mask | None = None if self.dead is None else ~self.dead
        self.count = self.size if self.live is None else int(np.count_nonzero(self.live))
        """Documents that are not dead."""
        self._allowed: dict[Hashable, Mask | None] = {}
        self._frequencies: Figures[int] = Figures()

    @cached_property
    def everyone(self) -> Mask:
        """A mask of all documents."""
        return np.ones(self.size, np.bool_)

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of the segment's documents."""
        lexicon, ends = self.arrays["kind.lexicon"].tobytes(), self.arrays["kind.offsets"].tolist()
        return tuple(lexicon[a:b].decode() for a, b in pairwise(ends))

    def number(self, field: str, term: bytes) -> int:
        """The number of a term in the field, -1 when no document has it."""
        number = self._numbers.get((field, term))
        if number is None:
            number = self._numbers.remember((field, term), self.fields[field].find(term))
        return number

    def frequency(self, field: str, term: bytes) -> int:
        """Return the number of living documents with the term."""
        number = self.number(field, term)
        if number < 0:
            return 0
        inverted = self.fields[field]
        if self.dead is None:
            return int(inverted.starts[number + 1] - inverted.starts[number])
        known = self._frequencies.get((field, term))
        if known is None:
            ids = inverted.ids[inverted.postings(number)]
            living = len(ids) - int(np.count_nonzero(self.dead.take(ids)))
            known = self._frequencies.remember((field, term), living)
        return known

    def frequencies(self, field: str, terms: NDArray[np.int64]) -> NDArray[np.int64]:
        """The numbers of living documents with each of some terms, given by their numbers."""
        inverted = self.fields[field]
        begins = inverted.starts.take(terms)
        sizes = inverted.starts.take(terms + 1) - begins
        if self.live is None or not len(terms):
            return sizes
        living = self.live.take(inverted.ids.take(ranges(begins, sizes)))
        return np.add.reduceat(living, starts(sizes)[:-1], dtype=np.int64)

    def allowed(self, kinds: frozenset[str] | None, include_deleted: bool) -> Mask | None:
        """The living documents of these kinds; None when that is all of the segment."""
        key = (kinds, include_deleted)
        known = self._allowed.get(key, _UNKNOWN)
        if known is not _UNKNOWN:
            return known
        mask = self._allow(kinds, include_deleted)
        if len(self._allowed) >= _MAX_ALLOWED:
            self._allowed = {}
        self._allowed[key] = mask
        return mask

    def _allow(self, kinds: frozenset[str] | None, include_deleted: bool) -> Mask | None:
        masks = [] if self.live is None else [self.live]
        if not include_deleted and self.arrays["deleted"].any():
            masks.append(~self.arrays["deleted"])
        if kinds is not None and not kinds.issuperset(self.kinds):
            codes = [code for code, kind in enumerate(self.kinds) if kind in kinds]
            masks.append(np.isin(self.arrays["kind"], np.array(codes, np.uint8)))
        return np.logical_and.reduce(masks) if masks else None

    @cached_property
    def _stored_places(self) -> tuple[memoryview, memoryview]:
        return self.arrays["row.lexicon"].data, self.arrays["row.offsets"].data

    def stored(self, doc_id: int) -> StoredDocument:
        """Return the stored part of a document."""
        data, offsets = self._stored_places
        return _decode_stored(data[offsets[doc_id] : offsets[doc_id + 1]])

    def key(self, doc_id: int) -> tuple[str, str]:
        """Name and id of a document, the order in which documents are numbered."""
        stored = self.stored(doc_id)
        return str(stored.sort[0] or ""), stored.id

    def place(self, name: str, entity_id: str) -> int:
        """Return the number of documents before or at this name and id."""
        return bisect_right(range(self.size), (name, entity_id), key=self.key)


class Snapshot:
    """The segments of one commit, with figures over all of them."""

    def __init__(
        self, views: Sequence[SegmentView], *, most_bytes: int = MAX_REMEMBERED_BYTES
    ) -> None:
        """Remembered results take at most `most_bytes`."""
        self.views = tuple(views)
        self.documents = sum(view.count for view in self.views)
        """Living documents, soft-deleted ones included."""
        self.memory = _memory_of(sum(view.size for view in self.views), most_bytes)
        """Memory of the values that depend on all segments."""
        self._weights: Figures[float] = Figures()

    def weight(self, field: str, frequency: int) -> float:
        """The score of a term with this frequency: of an impact of 1, or where there is none."""
        rarity = math.log(1 + (self.documents - frequency + 0.5) / (frequency + 0.5))
        return rarity if field in (EXACT, WHOLE) else rarity * (K1 + 1) / HIGHEST

    def term_weight(self, field: str, term: bytes) -> float:
        """The score of a term, as `weight` gives it for the term's frequency."""
        known = self._weights.get((field, term))
        if known is None:
            weight = self.weight(field, self.frequency(field, term))
            known = self._weights.remember((field, term), weight)
        return known

    def frequency(self, field: str, term: bytes) -> int:
        """Return the number of living documents with the term."""
        return sum(view.frequency(field, term) for view in self.views)
