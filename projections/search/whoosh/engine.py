"""The Whoosh search engine: commits, readers lent to threads, and the order of the hits."""

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from domain.errors import StoreUnavailable
from projections.search.documents import SearchDocument
from projections.search.engine import EngineHits, EngineQuery
from projections.search.whoosh import ranking
from projections.search.whoosh.evaluate import Evaluator
from projections.search.whoosh.leaves import Scores
from projections.search.whoosh.schema import ID, schema, schema_digest
from projections.search.whoosh.segments import SegmentView, Snapshot
from projections.search.whoosh.storage import (
    LOCK,
    Directory,
    Manifest,
    Memory,
    Storage,
    create_index,
    read_manifest,
    verify,
)
from projections.search.whoosh.writer import Base, Writer, merge

DEADLINE = 2.0
"""Seconds after which a search answers with what it has."""
_OPEN_ATTEMPTS = 5
_DAMAGED = (OSError, EOFError, ValueError, KeyError, IndexError, TypeError, AttributeError)
"""What Whoosh raises for files that are not as it wrote them."""


class OutOfTime(Exception):
    """The deadline of a search has come."""


class WhooshEngine:
    """A search engine over an index in a directory or in memory; see `open`."""

    def __init__(self, storage: Storage, *, writable: bool, deadline: float) -> None:
        self._storage = storage
        self._writable = writable
        self._deadline = deadline
        self._schema = schema()
        self._digest = schema_digest()
        self._writing = threading.Lock()
        self._lending = threading.Lock()
        self._idle: list[Snapshot] = []
        self._closed = False
        self._manifest: Manifest | None = None
        self._mark: object = None
        self._verified: dict[str, int] = {}
        self.rebuild_reason: str | None = None
        """Why the index was begun anew when it was opened, None when it was not."""

    @classmethod
    def open(cls, path: Path | None, *, writable: bool = True, deadline: float = DEADLINE) -> Self:
        """The index in a directory, or a new one in memory (None).

        A writable engine replaces an index that is damaged, or made by other code, by an empty
        one at checkpoint 0, to be filled from the log; a read-only one refuses to serve it.
        """
        storage: Storage = Memory() if path is None else Directory(path)
        engine = cls(storage, writable=writable, deadline=deadline)
        if writable:
            if path is not None:
                path.mkdir(mode=0o700, parents=True, exist_ok=True)
            engine._open_or_create()
        return engine

    def _open_or_create(self) -> None:
        try:
            manifest = self._current()
            if manifest is not None:
                with self._snapshot():
                    return
        except StoreUnavailable as error:
            self.rebuild_reason = error.message
        self.reset()

    def checkpoint(self) -> int:
        """The log position committed with the documents; 0 when there are none."""
        manifest = self._current()
        return manifest.position if manifest else 0

    def count(self) -> int:
        """How many documents there are, soft-deleted ones included."""
        with self._snapshot() as snapshot:
            return sum(view.size - len(view.dead) for view in snapshot.views)

    def close(self) -> None:
        """Release files; a search that is running keeps its own until it ends."""
        with self._lending:
            self._closed = True
            idle, self._idle = self._idle, []
        for snapshot in idle:
            snapshot.close()

    # Writing

    def reset(self) -> None:
        """Forget all documents; the checkpoint becomes 0."""
        with self._locked():
            generation = self._manifest.generation + 1 if self._manifest else 0
            manifest = create_index(self._storage, self._schema, self._digest, generation)
            self._committed(manifest)

    def apply(self, documents: Mapping[str, SearchDocument | None], position: int) -> None:
        """Replace, add or (None) remove documents by id; commit them with the position."""
        if not self._writable:
            raise StoreUnavailable("the search index was opened for reading only")
        with self._locked(), self._snapshot() as snapshot:
            manifest = self._manifest
            if manifest is None:
                raise StoreUnavailable("there is no search index yet")
            try:
                self._committed(self._write(manifest, snapshot, documents, position))
            except OSError as error:
                raise StoreUnavailable(f"the search index cannot be written: {error}") from error

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Keep out other writers, in this process and in others."""
        with self._writing:
            lock = self._storage.lock(LOCK)
            if not lock.acquire():
                raise StoreUnavailable("another process is writing the search index")
            try:
                yield
            finally:
                lock.release()

    def _write(
        self,
        manifest: Manifest,
        snapshot: Snapshot,
        documents: Mapping[str, SearchDocument | None],
        position: int,
    ) -> Manifest:
        writer = Writer(Base(self._storage, manifest, self._schema), position)
        try:
            self._fill(writer, snapshot, documents)
            writer.commit(mergetype=merge)
        finally:
            writer.abandon()
        assert writer.committed is not None
        return writer.committed

    def _fill(
        self, writer: Writer, snapshot: Snapshot, documents: Mapping[str, SearchDocument | None]
    ) -> None:
        base = 0
        for view in snapshot.views:
            for entity_id in documents:
                for number in view.documents(ID, entity_id):
                    if number not in view.dead:
                        writer.delete_document(base + number)
            base += view.size
        for document in documents.values():
            if document is not None:
                writer.add(document)

    def _committed(self, manifest: Manifest) -> None:
        self._verified = dict(manifest.files)
        self._manifest = manifest
        self._mark = self._storage.mark()

    # Reading

    def search(self, query: EngineQuery) -> EngineHits:
        """The documents found; InvalidInput for what the engine cannot do."""
        ends = time.monotonic() + self._deadline

        def check() -> None:
            if time.monotonic() > ends:
                raise OutOfTime

        with self._snapshot() as snapshot:
            found: list[tuple[SegmentView, Scores]] = []
            statistics = Statistics(snapshot.views)
            filters = [node for node in (query.filter, query.post_filter) if node is not None]
            timed_out = False
            try:
                for view in snapshot.views:
                    evaluator = Evaluator(view, statistics, check)
                    matching = evaluator.matching(
                        query.tree, filters, query.kinds, query.include_deleted
                    )
                    found.append((view, matching))
            except OutOfTime:
                timed_out = True
            return ranking.page(query, found, timed_out)

    @contextmanager
    def _snapshot(self) -> Iterator[Snapshot]:
        """A snapshot of the newest commit, for the calling thread alone."""
        with self._lending:
            if self._closed:
                raise StoreUnavailable("the search index is closed")
            snapshot = self._idle.pop() if self._idle else None
        if snapshot is None:
            snapshot = Snapshot(self._storage, self._schema)
        try:
            self._refresh(snapshot)
            yield snapshot
        finally:
            with self._lending:
                keep = not self._closed and snapshot.generation >= 0
                if keep:
                    self._idle.append(snapshot)
            if not keep:
                snapshot.close()

    def _refresh(self, snapshot: Snapshot) -> None:
        """Bring a snapshot to the newest commit, again when a newer one removes its files."""
        for attempt in range(_OPEN_ATTEMPTS):
            manifest = self._current()
            if manifest is None:
                raise StoreUnavailable("there is no search index yet")
            try:
                snapshot.refresh(manifest, self._verified)
                return
            except _DAMAGED as error:
                newest = read_manifest(self._storage)
                if newest == manifest and attempt:
                    raise StoreUnavailable(f"the search index is damaged: {error!r}") from error
        raise StoreUnavailable("the search index changes too fast to be opened")

    def _current(self) -> Manifest | None:
        """The newest manifest; read again only when its file was replaced."""
        mark = self._storage.mark()
        if mark is None:
            self._manifest = None
        elif mark != self._mark:
            manifest = read_manifest(self._storage)
            if manifest is not None and manifest.schema != self._digest:
                raise StoreUnavailable("the search index was made for other fields or kinds")
            if manifest is not None and self._manifest is None:
                self._verify(manifest)
            self._manifest, self._mark = manifest, mark
        return self._manifest

    def _verify(self, manifest: Manifest) -> None:
        try:
            verify(self._storage, manifest, self._verified)
        except OSError:
            return  # replaced by a newer commit meanwhile, or missing: opening it tells


class Statistics:
    """Figures over all segments, asked for once per term."""

    def __init__(self, views: list[SegmentView]) -> None:
        self._views = views
        self._frequencies: dict[tuple[str, str], int] = {}
        self.documents = sum(view.size for view in views)
        self.average_length = max(1.0, sum(v.words_length for v in views) / (self.documents or 1))

    def frequency(self, field: str, term: str) -> int:
        known = self._frequencies.get((field, term))
        if known is None:
            known = sum(view.frequency(field, term) for view in self._views)
            self._frequencies[field, term] = known
        return known
