"""Weights of terms in documents: BM25F with constants in place of the averages.

The weight of a term in a document depends on the document alone, so that an index that grew by
small changes ranks as one built at once, and merging segments recomputes nothing. The rarity of the
term is for the search to add.
"""

import zlib
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from domain.kinds.registry import KINDS
from projections.search import analysis
from projections.search.documents.documents import SORTABLE
from projections.search.language.field_types import is_prose

K1 = 1.2
"""The frequency of a word in one path at which it has half of the weight that it can reach."""
B = 0.75
"""Share, from 0 to 1, by which each word of a value longer than usual says less."""
K = 12.0
"""The weight in all search fields together at which half of the highest impact is reached."""
STEM = 0.8
"""Weight of the stem of a word, beside 1 for the word itself."""
AVERAGE_PROSE, AVERAGE_NAMES, AVERAGE_NAME = 30.0, 20.0, 4.0
"""Words that are usual in sentences, in the names of parts, and in a name of the entity itself."""
HIGHEST = 255
"""The impact of what cannot weigh more."""


def average_length(path: str) -> float:
    """Words that are usual in all values of a search field together."""
    if is_prose(path):
        return AVERAGE_PROSE
    return AVERAGE_NAMES if "." in path else AVERAGE_NAME


def length_factors(lengths: NDArray[Any], averages: NDArray[Any]) -> NDArray[np.float64]:
    """Return the divisor of an occurrence, given the number of words around it."""
    factors: NDArray[np.float64] = 1 - B + B * lengths / averages
    return factors


def impacts(weights: NDArray[Any], half: float) -> NDArray[np.uint8]:
    """Weights as impacts from 1 to 255, where `half` gives half of that."""
    scaled = np.rint(HIGHEST * weights / (weights + half))
    return np.clip(scaled, 1, HIGHEST).astype(np.uint8)


FIELDS = {
    kind.name: tuple(
        (f.path, is_prose(f.path), f.boost, average_length(f.path)) for f in kind.search
    )
    for kind in KINDS.values()
}
"""Kind -> its search fields: path, whether it is prose, boost, and its average length."""

VERSION = 5
"""Raised whenever the same documents give other arrays, or another table of contents."""


def schema_digest() -> int:
    """The digest of all that decides which terms and weights a document has in an index.

    It changes whenever an index made before does not fit any more.
    """
    kinds = [(kind.name, [(f.path, f.boost) for f in kind.search]) for kind in KINDS.values()]
    parts: tuple[Any, ...] = (
        VERSION,
        tuple(SORTABLE),
        sorted(kinds),
        analysis.tokens("fooBar2 x_y").parts,
        (K1, B, K, STEM),
        (AVERAGE_PROSE, AVERAGE_NAMES, AVERAGE_NAME),
    )
    return zlib.crc32(msgspec.json.encode(parts))
