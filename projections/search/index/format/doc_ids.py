"""Documents of a segment by number and by id."""

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from projections.search.index.format.arrays import Arrays
from projections.search.index.format.schema import WHOLE, Row
from projections.search.index.format.terms import WHOLE_SIZE, whole_term

_decode = msgspec.msgpack.Decoder(Row).decode


class _Id(msgspec.Struct, frozen=True, array_like=True):
    """The beginning of a row."""

    id: str


_decode_id = msgspec.msgpack.Decoder(_Id).decode


def row(arrays: Arrays, number: int) -> Row:
    """What is kept of a document."""
    return _decode(_row_bytes(arrays, number))


def document_id(arrays: Arrays, number: int) -> str:
    """The id alone, which is quicker."""
    return _decode_id(_row_bytes(arrays, number)).id


def _row_bytes(arrays: Arrays, number: int) -> memoryview:
    offsets = arrays["row.offsets"]
    return arrays["row.lexicon"].data[int(offsets[number]) : int(offsets[number + 1])]


def id_terms(ids: Sequence[str]) -> NDArray[np.bytes_]:
    """What `numbers` looks for."""
    return np.frombuffer(b"".join(whole_term("id", i) for i in ids), f"S{WHOLE_SIZE}")


def numbers(arrays: Arrays, ids: Sequence[str], terms: NDArray[np.bytes_]) -> list[int]:
    """The numbers of the documents with these ids, whose `id_terms` are `terms`."""
    lexicon = arrays[f"{WHOLE}.lexicon"].view(f"S{WHOLE_SIZE}")
    if not len(lexicon) or not len(terms):
        return []
    places = np.searchsorted(lexicon, terms)
    places[places == len(lexicon)] = 0
    hits = np.flatnonzero(lexicon[places] == terms)
    postings = arrays[f"{WHOLE}.starts"]
    documents = arrays[f"{WHOLE}.ids"]
    return [
        int(number)
        for hit in hits.tolist()
        for number in documents[int(postings[places[hit]]) : int(postings[places[hit] + 1])]
        if document_id(arrays, int(number)) == ids[hit]
    ]
