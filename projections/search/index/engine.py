"""The search engine over Whoosh's files: searches on the newest commit, merges beside them."""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from domain.errors import StoreUnavailable
from domain.machine.storage_errors import storage_errors
from domain.reading.horizon import Horizon
from projections.feeding.port import Checkpoint
from projections.search.documents.sources import ReadObjects
from projections.search.engine import (
    DocumentChanges,
    EngineHits,
    EngineQuery,
    IndexSnapshot,
    SearchedPaths,
    SearchEngine,
    check_applied,
)
from projections.search.index.commit.commit_follower import CommitFollower
from projections.search.index.commit.commit_writer import CommitWriter
from projections.search.index.format.codec import Segment
from projections.search.index.format.storage import Directory
from projections.search.index.merge.merge_thread import (
    MAX_SEGMENTS,
    MergeThread,
    full_merges,
    next_merge,
    small_merge,
)
from projections.search.index.search_commit import search
from projections.search.matching.deadline import Clock, Deadline
from projections.search.searched_paths import check_searched

DEADLINE = 2.0
"""Seconds after which a search answers with what it has."""
Choose = Callable[[Sequence[Segment]], list[Segment]]
"""Takes the segments that are to become one, none when all is well."""


class WhooshEngine(SearchEngine):
    """A search engine over an index in a directory; see `open`."""

    def __init__(
        self,
        storage: Directory,
        *,
        writable: bool,
        deadline: float = DEADLINE,
        clock: Clock = time.monotonic,
    ) -> None:
        """`deadline` is in seconds of `clock`."""
        self._writable = writable
        self._deadline = deadline
        self._clock = clock
        self._follower = CommitFollower(storage)
        self._writer = CommitWriter(storage, self._follower)
        self._merging = threading.Lock()
        self._in_merge: frozenset[str] = frozenset()
        """Ids of the segments that are being merged under the lock."""
        self.merges = MergeThread(lambda check: self._merge_next(next_merge, check))
        self._small_merges = MergeThread(self._merge_small)
        self.rebuild_reason: str | None = None
        """Reason why the index was begun anew when it was opened, None when it was not."""

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        writable: bool = True,
        deadline: float = DEADLINE,
        clock: Clock = time.monotonic,
    ) -> Self:
        """The index in a directory.

        A writable engine replaces an index that is damaged, or made by other code, by an empty
        one at checkpoint 0, to be filled from the log; a read-only one refuses to serve it.
        `deadline` is in seconds of `clock`. A writable engine keeps Whoosh's own writers out until
        it is closed; where one has the lock, each commit tries again. Raises StoreUnavailable when
        nothing can be written.
        """
        engine = cls(Directory(path), writable=writable, deadline=deadline, clock=clock)
        if writable:
            with storage_errors("the search index cannot be made"):
                path.mkdir(mode=0o700, parents=True, exist_ok=True)
            try:
                engine._writer.keep_whoosh_out()
                engine._open_or_create()
            except BaseException:
                engine.close()
                raise
        return engine

    def _open_or_create(self) -> None:
        try:
            if self._follower.newest() is not None:
                return
        except StoreUnavailable as error:
            self.rebuild_reason = error.message
        self.reset()

    def close(self) -> None:
        """Release files and abandon merges; a search that is running ends on its own."""
        self.merges.close()
        self._small_merges.close()
        self._follower.close()
        self._writer.close()

    # What there is

    def checkpoint_and_fingerprint(self) -> Checkpoint:
        """The checkpoint and the fingerprint committed with it."""
        opened = self._follower.newest()
        return opened.checkpoint if opened else (0, "")

    def revision(self) -> int:
        """The position of the commit that searches read now; see the port."""
        return self._follower.recent().checkpoint[0]

    def count(self) -> int:
        """Return the number of documents, soft-deleted ones included."""
        return self._follower.existing().snapshot.documents

    def horizon(self) -> Horizon:
        """The earliest position as of which the newest commit can be searched."""
        opened = self._follower.newest()
        return Horizon() if opened is None else opened.horizon

    def searched(self) -> SearchedPaths:
        """The paths that the newest commit searches; see the port."""
        opened = self._follower.newest()
        return SearchedPaths() if opened is None else opened.searched

    @contextmanager
    def snapshot(self) -> Iterator[IndexSnapshot]:
        """The newest commit, all of it summed, which stays as it is; raises StoreUnavailable."""
        yield self._follower.proven()

    def check(self, go_on: Callable[[], None]) -> None:
        """Wait until all files of the newest commit are summed; see the port."""
        self._follower.proven(go_on)

    # Searching

    def search(self, query: EngineQuery, read_objects: ReadObjects | None = None) -> EngineHits:
        """The page of hits; see the port."""
        deadline = Deadline(self._deadline, self._clock)
        opened = self._follower.recent()
        if query.at is not None and query.at > opened.checkpoint[0]:
            # A thread may be summing the newest commit still.
            opened = self._follower.existing()
            check_applied(query.at, opened.checkpoint)
        if query.at is not None:
            opened.horizon.refuse(query.at)
        check_searched(query, opened.searched)
        with self._follower.reading(opened):
            snapshot = opened.snapshot if query.at is None else opened.past.at(query.at)
            return search(snapshot, query, deadline, read_objects)

    # Writing

    def reset(self) -> None:
        """Forget all documents; the checkpoint becomes 0. Raises StoreUnavailable."""
        self._writer.reset()

    def apply(self, changes: DocumentChanges) -> None:
        """Commit documents with position and fingerprint; see the port."""
        if not self._writable:
            raise StoreUnavailable("the search index was opened for reading only")
        self._merge_some(self._writer.apply(changes))

    def forget(self, horizon: Horizon) -> bool:
        """Remove documents of states that were replaced up to a horizon; see the port.

        They are dead from then on; merges leave them out of the files.
        """
        if not self._writable:
            raise StoreUnavailable("the search index was opened for reading only")
        segments = self._writer.forget(horizon)
        if segments is None:
            return False
        self._merge_some(segments)
        return True

    # Merging

    def _merge_some(self, segments: Sequence[Segment]) -> None:
        """Have merges begin where the segments of a commit need some.

        Waits for them where there are too many segments.
        """
        if _chosen(next_merge, segments):
            self.merges.wake()
            too_many = _are_too_many(segments)
            if self._in_merge or too_many:
                # Small ones do not wait for a merge of large ones, which takes seconds.
                self._small_merges.wake()
            if too_many:
                self._small_merges.wait()
                if _are_too_many(self._follower.existing().segments.values()):
                    self.merges.wait()

    def compact(self) -> None:
        """Merge everything into as few segments as searching large ones allows.

        Takes a while; commits and searches go on meanwhile. Raises StoreUnavailable.
        """
        while self._merge_next(lambda segments: next(iter(full_merges(segments)), [])):
            pass

    def _merge_next(
        self,
        choose: Choose,
        check: Callable[[], None] = lambda: None,
    ) -> bool:
        """Merge the segments that `choose` takes of those there are; False when it takes none."""
        with self._merging:
            check()
            if not _chosen(choose, self._follower.existing().segments.values()):
                return False
            opened = self._follower.proven(check)
            group = _chosen(choose, opened.segments.values())
            self._in_merge = frozenset(segment.segment_id() for segment in group)
            try:
                if group:
                    self._writer.merge(opened, group, check)
            finally:
                self._in_merge = frozenset()
            return bool(group)

    def _merge_small(self, check: Callable[[], None]) -> bool:
        """Merge small segments beside a merge of others; False when there are few of them."""
        opened = self._follower.proven(check)
        others = (s for name, s in opened.segments.items() if name not in self._in_merge)
        group = _chosen(small_merge, others)
        if group:
            self._writer.merge(opened, group, check)
        return bool(group)


def _chosen(choose: Choose, segments: Iterable[Segment]) -> list[Segment]:
    """Apply `choose` to the segments of current states, or else to those of replaced states."""
    return next((group for alike in _apart(segments) if (group := choose(alike))), [])


def _are_too_many(segments: Iterable[Segment]) -> bool:
    return any(len(alike) > 2 * MAX_SEGMENTS for alike in _apart(segments))


def _apart(segments: Iterable[Segment]) -> tuple[list[Segment], list[Segment]]:
    """The segments of current states, and those of replaced ones, which are never merged."""
    current: list[Segment] = []
    past: list[Segment] = []
    for segment in segments:
        (past if segment.is_past else current).append(segment)
    return current, past
