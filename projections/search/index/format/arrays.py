"""The flat arrays of a segment: named numpy arrays in one file, read by mapping it.

An inverted index is a handful of arrays: the sorted terms as one string of bytes with offsets,
where each term's postings start, and the postings themselves. Nothing is decoded and nothing
copied, so that opening costs nothing and processes share the pages.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, BinaryIO, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

MAGIC = b"catalog1"
_ALIGNMENT = 64
_LISTED, _LISTED_BYTES = 1_024, 64
"""Terms whose beginnings are kept as a list of an index of more terms than these, and the most
bytes of each. Finding a term looks there first, as what is spread over a large array is slow to
come by."""

Arrays = Mapping[str, NDArray[Any]]
N = TypeVar("N", bound=np.integer[Any])


class _Place(msgspec.Struct, array_like=True):
    name: str
    dtype: str
    offset: int
    """Offset of the array in the file, in bytes; a multiple of the alignment."""
    size: int
    """Number of elements."""


class Inverted(msgspec.Struct, kw_only=True, eq=False):
    """The inverted index of one field of a segment.

    Terms are numbered in the order of their bytes, documents in the order of their names; the
    postings of a term are its documents, ascending.
    """

    lexicon: NDArray[np.uint8]
    """The terms' bytes, one after another."""
    offsets: NDArray[np.int64]
    """(terms + 1,): where each term begins in the lexicon."""
    starts: NDArray[np.int64]
    """(terms + 1,): where each term's postings begin."""
    ids: NDArray[np.int32]
    """(postings,): document numbers."""
    impacts: NDArray[np.uint8] | None = None
    """(postings,): how much the term says of the document, 255 at most; None where all do."""
    position_starts: NDArray[np.int64] | None = None
    """(postings + 1,): where each posting's positions begin; None where none are kept."""
    positions: NDArray[np.int32] | None = None
    """(positions,): ascending in each posting."""
    size: int = 0
    """Number of terms."""
    _memory: Any = None
    _places: Any = None
    _listed: list[bytes] | None = None

    def __post_init__(self) -> None:
        self.size = len(self.offsets) - 1
        self._memory, self._places = self.lexicon.data, self.offsets.data

    def __repr__(self) -> str:
        """Return the size alone: what is remembered counts its keys by their length."""
        return f"Inverted({self.size} terms)"

    @classmethod
    def of(cls, arrays: Arrays, field: str) -> "Inverted":
        """The field's part of a segment's arrays, named `<field>.<attribute>`."""
        names = ("lexicon", "offsets", "starts", "ids", "impacts", "position_starts", "positions")
        known: dict[str, Any] = {name: arrays.get(f"{field}.{name}") for name in names}
        return cls(**known)

    def arrays(self, field: str) -> dict[str, NDArray[Any]]:
        """The arrays as `of` reads them."""
        return {
            f"{field}.{name}": array
            for name in self.__struct_fields__
            if isinstance(array := getattr(self, name), np.ndarray)
        }

    def term(self, number: int) -> bytes:
        """The bytes of a term."""
        return bytes(self._memory[self._places[number] : self._places[number + 1]])

    def first(self, term: bytes) -> int:
        """The number of the first term that is not before `term`; `size` when all are."""
        low, high = 0, self.size
        if high > _LISTED:
            every = high // _LISTED
            if self._listed is None:
                beginnings = map(self.term, range(0, high, every))
                self._listed = [each[:_LISTED_BYTES] for each in beginnings]
            cut = term[:_LISTED_BYTES]
            low = max(0, (bisect_left(self._listed, cut) - 1) * every + 1)
            high = min(high, bisect_right(self._listed, cut) * every)
        return self._between(term, low, high)

    def _between(self, term: bytes, low: int, high: int) -> int:
        """`first` where it is known to be from `low` up to `high`."""
        memory, offsets = self._memory, self._places
        while low < high:
            middle = (low + high) // 2
            if memory[offsets[middle] : offsets[middle + 1]].tobytes() < term:
                low = middle + 1
            else:
                high = middle
        return low

    def find(self, term: bytes) -> int:
        """The number of a term, -1 when no document has it."""
        number = self.first(term)
        return number if number < self.size and self.term(number) == term else -1

    def span(self, prefix: bytes) -> tuple[int, int]:
        """The range of the terms that begin with `prefix`."""
        low = self.first(prefix)
        after = prefix.rstrip(b"\xff")
        if not after:
            return low, self.size
        after = after[:-1] + bytes((after[-1] + 1,))
        # Most beginnings are those of few terms, whose bytes are near each other.
        begin, step = low, 1
        while begin + step < self.size and self.term(begin + step) < after:
            begin, step = begin + step, step * 4
        return low, self._between(after, begin, min(begin + step, self.size))

    def postings(self, number: int) -> slice:
        """Return the place of the postings of a term in `ids` and `impacts`."""
        return slice(int(self.starts[number]), int(self.starts[number + 1]))


def lexicon(terms: Sequence[bytes]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Texts as one string of bytes, and where each begins in it."""
    return np.frombuffer(b"".join(terms), np.uint8), starts(np.fromiter(map(len, terms), np.int64))


def text_arrays(name: str, texts: Sequence[bytes]) -> dict[str, NDArray[Any]]:
    """The arrays of texts, as `read_texts` reads them."""
    data, offsets = lexicon(texts)
    return {f"{name}.lexicon": data, f"{name}.offsets": offsets}


def read_texts(arrays: Arrays, name: str) -> list[bytes]:
    """The texts named so, in their order."""
    data = arrays[f"{name}.lexicon"].tobytes()
    return [data[low:high] for low, high in pairwise(arrays[f"{name}.offsets"].tolist())]


def starts(sizes: NDArray[Any]) -> NDArray[np.int64]:
    """Return the beginning of each of successive ranges of these sizes, and the last end."""
    places = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=places[1:])
    return places


def ranges(begins: NDArray[Any], sizes: NDArray[Any]) -> NDArray[np.int64]:
    """All numbers in the ranges with these beginnings and sizes, one range after another."""
    places = starts(sizes)
    members = np.arange(places[-1])
    members += np.repeat(begins - places[:-1], sizes)
    return members


def distinct(values: NDArray[N]) -> NDArray[N]:
    """The values ascending, each once."""
    ordered = np.sort(values)
    first = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered.compress(first)


def within(sizes: NDArray[Any], counts: NDArray[Any]) -> NDArray[np.int64]:
    """Return the beginning of each value within its group; `counts` has the sizes of groups."""
    places = starts(sizes)
    return places[:-1] - np.repeat(places[starts(counts)[:-1]], counts)


def sums(values: NDArray[Any], counts: NDArray[Any]) -> NDArray[np.int64]:
    """The sum of each of successive groups of `counts` values."""
    totals, places = starts(values), starts(counts)
    return totals[places[1:]] - totals[places[:-1]]


class ArrayFile:
    """Writes a file of arrays, each in as many pieces as it takes; `finish` makes it whole."""

    def __init__(self, stream: BinaryIO) -> None:
        """`stream` is empty, and stays the caller's."""
        self._stream = stream
        self._places: list[_Place] = []
        self._end = _ALIGNMENT
        self._at = 0
        self.write(0, MAGIC)

    def reserve(self, name: str, dtype: Any, size: int) -> "Slot":
        """Room for an array of exactly this size, all of which must be written."""
        place = _Place(name, np.dtype(dtype).str, self._end, size)
        self._places.append(place)
        self._end += -(-np.dtype(dtype).itemsize * size // _ALIGNMENT) * _ALIGNMENT
        return Slot(self, place)

    def put(self, name: str, array: NDArray[Any]) -> None:
        """Add a whole array."""
        self.reserve(name, array.dtype, array.size).write(array)

    def put_all(self, arrays: Arrays) -> None:
        """Add whole arrays."""
        for name, array in arrays.items():
            self.put(name, array)

    def finish(self) -> None:
        """Write down what is where."""
        header = msgspec.json.encode(self._places)
        self.write(self._end, header + len(header).to_bytes(8, "little") + MAGIC)

    def write(self, offset: int, data: bytes | memoryview) -> None:
        """Put bytes at an offset; going on where the last ones ended is cheap."""
        gap = offset - self._at
        if 0 < gap < _ALIGNMENT:
            self._stream.write(bytes(gap))
        elif gap:
            self._stream.seek(offset)
        self._stream.write(data)
        self._at = offset + len(data)


class Slot:
    """Room for an array in a file."""

    def __init__(self, file: ArrayFile, place: _Place) -> None:
        self._file = file
        self._place = place
        self._written = 0

    def write(self, piece: NDArray[Any]) -> None:
        """Add the next elements."""
        data = np.ascontiguousarray(piece, self._place.dtype)
        self._written += data.size
        if self._written > self._place.size:
            raise ValueError(f"{self._place.name} has more than {self._place.size} elements")
        if data.size:
            begin = self._written - data.size
            offset = self._place.offset + begin * data.itemsize
            self._file.write(offset, data.reshape(-1).view(np.uint8).data)


def unpack(buffer: Any) -> dict[str, NDArray[Any]]:
    """Views of the arrays in a file's bytes; ValueError when they are not such a file's."""
    view = memoryview(buffer)
    size = len(MAGIC)
    if view[:size] != MAGIC or view[-size:] != MAGIC:
        raise ValueError("not a file of arrays")
    end = len(view) - size - 8
    header = bytes(view[end - int.from_bytes(view[end : end + 8], "little") : end])
    return {
        place.name: np.frombuffer(view, np.dtype(place.dtype), place.size, place.offset)
        for place in msgspec.json.decode(header, type=list[_Place])
    }
