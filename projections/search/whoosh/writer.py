"""One commit to the index: a Whoosh segment writer that commits through the manifest."""

import contextlib
from typing import Any

import msgspec
from whoosh.index import TOC, clean_files
from whoosh.reading import SegmentReader
from whoosh.writing import SegmentWriter

from projections.search.documents import SORTABLE, SearchDocument
from projections.search.whoosh.inverter import Codec, Inverter
from projections.search.whoosh.schema import ID, ROW, WORDS, Row, postings
from projections.search.whoosh.storage import INDEX, Manifest, Storage, read_toc, write_manifest
from projections.search.whoosh.terms import Terms

MERGE_AT = 8
"""Segments of one size class that are merged into one."""
MERGE_DOCUMENTS = 256
"""Documents that a commit merges at most, so that each stays quick..."""
MAX_SEGMENTS = 24
"""...unless there would be more segments than this."""


class Base:
    """What a Whoosh writer asks of its index: here, the generation of a manifest."""

    indexname = INDEX

    def __init__(self, storage: Storage, manifest: Manifest, schema: Any) -> None:
        self.storage = storage
        self.manifest = manifest
        self._schema = schema

    def _read_toc(self) -> TOC:
        return read_toc(self.storage, self.manifest, self._schema)


class Writer(SegmentWriter):  # type: ignore[misc]
    """A Whoosh writer on top of a manifest; `committed` is the manifest of its commit."""

    def __init__(self, base: Base, position: int) -> None:
        try:
            super().__init__(base, compound=False, codec=Codec(), _lk=False)
        except OSError:
            self.is_closed: bool = False
            self.abandon()
            raise
        self.is_closed = False
        self.pool = Inverter()
        self._before = base.manifest
        self._position = position
        self.committed: Manifest | None = None

    def add(self, document: SearchDocument) -> None:
        """Add a document; an older one of the same id is to be deleted by its number."""
        sort = tuple(document.sort.get(path) for path in SORTABLE)
        row = Row(document.id, document.kind, document.deleted, sort)
        terms = Terms(document)
        number = self.docnum
        self.pool.add(ID, number, [(document.id.encode(), 1.0, b"")])
        for field, made in postings(terms).items():
            self.pool.add(field, number, made)
        per_document, schema = self.perdocwriter, self.schema
        per_document.start_doc(number)
        per_document.add_field(WORDS, schema[WORDS], None, terms.length)
        encoded = msgspec.msgpack.encode(row)
        per_document.add_column_value(ROW, schema[ROW].column_type, encoded)
        per_document.finish_doc()
        self._added = True
        self.docnum += 1

    def add_postings_to_pool(self, reader: Any, startdoc: int, docmap: Any) -> None:
        self.pool.absorb(reader, startdoc, docmap)

    def abandon(self) -> None:
        """Let go of files, whatever became of the commit."""
        if self.is_closed:
            return
        self.is_closed = True
        per_document = getattr(self, "perdocwriter", None)
        terms = getattr(self, "fieldwriter", None)
        for file in (
            per_document and per_document._cols._temp,
            terms and terms._postfile,
            terms and terms._tindex.dbfile,
        ):
            if file and not file.is_closed:
                file.close()
        with contextlib.suppress(OSError):
            self._tempstorage.destroy()

    def _commit_toc(self, segments: list[Any]) -> None:
        storage = self.storage
        TOC(self.schema, segments, self.generation).write(storage, INDEX)
        toc = TOC._filename(INDEX, self.generation)
        present = [name for segment in segments for name in segment.list_files(storage)]
        known = self._before.files
        fresh = [name for name in (*present, toc) if name not in known]
        files = {name: known[name] for name in present if name in known}
        files |= {name: storage.crc(name) for name in fresh}
        storage.sync(fresh)
        self.committed = Manifest(self.generation, self._position, self._before.schema, files)
        write_manifest(storage, self.committed)
        clean_files(storage, INDEX, self.generation, segments)


def merge(writer: Any, segments: list[Any]) -> list[Any]:
    """Merge policy: full size classes, smallest first, as far as a commit's budget goes."""
    left = sorted(segments, key=lambda segment: segment.doc_count())
    left = [segment for segment in left if segment.doc_count()]
    merged = 0
    while (group := _group(left, merged)) is not None:
        for segment in group:
            reader = SegmentReader(writer.storage, writer.schema, segment)
            writer.add_reader(reader)
            reader.close()
            merged += segment.doc_count()
            left.remove(segment)
    return left


def _group(segments: list[Any], merged: int) -> list[Any] | None:
    """The next segments to merge, given how many documents were merged already."""
    if len(segments) >= MAX_SEGMENTS:
        return segments[: len(segments) // 2]
    classes: dict[int, list[Any]] = {}
    for segment in segments:
        live, size = segment.doc_count(), segment.doc_count_all()
        if live * 2 < size and live <= MERGE_DOCUMENTS - merged:
            return [segment]
        classes.setdefault(live.bit_length() // 3, []).append(segment)
    for group in classes.values():
        documents = sum(segment.doc_count() for segment in group)
        if len(group) >= MERGE_AT and documents <= MERGE_DOCUMENTS - merged:
            return group
    return None
