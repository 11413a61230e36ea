"""What an index stores of a document beside its terms."""

import msgspec

from projections.search.documents.documents import SortValue


class StoredDocument(msgspec.Struct, frozen=True, array_like=True):
    """What an index stores of a document beside its terms: a hit is made of it."""

    id: str
    kind: str
    deleted: bool
    sort: tuple[SortValue, ...]
    """Values in the order of SORTABLE."""
    digest: int
