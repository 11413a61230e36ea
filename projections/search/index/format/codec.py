"""Whoosh's codec over the arrays of a segment: an ordinary Whoosh searcher finds the same.

Segments are made by `Inverter` and merged by `merging`, never by Whoosh's own writer, which hands
every posting on as an object; so this codec reads and does not write.
"""

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from whoosh.codec import base
from whoosh.matching import ListMatcher

from projections.search.documents.documents import SORTABLE
from projections.search.index.format.arrays import Arrays
from projections.search.index.format.doc_ids import stored_document
from projections.search.index.format.schema import DELETED, ID, KIND, ReadOnlyIndex
from projections.search.index.format.storage import map_arrays
from projections.search.index.format.terms_reader import TermsReader
from projections.search.index.format.whoosh_fields import SortColumnReader

EXTENSION = ".arrays"


class Segment(base.Segment):  # type: ignore[misc]
    """A segment of an index: its name, its size and its dead documents.

    The dead are those that were replaced or removed after the segment was made.
    """

    def __init__(self, indexname: str, size: int, *, is_past: bool = False) -> None:
        super().__init__(indexname)
        self.size = size
        self.is_past = is_past
        """True if its documents are of states that were replaced: no part of Whoosh's index."""
        self._dead: bytes | None = None
        """A bit for each document, set if it is dead; None when all documents live."""
        self._dead_count = 0

    @classmethod
    def _random_id(cls, size: int = 16) -> str:
        """A name by the system's random numbers; those of Whoosh can be seeded, and may repeat."""
        return os.urandom(size // 2).hex()

    @property
    def file(self) -> str:
        """Name of the file of its arrays."""
        return str(self.make_filename(EXTENSION))

    @property
    def dead(self) -> NDArray[np.bool_] | None:
        """True for each dead document; None when all documents live."""
        if self._dead is None:
            return None
        return np.unpackbits(np.frombuffer(self._dead, np.uint8), count=self.size).view(np.bool_)

    def with_dead(self, numbers: NDArray[Any]) -> "Segment":
        """A copy of the segment in which these documents are dead as well."""
        dead = self.dead
        dead = np.zeros(self.size, np.bool_) if dead is None else dead
        dead[numbers] = True
        other = Segment(self.indexname, self.size, is_past=self.is_past)
        other.segid = self.segid
        other._dead_count = int(dead.sum())
        other._dead = np.packbits(dead).tobytes() if other._dead_count else None
        return other

    def same_dead(self, other: "Segment") -> bool:
        """Return True if the same documents are dead in both."""
        return self._dead == other._dead

    def codec(self) -> "Codec":
        """The codec that reads the segment."""
        return Codec()

    def doc_count(self) -> int:
        """Number of documents that are not dead."""
        return self.size - self._dead_count

    def doc_count_all(self) -> int:
        """Refuse the number that Whoosh's writers ask of every segment before they write anything.

        Nobody else asks: readers have it from `PerDocumentReader`, this package from `size`.
        """
        raise ReadOnlyIndex

    def deleted_count(self) -> int:
        """Return the number of dead documents of the segment."""
        return self._dead_count

    def deleted_docs(self) -> frozenset[int]:
        """Numbers of the dead documents."""
        dead = self.dead
        return frozenset() if dead is None else frozenset(np.flatnonzero(dead).tolist())

    def is_deleted(self, docnum: int) -> bool:
        """Return True if a document is dead; Whoosh also asks of the number after the last."""
        if self._dead is None or docnum >= self.size:
            return False
        return bool(self._dead[docnum >> 3] & (0x80 >> (docnum & 7)))


class NoSegments(list[Segment]):
    """The segments in the table of contents of an index without documents.

    Whoosh's readers ask for their number only; who goes through them is one of its writers.
    """

    def __iter__(self) -> Iterator[Segment]:
        raise ReadOnlyIndex

    def __reduce__(self) -> tuple[Any, ...]:
        return NoSegments, ()


class Codec(base.Codec):  # type: ignore[misc]
    """Reads segments for Whoosh."""

    length_stats = False

    def terms_reader(self, storage: Any, segment: Segment) -> TermsReader:
        """A reader of the terms and postings in the segment's file."""
        return TermsReader(map_arrays(storage, segment.file))

    def per_document_reader(self, storage: Any, segment: Segment) -> "PerDocumentReader":
        """A reader of the documents' values in the segment's file."""
        return PerDocumentReader(map_arrays(storage, segment.file), segment)


class PerDocumentReader(base.PerDocumentReader):  # type: ignore[misc]
    """Reads the part of each document that a segment keeps beside its terms."""

    def __init__(self, arrays: Arrays, segment: Segment) -> None:
        self._arrays = arrays
        self._segment = segment
        self._terms = TermsReader(arrays)
        self.doc_count, self.has_deletions = segment.doc_count, segment.has_deletions
        self.is_deleted, self.deleted_docs = segment.is_deleted, segment.deleted_docs

    def doc_count_all(self) -> int:
        """Return the number of documents, dead ones included."""
        return self._segment.size

    def has_column(self, fieldname: str) -> bool:
        """Return True if documents can be sorted or grouped by a field."""
        return fieldname in SORTABLE or fieldname in (ID, KIND, DELETED)

    def column_reader(self, fieldname: str, column: Any) -> SortColumnReader:
        """A reader of the values that documents have in a field."""
        is_text = SORTABLE.get(fieldname) is not float

        def value_of(docnum: int) -> Any:
            value = self.stored_fields(docnum).get(fieldname)
            fits = isinstance(value, str) == is_text or fieldname == DELETED
            return value if fits else None

        return SortColumnReader(value_of, self._segment.size)

    def has_vector(self, docnum: int, fieldname: str) -> bool:
        """True: the terms of a document can be read off the postings."""
        return True

    def vector(self, docnum: int, fieldname: str, format_: Any) -> ListMatcher:
        """The terms that a document has in a field, read off the postings."""
        terms = sorted(self._terms.terms_of(fieldname, docnum))
        return ListMatcher(
            [term for term, _ in terms], weights=[weight for _, weight in terms], format=format_
        )

    def doc_field_length(self, *asked: Any) -> int:
        """Always 1, as the shortest and the longest: impacts are made for the length already."""
        return 1

    min_field_length = max_field_length = doc_field_length

    def field_length(self, fieldname: str) -> int:
        """Sum of the lengths of all documents, each of which counts as 1."""
        return self._segment.size

    def stored_fields(self, docnum: int) -> dict[str, Any]:
        """Id, kind and deletion, and the values that are sorted by: texts in lower case."""
        kept = stored_document(self._arrays, docnum)
        own = {ID: kept.id, KIND: kept.kind, DELETED: kept.deleted}
        pairs = zip(SORTABLE, kept.sort, strict=True)
        return own | {path: value for path, value in pairs if value is not None}
