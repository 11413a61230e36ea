"""The Whoosh search engine: commits, merges beside them, and searches on the newest commit."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import numpy as np

from domain.errors import StoreUnavailable
from projections.search.documents import SearchDocument
from projections.search.engine import EngineHits, EngineQuery, IndexSnapshot
from projections.search.index.build.inverter import Inverter
from projections.search.index.commit.current_commit import Current
from projections.search.index.commit.opened_commit import Opened
from projections.search.index.commit.writer import clean, commit, write_merged, write_segment
from projections.search.index.format.codec import Segment
from projections.search.index.format.doc_ids import id_terms, numbers
from projections.search.index.format.storage import (
    INDEX,
    LOCK,
    Directory,
    Manifest,
    Memory,
    Storage,
)
from projections.search.index.merge.merge_thread import Merger
from projections.search.index.merge.merging import Part
from projections.search.index.merge.tiers import MAX_SEGMENTS, full_merges, next_merge
from projections.search.index.search_commit import search
from projections.search.objects import ReadObjects

DEADLINE = 2.0
"""Seconds after which a search answers with what it has."""
_MANY = 256
"""Documents in a commit from which on it is worth to remember their values for the next one."""


class WhooshEngine:
    """A search engine over an index in a directory or in memory; see `open`."""

    def __init__(
        self,
        storage: Storage,
        *,
        writable: bool,
        deadline: float,
    ) -> None:
        self._storage = storage
        self._writable = writable
        self._deadline = deadline
        self._current = Current(storage)
        self._writing = threading.Lock()
        self._merging = threading.Lock()
        self._merger = Merger(self._merge_one)
        self._unfinished: set[str] = set()
        """Files of merges that no commit names yet."""
        self._inverter: Inverter | None = None
        self.rebuild_reason: str | None = None
        """Why the index was begun anew when it was opened, None when it was not."""

    @classmethod
    def open(
        cls,
        path: Path | None,
        *,
        writable: bool = True,
        deadline: float = DEADLINE,
    ) -> Self:
        """The index in a directory, or a new one in memory (None).

        A writable engine replaces an index that is damaged, or made by other code, by an empty
        one at checkpoint 0, to be filled from the log; a read-only one refuses to serve it.
        `deadline` is in seconds.
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
            if self._current.newest() is not None:
                return
        except StoreUnavailable as error:
            self.rebuild_reason = error.message
        self.reset()

    def close(self) -> None:
        """Release files and abandon merges; a search that is running ends on its own."""
        self._merger.close()
        self._current.close()
        self._inverter = None

    # What there is

    def checkpoint(self) -> int:
        """The log position committed with the documents; 0 when there are none."""
        return self.anchor()[0]

    def anchor(self) -> tuple[int, str]:
        """The checkpoint and the mark committed with it."""
        opened = self._current.newest()
        return (opened.position, opened.mark) if opened else (0, "")

    def count(self) -> int:
        """How many documents there are, soft-deleted ones included."""
        return self._current.existing().live

    @contextmanager
    def snapshot(self) -> Iterator[IndexSnapshot]:
        """The newest commit, which stays as it is; raises StoreUnavailable."""
        yield self._current.existing()

    # Searching

    def search(self, query: EngineQuery, read_objects: ReadObjects | None = None) -> EngineHits:
        """The documents found; InvalidInput for what the engine cannot do.

        Nested queries with several conditions need `read_objects`.
        """
        ends = time.monotonic() + self._deadline
        return search(self._current.snapshot(), query, ends, read_objects)

    # Writing

    def reset(self) -> None:
        """Forget all documents; the checkpoint becomes 0."""
        with self._locked():
            generation = self._current.generation + 1
            self._commit(Manifest(generation, 0, self._current.digest, {}), [])

    def apply(
        self, documents: Mapping[str, SearchDocument | None], position: int, mark: str = ""
    ) -> None:
        """Replace, add or (None) remove documents by id; commit them with position and mark."""
        if not self._writable:
            raise StoreUnavailable("the search index was opened for reading only")
        with self._locked():
            opened = self._current.existing()
            old = _without(opened, list(documents))
            new = [document for document in documents.values() if document is not None]
            with self._failures():
                segments = [*old, *self._write(new)]
                self._commit(opened.manifest.after(position, mark), segments)
        if next_merge(segments):
            self._merger.wake()
            if len(segments) > 2 * MAX_SEGMENTS:
                self._merger.wait()

    def _write(self, documents: Sequence[SearchDocument]) -> list[Segment]:
        """Write new segments."""
        inverter = (self._inverter if len(documents) >= _MANY else None) or Inverter()
        self._inverter = None
        segments = []
        for document in documents:
            inverter.add(document)
            if inverter.full:
                segments.append(write_segment(self._storage, inverter.finish()))
        if len(inverter):
            segments.append(write_segment(self._storage, inverter.finish()))
        if len(documents) >= _MANY:
            self._inverter = inverter
        return segments

    def _commit(self, manifest: Manifest, segments: Sequence[Segment]) -> None:
        """Commit and show the segments, but those without a document; the lock must be held."""
        segments = [segment for segment in segments if segment.doc_count()]
        current = self._current
        made = commit(self._storage, current.schema, manifest, segments, current.verified)
        current.committed(made, segments)
        clean(self._storage, made, self._unfinished)

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

    @contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise StoreUnavailable(f"the search index cannot be written: {error}") from error

    # Merging

    def compact(self) -> None:
        """Merge everything into as few segments as searching large ones allows."""
        with self._failures():
            while self._merge_next(lambda segments: next(iter(full_merges(segments)), [])):
                pass

    def _merge_one(self, check: Callable[[], None]) -> bool:
        return self._merge_next(next_merge, check)

    def _merge_next(
        self,
        choose: Callable[[Sequence[Segment]], list[Segment]],
        check: Callable[[], None] = lambda: None,
    ) -> bool:
        """Merge the segments that `choose` takes of those there are; False when it takes none."""
        with self._merging:
            check()
            opened = self._current.existing()
            group = choose(list(opened.segments.values()))
            if group:
                self._merge(opened, group, check)
            return bool(group)

    def _merge(self, opened: Opened, group: Sequence[Segment], check: Callable[[], None]) -> None:
        """Write the merged segment beside searches and commits, and commit it at the end."""
        parts = [Part(opened.arrays[segment.segment_id()], segment.dead) for segment in group]
        merged = Segment(INDEX, sum(segment.doc_count() for segment in group))
        self._unfinished.add(merged.file)
        try:
            renumbered = write_merged(self._storage, merged, parts, check)
            self._storage.sync([merged.file])
            crc = self._storage.crc(merged.file)
            with self._locked():
                opened = self._current.existing()
                names = [segment.segment_id() for segment in group]
                if all(name in opened.segments for name in names):
                    for segment, new in zip(group, renumbered, strict=True):
                        dead = opened.segments[segment.segment_id()].dead
                        if dead is not None:
                            died = new[dead]
                            merged = merged.with_dead(died[died >= 0])
                    others = [s for name, s in opened.segments.items() if name not in names]
                    self._current.verified[merged.file] = crc
                    self._commit(opened.manifest.after(*self.anchor()), [*others, merged])
        finally:
            self._unfinished.discard(merged.file)


def _without(opened: Opened, ids: Sequence[str]) -> list[Segment]:
    """The segments, with the documents of these ids dead."""
    terms = id_terms(ids)
    segments = []
    for name, segment in opened.segments.items():
        found = numbers(opened.arrays[name], ids, terms)
        segments.append(segment.with_dead(np.array(found, np.int64)) if found else segment)
    return segments
