"""Writes commits: the only place where files of an index are made, named and removed.

A commit is made in this order, and counts from the last step on:

1. the arrays of each new segment are written to a file of their own;
2. Whoosh's table of contents names the segments of current states, the old ones with what died of
   them since; those of replaced states the manifest names;
3. new files are summed (CRC-32) and synced;
4. the manifest that names all files is written, synced and renamed into place;
5. files that no manifest names any more are removed.

A merge does step 1 beside other commits, and the rest as a commit at the position that it finds.
"""

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from types import MappingProxyType
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray
from whoosh.index import TOC
from whoosh.util.filelock import try_for

from domain.errors import StoreUnavailable
from domain.machine.storage_errors import storage_errors
from domain.reading.horizon import Horizon
from projections.feeding.port import moved_on
from projections.search.documents.documents import SearchDocument
from projections.search.engine import DocumentChanges
from projections.search.index.build.inverter import Inverter
from projections.search.index.commit.checksums import WARNING
from projections.search.index.commit.commit_follower import CommitFollower
from projections.search.index.commit.opened_commit import (
    Manifest,
    OpenedCommit,
    PastSegment,
    write_manifest,
)
from projections.search.index.format.arrays import ArrayFile
from projections.search.index.format.codec import EXTENSION, NoSegments, Segment
from projections.search.index.format.doc_ids import doc_ids_of, id_terms
from projections.search.index.format.storage import INDEX, LOCK, MANIFEST, WRITE_LOCK, Directory
from projections.search.index.merge.merging import merge

_TURN = 1.0
"""Seconds for which a writer waits until another one, such as a merge's, is done."""
_NOT_WRITTEN = "the search index cannot be written"


class CommitWriter:
    """Writes an index; several may, in threads and processes, and take turns by its lock.

    Every method raises StoreUnavailable when it could not write; then nothing was committed.
    """

    def __init__(self, storage: Directory, follower: CommitFollower) -> None:
        """`follower` is shown each commit, so that this process need not read it again."""
        self.make_inverter: Callable[[], Inverter] = Inverter
        self._storage = storage
        self._follower = follower
        self._turn = threading.Lock()
        self._unfinished: set[str] = set()
        """Files of merges that no commit names yet."""
        self._inverter: Inverter | None = None
        self._write_lock: ExitStack | None = None
        """Ends the hold on Whoosh's write lock; None while this writer has none."""

    def keep_whoosh_out(self) -> bool:
        """Hold Whoosh's write lock until `close`, as other engines may; False while Whoosh has it.

        A writer that could not have it tries again at each commit.
        """
        if self._write_lock is None:
            self._write_lock = self._storage.share_write_lock()
        return self._write_lock is not None

    def close(self) -> None:
        """Release Whoosh's lock, and let go of what is remembered from one commit to the next."""
        with self._turn:
            self._inverter = None
            if self._write_lock is not None:
                self._write_lock.close()
                self._write_lock = None

    def reset(self) -> None:
        """Commit an index without documents, at checkpoint 0."""
        with self._writing():
            before = self._follower.manifest
            generation = 0 if before is None else before.generation + 1
            self._commit(Manifest(generation, 0, self._follower.digest, {}), [])

    def apply(self, changes: DocumentChanges) -> Sequence[Segment]:
        """Replace, add or remove documents; returns the segments of the commit.

        Raises StoreUnavailable when the newest commit is not that which the changes come `after`.
        """
        with self._writing():
            opened = self._follower.existing()
            if opened.checkpoint != changes.after:
                raise moved_on("search index", changes.after)
            removed: set[str] = set()
            fresh = [*self._write(changes, removed)]
            with self._follower.reading(opened):
                kept = _without(opened, list(changes.documents), removed)
            segments = [*kept, *fresh]
            manifest = opened.manifest.after(
                changes.position, changes.fingerprint, changes.searched
            )
            self._commit(manifest, segments)
            return segments

    def forget(self, horizon: Horizon) -> Sequence[Segment] | None:
        """Have documents of states die that were replaced up to a horizon, and commit it.

        Returns the segments of the commit; None where the index has that horizon, or a later one.
        """
        with self._writing():
            opened = self._follower.existing()
            if horizon.position <= opened.horizon.position:
                return None
            with self._follower.reading(opened):
                segments = [*_held_after(opened, horizon.position)]
            manifest = opened.manifest.after(*opened.checkpoint)
            self._commit(msgspec.structs.replace(manifest, horizon=horizon), segments)
            return segments

    def merge(
        self, opened: OpenedCommit, group: Sequence[Segment], check: Callable[[], None]
    ) -> None:
        """Write one segment for those of the group, and commit it in their place.

        All of the group are of current states, or all of replaced ones. The files of the group
        must have been found right, or the new file, with a right sum of its own, would hide what
        is wrong.

        Commits go on meanwhile: what died since `opened` is dead in the new segment too, and when
        a segment of the group is gone, nothing happens. `check` is called often; what it raises
        ends the merge.
        """
        views = opened.views
        names = [segment.segment_id() for segment in group]
        is_past = group[0].is_past
        merged = Segment(INDEX, sum(s.doc_count() for s in group), is_past=is_past)
        self._unfinished.add(merged.file)
        try:
            with storage_errors(_NOT_WRITTEN):
                with closing(merged.create_file(self._storage, EXTENSION)) as stream:
                    renumbered = merge([views[name] for name in names], ArrayFile(stream), check)
                self._storage.sync([merged.file])
                crc = self._storage.crc(merged.file)
            with self._writing():
                newest = self._follower.existing()
                if all(name in newest.segments for name in names):
                    for name, new in zip(names, renumbered, strict=True):
                        dead = newest.segments[name].dead
                        if dead is not None:
                            died = new[dead]
                            merged = merged.with_dead(died[died >= 0])
                    others = [s for name, s in newest.segments.items() if name not in names]
                    manifest = newest.manifest.after(*newest.checkpoint)
                    self._commit(manifest, [*others, merged], {merged.file: crc})
        finally:
            self._unfinished.discard(merged.file)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Keep out other writers, in this process and in others."""
        with self._turn, storage_errors(_NOT_WRITTEN):
            lock = self._storage.lock(LOCK)
            if not self.keep_whoosh_out() or not try_for(lock.acquire, _TURN, 0.01):
                raise StoreUnavailable("another process is writing the search index")
            try:
                yield
            finally:
                lock.release()

    def _write(self, changes: DocumentChanges, removed: set[str]) -> Iterator[Segment]:
        """Write new segments of the documents, each of which is asked for once.

        Ids of which there is no document any more are added to `removed`.
        """
        inverter, self._inverter = self._inverter, None
        if inverter is None:
            inverter = self.make_inverter()

        def current() -> Iterator[SearchDocument]:
            for entity_id, document in changes.documents.items():
                if document is None:
                    removed.add(entity_id)
                else:
                    yield document

        yield from self._write_segments(inverter, current(), is_past=False)
        yield from self._write_segments(inverter, changes.replaced, is_past=True)
        # That of a commit that failed is not used again: it may have documents.
        self._inverter = inverter

    def _write_segments(
        self, inverter: Inverter, documents: Iterable[SearchDocument], *, is_past: bool
    ) -> Iterator[Segment]:
        for document in documents:
            inverter.add(document)
            if inverter.full:
                yield self._write_segment(inverter.finish(), is_past=is_past)
        if len(inverter):
            yield self._write_segment(inverter.finish(), is_past=is_past)

    def _write_segment(self, arrays: dict[str, NDArray[Any]], *, is_past: bool) -> Segment:
        segment = Segment(INDEX, len(arrays["deleted"]), is_past=is_past)
        with closing(segment.create_file(self._storage, EXTENSION)) as stream:
            file = ArrayFile(stream)
            file.put_all(arrays)
            file.finish()
        return segment

    def _commit(
        self,
        manifest: Manifest,
        segments: Sequence[Segment],
        summed: Mapping[str, int] = MappingProxyType({}),
    ) -> None:
        """Steps 2 to 5, of the segments that have documents; this writer must have its turn.

        Files of the commit before keep the sums that it says, whether they were found right so
        far or not. `summed` has the sums of new files that were summed and synced already.
        """
        storage, follower = self._storage, self._follower
        segments = [segment for segment in segments if segment.doc_count()]
        current = [segment for segment in segments if not segment.is_past]
        past = tuple(PastSegment.of(segment) for segment in segments if segment.is_past)
        toc = TOC(follower.schema, current or NoSegments(), manifest.generation)
        toc.write(storage, INDEX)
        before = follower.manifest
        known = {**(before.files if before else {}), **summed}
        sizes = before.sizes if before else {}
        names = [segment.file for segment in segments]
        fresh = [
            str(TOC._filename(INDEX, manifest.generation)),
            *(name for name in names if name not in known),
        ]
        files = {name: known[name] for name in names if name in known}
        files |= {name: storage.crc(name) for name in fresh}
        storage.sync(fresh)
        sizes = {name: sizes.get(name) or storage.file_length(name) for name in files}
        made = msgspec.structs.replace(manifest, files=files, sizes=sizes, past=past)
        write_manifest(storage, made)
        follower.show(made, segments, [*fresh, *summed])
        # A merge names its file before it creates it, so that files listed first are all named.
        present = storage.list()
        warnings = {name + WARNING for name in files}
        kept = {*files, *warnings, MANIFEST, LOCK, WRITE_LOCK, *self._unfinished}
        for name in present:
            if name not in kept:
                # What cannot be removed now is tried again after the next commit.
                with contextlib.suppress(OSError):
                    storage.delete_file(name)


def _without(opened: OpenedCommit, ids: Sequence[str], removed: set[str]) -> list[Segment]:
    """The segments, without the current documents of these ids, and any of those removed."""
    gone = sorted(removed)
    current, past = (ids, id_terms(ids)), (gone, id_terms(gone))
    segments = []
    for name, segment in opened.segments.items():
        sought, terms = past if segment.is_past else current
        dead = doc_ids_of(opened.views[name].arrays, sought, terms)
        segments.append(segment.with_dead(np.array(dead, np.int64)) if dead else segment)
    return segments


def _held_after(opened: OpenedCommit, position: int) -> Iterator[Segment]:
    """The segments, without the documents of states that were replaced up to a position."""
    for name, segment in opened.segments.items():
        gone = opened.views[name].arrays["until"] <= position
        yield segment.with_dead(np.flatnonzero(gone)) if gone.any() else segment
