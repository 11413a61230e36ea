"""The Whoosh schema: four fields of ready terms, every path of the documents, what is stored."""

from typing import Any

from whoosh import fields
from whoosh.writing import IndexingError

from projections.search.documents.documents import SORTABLE
from projections.search.index.format.whoosh_fields import ReadyTerms, Stored, Words, path_field
from projections.search.language.field_types import field_type
from projections.search.matching.terms import EXACT, TEXT, WHOLE, WORDS

FIELDS = (WHOLE, EXACT, TEXT, WORDS)
ID, KIND, DELETED = "id", "kind", "deleted"
"""Stored fields of a document beside the values of SORTABLE."""


class ReadOnlyIndex(IndexingError):  # type: ignore[misc]
    """Whoosh's own writers cannot write this index, which follows the log of the catalog."""

    def __init__(self) -> None:
        super().__init__(
            "this index is written by the catalog alone, from its log: change entities over its "
            "HTTP API (or `catalog import`), or make the index anew with `catalog-replay rebuild`; "
            "with Whoosh it can only be read"
        )


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
