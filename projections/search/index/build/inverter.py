"""Search documents to the arrays of a new segment.

Adding a document notes which chunks of tokens it is made of; everything per token happens at the
end, over all documents at once. What the arrays hold, by name:

- `exact`, `whole`, `text`, `words`: an inverted index each, see `terms` and `arrays.Inverted`
- `kind`: a number per document, with the kinds' names; `deleted`: the soft-deleted; `digest`
- `since` and `until`: the positions between which the document was that of its entity
- `sort.<path>.rank` with the distinct values of a text, -1 where there is none; or
  `sort.<path>.value` of a number, NaN where there is none
- `row`: a msgpack of `StoredDocument` per document

Documents are numbered in the order of name and id, so that ties by these are ties by number.
"""

from array import array
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from projections.search.documents.documents import SORTABLE, SearchDocument, SortValue
from projections.search.index.build.postings import Used, exact_postings, postings, whole_postings
from projections.search.index.build.vocabulary import Vocabulary
from projections.search.index.format.arrays import sums, text_arrays, within
from projections.search.matching import weights
from projections.search.matching.stored_document import StoredDocument
from projections.search.matching.terms import EXACT, TEXT, WHOLE, WORDS, whole_term

REMEMBERED_SHARE = 8
"""Values are forgotten after a segment when they take more than one byte in this many of
`max_bytes`."""
FEW_DOCUMENTS, FEW_SHARE = 256, 3
"""After a segment of fewer than FEW_DOCUMENTS, FEW_SHARE counts instead of REMEMBERED_SHARE: large
entities change little by little. The values of a table of 20,000 columns fit in."""
UNUSED_SHARE = 8
"""Values are forgotten after a segment that used fewer than one in this many of them: each segment
takes longer to make the more values are remembered."""
TOKEN_BYTES = 64
"""Bytes of a token in the arrays that are sorted at the end."""
_encode = msgspec.msgpack.Encoder().encode


class Inverter:
    """Gathers documents and makes segments of them, one after another."""

    def __init__(
        self,
        *,
        max_documents: int = 25_000,
        max_bytes: int = 192_000_000,
    ) -> None:
        """A segment is full at `max_documents`, or when making it takes `max_bytes` as `bytes`
        estimates."""
        self._max_documents = max_documents
        self._max_bytes = max_bytes
        self._vocabulary = Vocabulary()
        self._begin()

    def _begin(self) -> None:
        self._keys: list[tuple[str, str]] = []
        self._kinds: list[str] = []
        self._deleted: list[bool] = []
        self._digests = array("Q")
        self._since = array("q")
        self._until = array("q")
        self._sorts: list[tuple[SortValue, ...]] = []
        self._rows: list[bytes] = []
        self._paths = array("I")
        """Number of the path's own term, for each path of each document."""
        self._path_counts = array("I")
        self._chunks = array("I")
        self._chunk_counts = array("I")
        self._whole = bytearray()
        self._whole_counts = array("I")
        self._words = array("I")
        self._word_counts = array("I")
        """Chunks in `_words`, for each search field of each document."""
        self._fields = array("f")
        """Boost and usual length of each search field of each document."""
        self._field_counts = array("I")
        self._tokens = 0

    def __len__(self) -> int:
        return len(self._keys)

    @property
    def full(self) -> bool:
        """True if the segment should be finished before another document is added."""
        return len(self._keys) >= self._max_documents or self.bytes >= self._max_bytes

    @property
    def bytes(self) -> int:
        """About how much memory it takes to make a segment of the documents added so far."""
        return self._vocabulary.bytes + TOKEN_BYTES * self._tokens

    def add(self, document: SearchDocument) -> None:
        """Add a document; the segment must not have one of the same state of the entity yet."""
        stored = StoredDocument.of(document)
        self._keys.append((str(document.sort.get("name") or ""), document.id))
        self._kinds.append(document.kind)
        self._deleted.append(document.deleted)
        self._digests.append(document.digest)
        self._since.append(document.since)
        self._until.append(document.until)
        self._sorts.append(stored.sort)
        self._rows.append(_encode(stored))
        self._add_paths(document)
        self._add_words(document)

    def _add_paths(self, document: SearchDocument) -> None:
        known = self._vocabulary.paths
        chunks, counts, numbers = self._chunks, self._chunk_counts, self._paths
        before = len(chunks)
        whole = bytearray(whole_term("id", document.id))
        for path, values in document.fields.items():
            entry = known[path]
            numbers.append(entry.present)
            if entry.whole:
                whole += entry.digests(values)
                used = [entry[value] for value in values if not isinstance(value, str)]
            elif len(values) == 1:
                chunks.append(entry[values[0]])
                counts.append(1)
                continue
            else:
                used = list(dict.fromkeys(map(entry.__getitem__, values)))
            chunks.extend(used)
            counts.append(len(used))
        self._tokens += self._vocabulary.values.text.count(chunks[before:])
        self._path_counts.append(len(document.fields))
        self._whole += whole
        self._whole_counts.append(len(whole) // 8)

    def _add_words(self, document: SearchDocument) -> None:
        fields = document.fields
        names, sentences = self._vocabulary.names, self._vocabulary.sentences
        words, counts = self._words, self._word_counts
        first = len(words)
        search = weights.FIELDS[document.kind]
        for path, prose, boost, average in search:
            values = fields.get(path, ())
            before = len(words)
            if values and not (path == "displayName" and values == fields.get("name")):
                chunk_of = sentences if prose else names
                words.extend(dict.fromkeys(map(chunk_of.__getitem__, values)))
            counts.append(len(words) - before)
            self._fields.extend((boost, average))
        self._tokens += self._vocabulary.words.count(words[first:])
        self._field_counts.append(len(search))

    def finish(self) -> dict[str, NDArray[Any]]:
        """The segment of the documents added, and begin another one.

        What was made of their values is remembered for later segments, within bounds.
        """
        made = self._segment()
        share = FEW_SHARE if len(self) < FEW_DOCUMENTS else REMEMBERED_SHARE
        used = UNUSED_SHARE * (len(self._chunks) + len(self._words))
        self._begin()
        vocabulary = self._vocabulary
        if vocabulary.remembered > used or vocabulary.bytes > self._max_bytes // share:
            self._vocabulary = Vocabulary()
        return made

    def _segment(self) -> dict[str, NDArray[Any]]:
        order = sorted(range(len(self._keys)), key=self._keys.__getitem__)
        numbers = np.empty(len(order), np.int64)
        numbers[order] = np.arange(len(order))
        made: dict[str, NDArray[Any]] = {}
        for field, inverted in self._inverted(numbers).items():
            made |= inverted.arrays(field)
        kinds = sorted(set(self._kinds))
        codes = {kind: code for code, kind in enumerate(kinds)}
        made["kind"] = np.array([codes[self._kinds[at]] for at in order], np.uint8)
        made |= text_arrays("kind", [kind.encode() for kind in kinds])
        made["deleted"] = np.array(self._deleted, np.bool_)[order]
        made["digest"] = np.array(self._digests, np.uint64)[order]
        made["since"] = np.array(self._since, np.int64)[order]
        made["until"] = np.array(self._until, np.int64)[order]
        for column, path in enumerate(SORTABLE):
            _put_column(made, path, [self._sorts[at][column] for at in order])
        made |= text_arrays("row", [self._rows[at] for at in order])
        return made

    def _inverted(self, numbers: NDArray[np.int64]) -> dict[str, Any]:
        vocabulary, values = self._vocabulary, self._vocabulary.values
        size = len(numbers)
        chunks = np.array(self._chunks)
        of_path = np.repeat(numbers, self._path_counts)
        of_chunk = np.repeat(of_path, self._chunk_counts)
        terms, having = [np.array(self._paths, np.int64)], [of_path]
        for term_of in (values.exact_of, values.written_of):
            known = np.array(term_of, np.int64).take(chunks)
            terms.append(known.compress(known >= 0))
            having.append(of_chunk.compress(known >= 0))
        words = np.array(self._words)
        boosts, averages = np.array(self._fields).reshape(-1, 2).T
        counts = np.array(self._word_counts)
        of_field = np.repeat(numbers, self._field_counts)
        number = within(np.ones(len(of_field), np.int64), np.array(self._field_counts))
        lengths = sums(vocabulary.words.part_counts()[words], counts)
        factors = np.zeros((size, int(number.max(initial=0)) + 1))
        factors[of_field, number] = boosts / weights.length_factors(lengths, averages)
        text = Used(chunks, of_chunk, np.array(self._chunk_counts))
        by_document = sums(counts, np.array(self._field_counts))
        spoken = Used(words, np.repeat(of_field, counts), by_document, np.repeat(number, counts))
        return {
            EXACT: exact_postings(values.exact, np.concatenate(terms), np.concatenate(having)),
            WHOLE: whole_postings(
                np.frombuffer(bytes(self._whole), ">u8"), np.repeat(numbers, self._whole_counts)
            ),
            TEXT: postings(values.text, text, size, np.ones((1, 1)), weights.K1),
            WORDS: postings(vocabulary.words, spoken, size, factors, weights.K),
        }


def _put_column(made: dict[str, NDArray[Any]], path: str, values: list[SortValue]) -> None:
    """The arrays of a sortable path; values of another type than the path's count as missing."""
    if SORTABLE[path] is str:
        texts = sorted({value for value in values if isinstance(value, str)})
        ranks: dict[SortValue, int] = {text: rank for rank, text in enumerate(texts)}
        made[f"sort.{path}.rank"] = np.array([ranks.get(value, -1) for value in values], np.int32)
        made |= text_arrays(f"sort.{path}", [text.encode() for text in texts])
    else:
        made[f"sort.{path}.value"] = np.array(
            [value if isinstance(value, int | float) else np.nan for value in values], np.float64
        )
