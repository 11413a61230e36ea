"""Reading an index: the segments of one commit, each with the lookups that evaluation needs.

Whoosh's readers share one file position, so a `Snapshot` serves one thread at a time; the engine
lends them out. Between commits only new segments are opened.
"""

import copy
from array import array
from bisect import bisect_left
from collections.abc import Iterator
from typing import Any

import msgspec
from whoosh.reading import SegmentReader, TermNotFound

from projections.search.whoosh.schema import ROW, WORDS, Row
from projections.search.whoosh.storage import Manifest, Storage, read_toc, verify
from projections.search.whoosh.terms import STEM, unpack

_MAX_LEXICONS = 32
_decode_row = msgspec.msgpack.Decoder(Row).decode


class SegmentView:
    """One segment; `dead` are the numbers of its documents that were replaced since."""

    def __init__(self, storage: Storage, schema: Any, segment: Any) -> None:
        self.dead: frozenset[int] = frozenset()
        self.size: int = segment.doc_count_all()
        self._segment = segment
        alive = copy.copy(segment)
        alive._deleted = None  # Whoosh would filter every posting list; evaluation does it once
        self._reader = SegmentReader(storage, schema, alive)
        self._terms = self._reader._terms
        self._formats = {name: field.format for name, field in schema.items() if field.format}
        self._reader.doc_field_length(0, WORDS)  # opens the file, before a merge may remove it
        self._row_bytes = self._reader.column_reader(ROW, translate=False)
        self._rows: dict[int, Row] = {}
        self._lengths: list[int] = []
        self._lexicons: dict[tuple[str, str], list[str]] = {}
        self.remembered: dict[str, frozenset[int]] = {}
        """Documents by exact term, for filters that come with every query."""

    def close(self) -> None:
        self._reader._terms.close()
        self._reader._perdoc.close()

    def row(self, number: int) -> Row:
        """What is kept of a document."""
        row = self._rows.get(number)
        if row is None:
            row = self._rows[number] = _decode_row(self._row_bytes[number])
        return row

    @property
    def words_length(self) -> int:
        """Tokens of all documents in the default fields."""
        return int(self._reader.field_length(WORDS))

    def length(self, number: int) -> int:
        """Tokens of a document in the default fields."""
        if not self._lengths:
            read = self._reader.doc_field_length
            self._lengths = [read(number, WORDS) or 0 for number in range(self.size)]
        return self._lengths[number]

    def frequency(self, field: str, term: str) -> int:
        """How many documents have the term, replaced ones included."""
        try:
            return int(self._terms.doc_frequency(field, term.encode()))
        except (KeyError, TypeError):
            return 0

    def documents(self, field: str, term: str) -> list[int]:
        """Numbers of the documents that have the term, ascending."""
        found: list[int] = []
        for block in self._blocks(field, term):
            found.extend(block._ids)
        return found

    def weights(self, field: str, term: str) -> dict[int, float]:
        """Document number -> weight of the term in it."""
        found: dict[int, float] = {}
        for block in self._blocks(field, term):
            block._read_weights()
            found.update(zip(block._ids, block._weights, strict=True))
        return found

    def positions(self, field: str, term: str) -> dict[int, "array[int]"]:
        """Document number -> positions of the term in it."""
        found: dict[int, array[int]] = {}
        for block in self._blocks(field, term):
            block._read_values()
            found.update(zip(block._ids, map(unpack, block._values), strict=True))
        return found

    def _blocks(self, field: str, term: str) -> Iterator[Any]:
        """The matcher, once for each of its blocks: per posting it would be ten times slower."""
        try:
            matcher = self._terms.matcher(field, term.encode(), self._formats[field])
        except TermNotFound:
            return
        while matcher.is_active():
            matcher._read_ids()
            yield matcher
            matcher._next_block()

    def lexicon(self, field: str, space: str) -> list[str]:
        """The terms of a field that begin with `space`, without it, in code-point order."""
        known = self._lexicons.get((field, space))
        if known is None:
            if len(self._lexicons) >= _MAX_LEXICONS:
                self._lexicons.clear()
            known = self._lexicons[field, space] = list(self._read_lexicon(field, space))
        return known

    def _read_lexicon(self, field: str, space: str) -> Iterator[str]:
        start = space.encode()
        if field not in self._terms.indexed_field_names():
            return
        for name, term in self._terms.terms_from(field, start):
            if name != field or not term.startswith(start):
                return
            text = term[len(start) :].decode()
            if not text.startswith(STEM):
                yield text

    def expand(self, field: str, space: str, prefix: str) -> Iterator[str]:
        """The terms of `lexicon` that begin with `prefix`."""
        terms = self.lexicon(field, space)
        for at in range(bisect_left(terms, prefix), len(terms)):
            if not terms[at].startswith(prefix):
                return
            yield terms[at]


class Snapshot:
    """The segments of the commit it was refreshed to."""

    def __init__(self, storage: Storage, schema: Any) -> None:
        self._storage = storage
        self._schema = schema
        self.generation = -1
        self._views: dict[str, SegmentView] = {}

    @property
    def views(self) -> list[SegmentView]:
        return list(self._views.values())

    def refresh(self, manifest: Manifest, verified: dict[str, int]) -> None:
        """Show the manifest's commit; OSError when its files are gone, as after a newer one."""
        if manifest.generation == self.generation:
            return
        verify(self._storage, manifest, verified)
        toc = read_toc(self._storage, manifest, self._schema)
        views: dict[str, SegmentView] = {}
        for segment in toc.segments:
            name = segment.segment_id()
            view = self._views.get(name) or SegmentView(self._storage, self._schema, segment)
            views[name] = view
        for segment in toc.segments:
            views[segment.segment_id()].dead = frozenset(segment.deleted_docs())
        for name in self._views.keys() - views.keys():
            self._views[name].close()
        self._views = views
        self.generation = manifest.generation

    def close(self) -> None:
        """Release the files."""
        for view in self._views.values():
            view.close()
        self._views = {}
        self.generation = -1
