"""Postings of a new segment: gathered by term, written term by term.

Whoosh's own pool holds a tuple per posting, sorts them all and hands them on one by one; here
they are grouped from the start, so that only the terms are sorted. Documents come in ascending
order, merged segments after the new documents.
"""

import os
import pickle
import struct
from collections import defaultdict
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

from whoosh.codec.whoosh3 import (
    WHOOSH3_HEADER_MAGIC,
    W3Codec,
    W3FieldWriter,
    W3Segment,
    W3TermInfo,
)
from whoosh.system import pack_ushort

BLOCK = 128
_BLOCK_HEAD = struct.Struct("!i")
_PLACE = struct.Struct("!qi")
_FIELDS = 3


class Inverter:
    """Stands in for Whoosh's posting pool; `_Writer` of the codec below reads it."""

    def __init__(self) -> None:
        self.fields: dict[str, defaultdict[bytes, list[Any]]] = {}
        """Field -> term -> document number, weight and value of each posting, one after another.

        One flat list per term: most terms have one posting, and fewer objects cost less.
        """

    def field(self, name: str) -> defaultdict[bytes, list[Any]]:
        return self.fields.setdefault(name, defaultdict(list))

    def add(self, name: str, number: int, postings: Iterable[tuple[bytes, float, bytes]]) -> None:
        """Add the terms of a document's field, with weight and value."""
        field = self.field(name)
        for term, weight, value in postings:
            field[term] += (number, weight, value)

    def absorb(self, reader: Any, start: int, renumbered: dict[int, int] | None) -> None:
        """Add the postings of a segment whose documents follow from `start` on.

        With `renumbered`, documents that are not in it are left out.
        """
        terms = reader._terms
        for name, term in terms.terms():
            matcher = terms.matcher(name, term, reader.schema[name].format)
            found = self.field(name)[term]
            while matcher.is_active():
                matcher._read_ids()
                matcher._read_weights()
                matcher._read_values()
                block = zip(matcher._ids, matcher._weights, matcher._values, strict=True)
                for number, weight, value in block:
                    if renumbered is None:
                        found += (start + number, weight, value or b"")
                    elif number in renumbered:
                        found += (renumbered[number], weight, value or b"")
                matcher._next_block()

    def iter_postings(self) -> "Inverter":
        return self

    def cleanup(self) -> None:
        self.fields.clear()


class _Writer(W3FieldWriter):  # type: ignore[misc]
    """Writes whole posting lists in Whoosh's format, without its objects for each block."""

    def add_postings(self, schema: Any, lengths: object, items: Inverter) -> None:
        place = self._postfile.tell()
        for name in sorted(items.fields):
            self.start_field(name, schema[name])
            valued = schema[name].format.fixed_value_size() is None
            field_key = pack_ushort(self._fieldid)
            postings = items.fields[name]
            for term in sorted(postings):
                found = postings[term]
                if not found:
                    continue
                ids, weights = found[0::_FIELDS], found[1::_FIELDS]
                written = _encoded(ids, weights, found[2::_FIELDS] if valued else None)
                self._postfile.write(written)
                info = W3TermInfo._struct.pack(
                    False, sum(weights), len(ids), 0, 0, max(weights), ids[0], ids[-1]
                )
                self._tindex.add(field_key + term, info + _PLACE.pack(place, len(written)))
                place += len(written)
            self.finish_field()


def _encoded(ids: list[int], weights: list[float], values: list[bytes] | None) -> bytes:
    """A posting list as W3LeafMatcher reads it: blocks of differences, weights and values."""
    parts = [WHOOSH3_HEADER_MAGIC]
    for start in range(0, len(ids), BLOCK):
        numbers = ids[start : start + BLOCK]
        gaps = (numbers[0], *(b - a for a, b in pairwise(numbers)))
        some = weights[start : start + BLOCK]
        same = some.count(some[0]) == len(some)
        kept = (None if some[0] == 1.0 else float(some[0])) if same else tuple(some)
        block = None if values is None else tuple(values[start : start + BLOCK])
        data = pickle.dumps((gaps, kept, block), 2)
        info = pickle.dumps((len(numbers), numbers[-1], max(some), 0, 0, 0), 2)
        size = len(info) + len(data)
        last = start + BLOCK >= len(ids)
        parts += (_BLOCK_HEAD.pack(-size if last else size), info, data)
    return b"".join(parts)


class Segment(W3Segment):  # type: ignore[misc]
    """Named by the system's random numbers: Whoosh takes the seedable ones and may repeat."""

    @classmethod
    def _random_id(cls, size: int = 16) -> str:
        return os.urandom(size // 2).hex()


class Codec(W3Codec):  # type: ignore[misc]
    """Whoosh's own format, uncompressed: faster to write and to read."""

    length_stats = False

    def __init__(self) -> None:
        super().__init__(blocklimit=BLOCK, compression=0)

    def field_writer(self, storage: Any, segment: Segment) -> _Writer:
        return _Writer(self, storage, segment)

    def new_segment(self, storage: Any, indexname: str) -> Segment:
        return Segment(self, indexname)
