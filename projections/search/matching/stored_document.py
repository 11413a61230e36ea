"""The part of a document that an index stores beside its terms."""

import msgspec

from projections.search.documents.documents import SORTABLE, SearchDocument, SortValue


class StoredDocument(msgspec.Struct, frozen=True, array_like=True):
    """The part of a document that an index stores beside its terms: a hit is made of it."""

    id: str
    kind: str
    deleted: bool
    sort: tuple[SortValue, ...]
    """Values in the order of SORTABLE."""
    digest: int

    @classmethod
    def of(cls, document: SearchDocument) -> "StoredDocument":
        """Return the stored part of a document."""
        sort = tuple(map(document.sort.get, SORTABLE))
        return cls(document.id, document.kind, document.deleted, sort, document.digest)
