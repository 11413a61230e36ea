"""What an index stores of a document beside its terms."""

import msgspec

from projections.search.documents.documents import SORTABLE, SearchDocument, SortValue


class StoredDocument(msgspec.Struct, frozen=True, array_like=True):
    """What an index stores of a document beside its terms: a hit is made of it."""

    id: str
    kind: str
    deleted: bool
    sort: tuple[SortValue, ...]
    """Values in the order of SORTABLE."""
    digest: int

    @classmethod
    def of(cls, document: SearchDocument) -> "StoredDocument":
        """What is stored of a document."""
        sort = tuple(map(document.sort.get, SORTABLE))
        return cls(document.id, document.kind, document.deleted, sort, document.digest)
