"""What a segment keeps of each document, for Whoosh: stored values, columns, vectors of terms."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

from whoosh.codec import base
from whoosh.matching import ListMatcher

from projections.search.documents.documents import SORTABLE
from projections.search.index.format.arrays import Arrays
from projections.search.index.format.doc_ids import document_id, stored_document
from projections.search.index.format.schema import DELETED, ID, KIND
from projections.search.index.format.terms_reader import TermsReader
from projections.search.index.format.whoosh_fields import SortColumn, SortColumnReader

_OWN = (ID, KIND, DELETED)


class PerDocumentReader(base.PerDocumentReader):  # type: ignore[misc]
    """What is kept of each document beside its terms."""

    def __init__(self, arrays: Arrays, segment: Any) -> None:
        self._arrays = arrays
        self._segment = segment
        self._terms = TermsReader(arrays)

    def doc_count(self) -> int:
        """How many documents are not dead."""
        return int(self._segment.doc_count())

    def doc_count_all(self) -> int:
        """How many documents there are, dead ones included."""
        return int(self._segment.size)

    def has_deletions(self) -> bool:
        """Whether any document is dead."""
        return bool(self._segment.has_deletions())

    def is_deleted(self, docnum: int) -> bool:
        """Whether the document with a number is dead."""
        return bool(self._segment.is_deleted(docnum))

    def deleted_docs(self) -> frozenset[int]:
        """Numbers of the dead documents."""
        deleted: frozenset[int] = self._segment.deleted_docs()
        return deleted

    def supports_columns(self) -> bool:
        """True: the arrays hold the values to sort by."""
        return True

    def has_column(self, fieldname: str) -> bool:
        """Whether documents can be sorted or grouped by a field."""
        return fieldname in SORTABLE or fieldname in _OWN

    def column_reader(self, fieldname: str, column: SortColumn) -> SortColumnReader:
        """A reader of the values that documents have in a field."""
        return SortColumnReader(self._values(fieldname), self._segment.size)

    def _values(self, field: str) -> Callable[[int], Any]:
        """What gives the value of a document by its number."""
        arrays = self._arrays
        if field == ID:
            return lambda docnum: document_id(arrays, docnum)
        if field == DELETED:
            return lambda docnum: bool(arrays["deleted"][docnum])
        if field == KIND:
            kinds = _texts(arrays, "kind")
            return lambda docnum: kinds[arrays["kind"][docnum]]
        if SORTABLE[field] is str:
            texts = [*_texts(arrays, f"sort.{field}"), None]
            ranks = arrays[f"sort.{field}.rank"]
            return lambda docnum: texts[ranks[docnum]]
        numbers = arrays[f"sort.{field}.value"]

        def number(docnum: int) -> float | None:
            value = float(numbers[docnum])
            return value if value == value else None  # NaN stands for none

        return number

    def has_vector(self, docnum: int, fieldname: str) -> bool:
        """True: the terms of a document can be read off the postings."""
        return True

    def vector(self, docnum: int, fieldname: str, format_: Any) -> ListMatcher:
        """The terms that a document has in a field, read off the postings."""
        terms = sorted(self._terms.terms_of(fieldname, docnum))
        return ListMatcher(
            [term for term, _ in terms], weights=[weight for _, weight in terms], format=format_
        )

    def doc_field_length(self, docnum: int, fieldname: str, default: int = 0) -> int:
        """Always 1: impacts are made for the length already."""
        return 1

    def field_length(self, fieldname: str) -> int:
        """Sum of the lengths of all documents, each of which counts as 1."""
        return int(self._segment.size)

    def min_field_length(self, fieldname: str) -> int:
        """Always 1: impacts are made for the length already."""
        return 1

    def max_field_length(self, fieldname: str) -> int:
        """Always 1: impacts are made for the length already."""
        return 1

    def stored_fields(self, docnum: int) -> dict[str, Any]:
        """Id, kind and deletion, and the values that are sorted by: texts in lower case."""
        kept = stored_document(self._arrays, docnum)
        own = {ID: kept.id, KIND: kept.kind, DELETED: kept.deleted}
        pairs = zip(SORTABLE, kept.sort, strict=True)
        return own | {path: value for path, value in pairs if value is not None}


def _texts(arrays: Arrays, name: str) -> list[str | None]:
    """The distinct texts of a column by their numbers."""
    data, offsets = arrays[f"{name}.lexicon"].tobytes(), arrays[f"{name}.offsets"].tolist()
    return [data[low:high].decode() for low, high in pairwise(offsets)]
