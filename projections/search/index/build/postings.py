"""Tokens of all documents of a segment to sorted postings.

What is known of a token goes into one 64-bit number, term before document before position: a
single sort of plain numbers puts everything in place, which no sort by several keys does as fast.
"""

from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from projections.search.index.build.vocabulary import Chunks, NumberedTerms
from projections.search.index.format.arrays import Inverted, lexicon, ranges, starts, within
from projections.search.index.format.sorted_texts import sorted_places
from projections.search.matching import weights
from projections.search.matching.terms import VALUE_GAP, WHOLE_SIZE

_BITS = 64


class Used(msgspec.Struct, frozen=True):
    """The places where chunks of tokens are used."""

    chunks: NDArray[Any]
    documents: NDArray[np.int64]
    """The number of the document that each chunk is used in."""
    counts: NDArray[Any]
    """Numbers of successive chunks that share one sequence of positions."""
    fields: NDArray[np.int64] | None = None
    """The search field that each chunk is used in, by the field's number in its kind."""


def postings(
    chunks: Chunks, used: Used, size: int, factors: NDArray[np.float64], half: float
) -> Inverted:
    """The index of a field with positions.

    Each token of each use becomes one key of 64 bits, uint64, from the upper end down: the rank of
    its term, the document, the position in it, the search field (no bits when there is but one),
    and whether it is a stem (one bit). Terms and documents get as many bits as their numbers need,
    and positions what is left. Sorted, the keys are the postings in order.

    `factors[document, field]` is what an occurrence weighs (`[0, 0]` if they all weigh the same),
    `half` the weight of half an impact.
    """
    terms, places, begins = chunks.arrays()
    begin = begins[used.chunks]
    sizes = begins[used.chunks.astype(np.int64) + 1] - begin
    where = ranges(begin, sizes)
    names, ranks = _ranked(chunks.numbers, terms[where])
    position = np.repeat(within(chunks.part_counts()[used.chunks] + VALUE_GAP, used.counts), sizes)
    position += places[where] >> 1
    field_bits = (factors.shape[1] - 1).bit_length()
    document_bits = max(1, (size - 1).bit_length())
    position_bits = _BITS - len(names).bit_length() - document_bits - field_bits - 1
    # A document so long that its positions do not fit loses phrases at its end, nothing else.
    np.minimum(position, (1 << min(position_bits, 31)) - 1, out=position)
    keys = ranks[terms[where]].astype(np.uint64)
    keys <<= np.uint64(document_bits)
    keys |= np.repeat(used.documents, sizes).astype(np.uint64)
    keys <<= np.uint64(position_bits)
    keys |= position.astype(np.uint64)
    keys <<= np.uint64(field_bits)
    if used.fields is not None:
        keys |= np.repeat(used.fields, sizes).astype(np.uint64)
    keys <<= np.uint64(1)
    keys |= (places[where] & 1).astype(np.uint64)
    del where, position
    keys.sort()

    occurrence = np.where(keys & np.uint64(1), weights.STEM, 1.0)
    keys >>= np.uint64(1)
    fields = (keys & np.uint64((1 << field_bits) - 1)).astype(np.int64)
    keys >>= np.uint64(field_bits)
    positions = (keys & np.uint64((1 << position_bits) - 1)).astype(np.int32)
    keys >>= np.uint64(position_bits)
    documents = (keys & np.uint64((1 << document_bits) - 1)).astype(np.int32)
    occurrence *= factors[documents, fields] if factors.size > 1 else factors[0, 0]
    first = _firsts(keys)
    text, offsets = lexicon(names)
    term_of = (keys[first] >> np.uint64(document_bits)).astype(np.int64)
    return Inverted(
        lexicon=text,
        offsets=offsets,
        starts=starts(np.bincount(term_of, minlength=len(names))),
        ids=documents[first],
        impacts=weights.impacts(
            np.add.reduceat(occurrence, first) if len(first) else occurrence, half
        ),
        position_starts=np.append(first, len(keys)),
        positions=positions,
    )


def exact_postings(
    numbers: NumberedTerms, terms: NDArray[Any], documents: NDArray[np.int64]
) -> Inverted:
    """The index of a field of whole terms, given each with a document that has it.

    `terms` and `documents` are arrays of the same length. A pair is sorted as one key, int64: the
    rank of the term in the upper 32 bits, the document in the lower.
    """
    names, ranks = _ranked(numbers, terms)
    keys = (ranks[terms] << 32) | documents
    keys.sort()
    keys = keys[_firsts(keys)]  # faster than numpy.unique, which hashes
    text, offsets = lexicon(names)
    return Inverted(
        lexicon=text,
        offsets=offsets,
        starts=starts(np.bincount(keys >> 32, minlength=len(names))),
        ids=(keys & 0xFFFFFFFF).astype(np.int32),
    )


def whole_postings(digests: NDArray[Any], documents: NDArray[np.int64]) -> Inverted:
    """The index of terms that are numbers of 8 bytes, big-endian."""
    digests = digests.astype(np.uint64)
    order = np.lexsort((documents, digests))
    digests, documents = digests[order], documents[order]
    new = np.ones(len(order), np.bool_)
    new[1:] = (digests[1:] != digests[:-1]) | (documents[1:] != documents[:-1])
    digests, documents = digests[new], documents[new]
    first = _firsts(digests)
    return Inverted(
        lexicon=digests[first].astype(">u8").view(np.uint8),
        offsets=np.arange(len(first) + 1, dtype=np.int64) * WHOLE_SIZE,
        starts=np.append(first, len(digests)),
        ids=documents.astype(np.int32),
    )


def _ranked(numbers: NumberedTerms, used: NDArray[Any]) -> tuple[list[bytes], NDArray[np.int64]]:
    """The terms used in the order of their bytes, and number -> place among them."""
    seen = np.zeros(len(numbers), np.bool_)
    seen[used] = True
    known = list(numbers)
    some = np.flatnonzero(seen)
    names = [known[number].encode() for number in some.tolist()]
    order = sorted_places(names)
    ranks = np.zeros(len(numbers), np.int64)
    ranks[some[order]] = np.arange(len(order))
    return [names[at] for at in order], ranks


def _firsts(values: NDArray[Any]) -> NDArray[np.int64]:
    """Return the beginning of each run of equal values."""
    changes = np.flatnonzero(values[1:] != values[:-1]) + 1
    return np.concatenate((np.zeros(min(1, len(values)), np.int64), changes))
