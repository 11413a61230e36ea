"""The Whoosh schema: four fields of ready terms, and what is stored of a document."""

import zlib
from typing import Any

import msgspec
import numpy as np
from whoosh import fields, formats

from domain.registry import KINDS
from projections.search import analysis
from projections.search.documents import SORTABLE, SortValue
from projections.search.index.format import weights

WHOLE, EXACT, TEXT, WORDS = "whole", "exact", "text", "words"
FIELDS = (WHOLE, EXACT, TEXT, WORDS)

VERSION = 2
"""Raised whenever the same documents give other arrays."""


class Places(formats.Positions):  # type: ignore[misc]
    """Positions as the arrays hold them."""

    def decode_positions(self, valuestring: bytes) -> list[int]:
        positions: list[int] = np.frombuffer(valuestring, np.int32).tolist()
        return positions

    def decode_frequency(self, valuestring: bytes) -> int:
        return len(valuestring) // 4

    def encode(self, poslist: list[int]) -> bytes:
        return np.array(poslist, np.int32).tobytes()


class ReadyTerms(fields.FieldType):  # type: ignore[misc]
    """A field whose terms are made by `terms`, not by Whoosh."""

    def __init__(self, *, positions: bool = False) -> None:
        super().__init__(Places() if positions else formats.Existence(), None, scorable=False)

    def to_bytes(self, value: str | bytes) -> bytes:
        return value.encode(errors="surrogateescape") if isinstance(value, str) else value

    def from_bytes(self, value: bytes) -> str:
        return value.decode(errors="surrogateescape")

    def supports(self, name: str) -> bool:
        return bool(self.format.supports(name))


class StoredDocument(msgspec.Struct, frozen=True, array_like=True):
    """What a segment stores of a document beside its terms, in the arrays named `row`."""

    id: str
    kind: str
    deleted: bool
    sort: tuple[SortValue, ...]
    """Values in the order of SORTABLE."""
    digest: int


def schema() -> fields.Schema:
    """The same for every catalog."""
    return fields.Schema(
        **{
            WHOLE: ReadyTerms(),
            EXACT: ReadyTerms(),
            TEXT: ReadyTerms(positions=True),
            WORDS: ReadyTerms(positions=True),
            "id": fields.STORED,
            "kind": fields.STORED,
        }
    )


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
