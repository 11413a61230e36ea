"""The Whoosh schema: three fields of ready terms, the id, and one column with the row of a hit."""

import zlib

import msgspec
from whoosh import columns, fields, formats

from domain.registry import KINDS
from projections.search.documents import SORTABLE, SortValue
from projections.search.whoosh import analysis, terms

ID, EXACT, TEXT, WORDS, ROW = "id", "exact", "text", "words", "row"

VERSION = 1
"""Raised whenever the same documents give other terms."""

Posting = tuple[bytes, float, bytes]
"""Term, weight and value."""


class ReadyTerms(fields.FieldType):  # type: ignore[misc]
    """A field whose terms are made by `terms`, not by Whoosh."""

    def __init__(self, positions: bool, scorable: bool) -> None:
        form = formats.Positions() if positions else formats.Existence()
        super().__init__(form, None, scorable=scorable)

    def to_bytes(self, value: bytes) -> bytes:
        return value

    def from_bytes(self, value: bytes) -> bytes:
        return value


class Row(msgspec.Struct, frozen=True, array_like=True):
    """What is kept of a document beside its terms."""

    id: str
    kind: str
    deleted: bool
    sort: tuple[SortValue, ...]
    """Values in the order of SORTABLE."""


def schema() -> fields.Schema:
    """The same for every catalog."""
    return fields.Schema(
        **{
            ID: ReadyTerms(positions=False, scorable=False),
            EXACT: ReadyTerms(positions=False, scorable=False),
            TEXT: ReadyTerms(positions=True, scorable=False),
            WORDS: ReadyTerms(positions=True, scorable=True),
            ROW: fields.COLUMN(columns.VarBytesColumn()),
        }
    )


def schema_digest() -> int:
    """Changes whenever an index made before does not fit any more."""
    kinds = [(kind.name, [(f.path, f.boost) for f in kind.search]) for kind in KINDS.values()]
    parts = (VERSION, tuple(SORTABLE), sorted(kinds), analysis.tokens("fooBar2 x_y").parts)
    return zlib.crc32(msgspec.json.encode(parts))


def postings(found: terms.Terms) -> dict[str, list[Posting]]:
    """The three fields of a document as Whoosh writes them."""
    weights = found.weights
    return {
        EXACT: [(term.encode(), 1.0, b"") for term in found.exact],
        TEXT: [
            (term.encode(), float(len(places) or 1), terms.pack(places))
            for term, places in found.text.items()
        ],
        WORDS: [
            (term.encode(), weights[term], terms.pack(places))
            for term, places in found.words.items()
        ],
    }
