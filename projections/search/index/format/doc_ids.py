"""Documents of a segment: what is stored of one, and its number by the id of its entity.

Within a segment a document is known by its number, called `doc_id` in code: 0 for the first in the
order of name and id.
"""

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from projections.search.index.format.arrays import Arrays
from projections.search.matching.stored_document import StoredDocument
from projections.search.matching.terms import WHOLE, WHOLE_SIZE, whole_term

_decode = msgspec.msgpack.Decoder(StoredDocument).decode


class _Id(msgspec.Struct, frozen=True, array_like=True):
    """The beginning of a StoredDocument."""

    id: str


_decode_id = msgspec.msgpack.Decoder(_Id).decode


def stored_document(arrays: Arrays, doc_id: int) -> StoredDocument:
    """Return the stored part of the document with this number."""
    return _decode(_stored_bytes(arrays, doc_id))


def document_id(arrays: Arrays, doc_id: int) -> str:
    """The entity's id of the document with this number, which is quicker than all of it."""
    return _decode_id(_stored_bytes(arrays, doc_id)).id


def _stored_bytes(arrays: Arrays, doc_id: int) -> memoryview:
    offsets = arrays["row.offsets"]
    return arrays["row.lexicon"].data[int(offsets[doc_id]) : int(offsets[doc_id + 1])]


def id_terms(ids: Sequence[str]) -> NDArray[np.bytes_]:
    """The terms of entities' ids in `whole`: one of `WHOLE_SIZE` bytes for each."""
    return np.frombuffer(b"".join(whole_term("id", i) for i in ids), f"S{WHOLE_SIZE}")


def doc_ids_of(arrays: Arrays, ids: Sequence[str], terms: NDArray[np.bytes_]) -> list[int]:
    """The numbers of the documents of entities with these ids, whose `id_terms` are `terms`."""
    lexicon = arrays[f"{WHOLE}.lexicon"].view(f"S{WHOLE_SIZE}")
    if not len(lexicon) or not len(terms):
        return []
    places = np.searchsorted(lexicon, terms)
    places[places == len(lexicon)] = 0
    hits = np.flatnonzero(lexicon[places] == terms)
    postings = arrays[f"{WHOLE}.starts"]
    documents = arrays[f"{WHOLE}.ids"]
    return [
        int(doc_id)
        for hit in hits.tolist()
        for doc_id in documents[int(postings[places[hit]]) : int(postings[places[hit] + 1])]
        if document_id(arrays, int(doc_id)) == ids[hit]
    ]
