"""Whoosh's codec over the arrays of a segment: an ordinary Whoosh searcher finds the same.

Segments are made by `Inverter` and merged by `merging`, never by Whoosh's own writer, which hands
every posting on as an object; so this codec reads and does not write.
"""

import os
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from whoosh.codec import base
from whoosh.matching import ListMatcher
from whoosh.reading import TermInfo, TermNotFound

from projections.search.index.format.arrays import Inverted
from projections.search.index.format.doc_ids import stored_document
from projections.search.index.format.schema import FIELDS
from projections.search.index.format.storage import map_arrays

EXTENSION = ".arrays"

Dead = NDArray[np.bool_]


class Segment(base.Segment):  # type: ignore[misc]
    """What the table of contents keeps of a segment: its name, its size and its dead documents.

    The dead are those that were replaced or removed after the segment was made.
    """

    def __init__(self, indexname: str, size: int) -> None:
        super().__init__(indexname)
        self.size = size
        self._dead: bytes | None = None
        """A bit per document, None when all live."""
        self._dead_count = 0

    @classmethod
    def _random_id(cls, size: int = 16) -> str:
        """By the system's random numbers: Whoosh takes the seedable ones, and may repeat."""
        return os.urandom(size // 2).hex()

    @property
    def file(self) -> str:
        """Name of the file of its arrays."""
        return str(self.make_filename(EXTENSION))

    @property
    def dead(self) -> Dead | None:
        """For each document whether it is dead; None when all live."""
        if self._dead is None:
            return None
        return np.unpackbits(np.frombuffer(self._dead, np.uint8), count=self.size).view(np.bool_)

    def with_dead(self, numbers: NDArray[Any]) -> "Segment":
        """The same segment with these documents dead as well."""
        dead = self.dead
        dead = np.zeros(self.size, np.bool_) if dead is None else dead
        dead[numbers] = True
        other = Segment(self.indexname, self.size)
        other.segid = self.segid
        other._keep(dead)
        return other

    def same_dead(self, other: "Segment") -> bool:
        """Whether the same documents are dead in both."""
        return self._dead == other._dead

    def _keep(self, dead: Dead) -> None:
        self._dead_count = int(dead.sum())
        self._dead = np.packbits(dead).tobytes() if self._dead_count else None

    def codec(self) -> "Codec":
        return Codec()

    def doc_count_all(self) -> int:
        return self.size

    def deleted_count(self) -> int:
        return self._dead_count

    def deleted_docs(self) -> frozenset[int]:
        dead = self.dead
        return frozenset() if dead is None else frozenset(np.flatnonzero(dead).tolist())

    def is_deleted(self, docnum: int) -> bool:
        return self._dead is not None and bool(self._dead[docnum >> 3] & (0x80 >> (docnum & 7)))

    def delete_document(self, docnum: int, delete: bool = True) -> None:
        dead = self.dead
        dead = np.zeros(self.size, np.bool_) if dead is None else dead
        dead[docnum] = delete
        self._keep(dead)


class Codec(base.Codec):  # type: ignore[misc]
    """Reads segments for Whoosh."""

    length_stats = False

    def terms_reader(self, storage: Any, segment: Segment) -> "TermsReader":
        return TermsReader(map_arrays(storage, segment.file))

    def per_document_reader(self, storage: Any, segment: Segment) -> "PerDocumentReader":
        return PerDocumentReader(map_arrays(storage, segment.file), segment)


class TermsReader(base.TermsReader):  # type: ignore[misc]
    """Terms and their postings."""

    def __init__(self, arrays: dict[str, NDArray[Any]]) -> None:
        self._fields = {name: Inverted.of(arrays, name) for name in FIELDS}

    def _find(self, field: str, term: bytes) -> tuple[Inverted, int]:
        """Raises KeyError."""
        inverted = self._fields.get(field)
        number = -1 if inverted is None else inverted.find(term)
        if inverted is None or number < 0:
            raise KeyError((field, term))
        return inverted, number

    def __contains__(self, term: tuple[str, bytes]) -> bool:
        field, text = term
        return field in self._fields and self._fields[field].find(text) >= 0

    def cursor(self, fieldname: str, fieldobj: Any) -> "Cursor":
        return Cursor(self._fields[fieldname], fieldobj)

    def terms(self) -> Iterator[tuple[str, bytes]]:
        for field in sorted(self._fields):
            yield from self.terms_from(field, b"")

    def terms_from(self, fieldname: str, prefix: bytes) -> Iterator[tuple[str, bytes]]:
        """The field's terms that are not before `prefix`."""
        inverted = self._fields[fieldname]
        for number in range(inverted.first(prefix), inverted.size):
            yield fieldname, inverted.term(number)

    def items(self) -> Iterator[tuple[tuple[str, bytes], TermInfo]]:
        for field, term in self.terms():
            yield (field, term), self.term_info(field, term)

    def items_from(
        self, fieldname: str, prefix: bytes
    ) -> Iterator[tuple[tuple[str, bytes], TermInfo]]:
        for field, term in self.terms_from(fieldname, prefix):
            yield (field, term), self.term_info(field, term)

    def term_info(self, fieldname: str, text: bytes) -> TermInfo:
        inverted, number = self._find(fieldname, text)
        place = inverted.postings(number)
        ids, weights = inverted.ids[place], _weights(inverted, place)
        return TermInfo(
            weight=sum(weights),
            df=len(ids),
            minlength=1,
            maxlength=1,
            maxweight=max(weights),
            minid=int(ids[0]),
            maxid=int(ids[-1]),
        )

    def frequency(self, fieldname: str, text: bytes) -> float:
        return float(self.term_info(fieldname, text).weight())

    def doc_frequency(self, fieldname: str, text: bytes) -> int:
        inverted, number = self._find(fieldname, text)
        place = inverted.postings(number)
        return int(place.stop - place.start)

    def matcher(self, fieldname: str, text: bytes, format_: Any, scorer: Any = None) -> ListMatcher:
        try:
            inverted, number = self._find(fieldname, text)
        except KeyError as error:
            raise TermNotFound(f"no term {text!r} in {fieldname}") from error
        place = inverted.postings(number)
        values = None
        if inverted.position_starts is not None and inverted.positions is not None:
            places = inverted.position_starts[place.start : place.stop + 1].tolist()
            positions = inverted.positions
            values = [positions[low:high].tobytes() for low, high in pairwise(places)]
        return ListMatcher(
            inverted.ids[place].tolist(),
            weights=_weights(inverted, place),
            values=values,
            format=format_,
            scorer=scorer,
            term=(fieldname, text),
            terminfo=self.term_info(fieldname, text),
        )

    def indexed_field_names(self) -> list[str]:
        return list(self._fields)


def _weights(inverted: Inverted, place: slice) -> list[float]:
    if inverted.impacts is None:
        return [1.0] * (place.stop - place.start)
    weights: list[float] = inverted.impacts[place].astype(float).tolist()
    return weights


class Cursor(base.FieldCursor):  # type: ignore[misc]
    """Walks the terms of a field."""

    def __init__(self, inverted: Inverted, fieldobj: Any) -> None:
        self._inverted = inverted
        self._field = fieldobj
        self._at = 0

    def first(self) -> str | None:
        self._at = 0
        return self.text()

    def find(self, string: str | bytes) -> str | None:
        self._at = self._inverted.first(self._field.to_bytes(string))
        return self.text()

    def next(self) -> str | None:
        self._at += 1
        return self.text()

    def text(self) -> str | None:
        """The term that it stands on, None after the last."""
        if not self.is_valid():
            return None
        return str(self._field.from_bytes(self._inverted.term(self._at)))

    def is_valid(self) -> bool:
        return self._at < self._inverted.size


class PerDocumentReader(base.PerDocumentReader):  # type: ignore[misc]
    """What is kept of each document beside its terms."""

    def __init__(self, arrays: dict[str, NDArray[Any]], segment: Segment) -> None:
        self._arrays = arrays
        self._segment = segment

    def doc_count(self) -> int:
        return int(self._segment.doc_count())

    def doc_count_all(self) -> int:
        return self._segment.doc_count_all()

    def has_deletions(self) -> bool:
        return bool(self._segment.has_deletions())

    def is_deleted(self, docnum: int) -> bool:
        return self._segment.is_deleted(docnum)

    def deleted_docs(self) -> frozenset[int]:
        return self._segment.deleted_docs()

    def supports_columns(self) -> bool:
        return False

    def has_column(self, fieldname: str) -> bool:
        return False

    def doc_field_length(self, docnum: int, fieldname: str, default: int = 0) -> int:
        """Always 1: impacts are made for the length already."""
        return 1

    def field_length(self, fieldname: str) -> int:
        return self._segment.doc_count_all()

    def min_field_length(self, fieldname: str) -> int:
        return 1

    def max_field_length(self, fieldname: str) -> int:
        return 1

    def stored_fields(self, docnum: int) -> dict[str, str]:
        stored = stored_document(self._arrays, docnum)
        return {"id": stored.id, "kind": stored.kind}
