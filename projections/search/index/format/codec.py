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

from projections.search.index.format.document_reader import PerDocumentReader
from projections.search.index.format.schema import ReadOnlyIndex
from projections.search.index.format.storage import map_arrays
from projections.search.index.format.terms_reader import TermsReader

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
        """The codec that reads the segment."""
        return Codec()

    def doc_count(self) -> int:
        """Number of documents that are not dead."""
        return self.size - self._dead_count

    def doc_count_all(self) -> int:
        """What Whoosh's writers ask of every segment before they write anything: refused.

        Nobody else asks: readers have it from `PerDocumentReader`, this package from `size`.
        """
        raise ReadOnlyIndex

    def deleted_count(self) -> int:
        """How many documents of the segment are dead."""
        return self._dead_count

    def deleted_docs(self) -> frozenset[int]:
        """Numbers of the dead documents."""
        dead = self.dead
        return frozenset() if dead is None else frozenset(np.flatnonzero(dead).tolist())

    def is_deleted(self, docnum: int) -> bool:
        """Whether a document is dead; Whoosh also asks of the number after the last."""
        if self._dead is None or docnum >= self.size:
            return False
        return bool(self._dead[docnum >> 3] & (0x80 >> (docnum & 7)))

    def delete_document(self, docnum: int, delete: bool = True) -> None:
        """Make the document with a number dead, or alive again."""
        dead = self.dead
        dead = np.zeros(self.size, np.bool_) if dead is None else dead
        dead[docnum] = delete
        self._keep(dead)


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

    def per_document_reader(self, storage: Any, segment: Segment) -> PerDocumentReader:
        """A reader of the documents' values in the segment's file."""
        return PerDocumentReader(map_arrays(storage, segment.file), segment)
