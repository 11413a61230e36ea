"""The digest of all that decides which terms and weights a document has in an index."""

import zlib
from typing import Any

import msgspec

from domain.kinds.registry import KINDS
from projections.search import analysis
from projections.search.documents.documents import SORTABLE
from projections.search.matching import weights

VERSION = 3
"""Raised whenever the same documents give other arrays, or another table of contents."""


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
