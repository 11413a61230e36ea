"""The Whoosh schema: four fields of ready terms, every path of the documents, what is stored."""

import zlib
from typing import Any

import msgspec
from whoosh import fields
from whoosh.writing import IndexingError

from domain.kinds.registry import KINDS
from projections.search import analysis
from projections.search.documents import SORTABLE, SortValue
from projections.search.index.format import weights
from projections.search.index.format.terms import EXACT, TEXT, WHOLE, WORDS
from projections.search.index.format.whoosh_fields import ReadyTerms, Stored, Words, path_field
from projections.search.language.field_types import field_type

FIELDS = (WHOLE, EXACT, TEXT, WORDS)
ID, KIND, DELETED = "id", "kind", "deleted"
"""What is stored of a document beside the values of SORTABLE."""

VERSION = 3
"""Raised whenever the same documents give other arrays, or another table of contents."""


class ReadOnlyIndex(IndexingError):  # type: ignore[misc]
    """Whoosh's own writers cannot write this index, which follows the log of the catalog."""

    def __init__(self) -> None:
        super().__init__(
            "this index is written by the catalog alone, from its log: change entities over its "
            "HTTP API (or `catalog import`), or make the index anew with `catalog-replay rebuild`; "
            "with Whoosh it can only be read"
        )


class StoredDocument(msgspec.Struct, frozen=True, array_like=True):
    """What a segment stores of a document beside its terms, in the arrays named `row`."""

    id: str
    kind: str
    deleted: bool
    sort: tuple[SortValue, ...]
    """Values in the order of SORTABLE."""
    digest: int


class IndexSchema(fields.Schema):  # type: ignore[misc]
    """The fields of every catalog's index; each path that some kind has is one of them.

    A table of contents holds the name of this class alone: code says what the fields are.
    """

    def __init__(self) -> None:
        super().__init__(
            **{path: path_field(path, sortable=True) for path in (*SORTABLE, ID, DELETED)},
            **{WHOLE: ReadyTerms(), EXACT: ReadyTerms(), TEXT: ReadyTerms(positions=True)},
            **{WORDS: Words(), KIND: Stored()},
        )

    def __getitem__(self, name: str) -> fields.FieldType:
        known = name in self._fields or field_type(name) is None
        return super().__getitem__(name) if known else path_field(name, sortable=False)

    def __contains__(self, name: str) -> bool:
        # Whoosh asks it of each term of a lexicon.
        return name in self._fields or field_type(name) is not None

    def __reduce__(self) -> tuple[Any, ...]:
        return IndexSchema, ()

    def copy(self) -> "IndexSchema":
        """A new schema with the same fields."""
        return IndexSchema()


def schema_digest() -> int:
    """Changes whenever an index made before does not fit any more."""
    kinds = [(kind.name, [(f.path, f.boost) for f in kind.search]) for kind in KINDS.values()]
    parts: tuple[Any, ...] = (
        VERSION,
        tuple(SORTABLE),
        sorted(kinds),
        analysis.tokens("fooBar2 x_y").parts,
        (weights.K1, weights.B, weights.K, weights.STEM),
        (weights.AVERAGE_PROSE, weights.AVERAGE_NAMES, weights.AVERAGE_NAME),
    )
    return zlib.crc32(msgspec.json.encode(parts))
