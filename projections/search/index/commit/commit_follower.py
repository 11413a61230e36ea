"""Follows the commits of an index, by whichever process they are made.

The manifest is looked at by a stat. The first commit that is opened is served at once: of its
large files no more than the sizes are looked at before, and a thread sums them meanwhile. A later
commit is opened once its new files are found right: a search sums them itself where they are small,
and leaves large ones, as a merge makes, to a thread, while searches go on with the commit before.
"""

import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager

import msgspec
from whoosh.index import TOC

from domain.errors import StoreUnavailable
from projections.search.index.commit.checksums import WARNING, Checksums
from projections.search.index.commit.opened_commit import (
    Manifest,
    OpenedCommit,
    open_segments,
    read_manifest,
)
from projections.search.index.format.codec import EXTENSION, Segment
from projections.search.index.format.schema import IndexSchema
from projections.search.index.format.storage import INDEX, Directory
from projections.search.matching.weights import schema_digest

_LOOK_EVERY = 0.003
"""Seconds between looks of searches for a newer commit."""
_ATTEMPTS = 5
_DAMAGED = (
    OSError,
    EOFError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
)
"""Errors of reading files that are gone, or not as written; Whoosh has no error for it."""
_MISREAD = (*_DAMAGED, ArithmeticError, MemoryError, msgspec.MsgspecError)
"""Errors of evaluating a query when the arrays are not as they were written."""


class CommitFollower:
    """Gives the newest commit to any thread; a commit that was given does not change."""

    def __init__(self, storage: Directory) -> None:
        self.schema = IndexSchema()
        self.digest = schema_digest()
        """Digest of the schema that the index must have been made for."""
        self._storage = storage
        self._checksums = Checksums(storage)
        self._opening = threading.Lock()
        self._opened: OpenedCommit | None = None
        self._stamp: object = None
        """The stamp of the manifest of the commit that is open."""
        self._look_at = 0.0
        self._closed = False

    @property
    def manifest(self) -> Manifest | None:
        """The manifest of the last commit seen, None when there was none."""
        return None if self._opened is None else self._opened.manifest

    def close(self) -> None:
        """Release the files; refuse from now on."""
        self._closed = True
        self._opened = None
        self._checksums.close()

    def recent(self) -> OpenedCommit:
        """Return a commit at most some milliseconds old, or one whose successor is still being
        summed by another thread.

        Raises StoreUnavailable.
        """
        opened = self._opened
        if opened is None:
            return self.existing()
        if time.monotonic() >= self._look_at:
            self._look_at = time.monotonic() + _LOOK_EVERY
            self._look()
            opened = self._opened or opened
        self._checksums.refuse_damaged(opened.manifest)
        return opened

    @contextmanager
    def reading(self, opened: OpenedCommit) -> Iterator[None]:
        """A block that reads the arrays of a commit, which may not have been summed yet.

        At the end of the block StoreUnavailable is raised if the commit is known to be damaged by
        then, or if it was misread before its files were found right. The files of a misread commit
        that were found right are summed once more.
        """
        try:
            yield
        except _MISREAD as error:
            self._checksums.refuse_damaged(opened.manifest)
            unproven = self._checksums.unproven(opened.manifest)
            if unproven or self._checksums.doubt(opened.manifest):
                raise StoreUnavailable(
                    f"the search index, whose checksums are not known yet, is misread: {error!r}"
                ) from error
            raise
        self._checksums.refuse_damaged(opened.manifest)

    def proven(self, go_on: Callable[[], None] = lambda: None) -> OpenedCommit:
        """The newest commit, once all its files were found right.

        Calls `go_on` often while it waits; what that raises ends the wait. Raises Damaged when
        a file is damaged, else StoreUnavailable.
        """
        with self._checksums.awaited() as wait:
            while True:
                opened = self.existing()
                unproven = self._checksums.unproven(opened.manifest)
                if not unproven:
                    return opened
                self._checksums.prove_in_background(unproven)
                go_on()
                wait()

    def existing(self) -> OpenedCommit:
        """The newest commit; StoreUnavailable when there is none, or it is damaged."""
        opened = self.newest()
        if opened is None:
            raise StoreUnavailable("there is no search index yet")
        return opened

    def newest(self) -> OpenedCommit | None:
        """The newest commit, None before the first; waits until it is open.

        Where a commit is open already, that takes until the files of the newer one are summed.
        Raises StoreUnavailable when it is known to be damaged.
        """
        self._refuse_closed()
        if self._storage.manifest_stamp() != self._stamp:
            with self._opening:
                self._open_newest()
        opened = self._opened
        if opened is not None:
            self._checksums.refuse_damaged(opened.manifest)
        return opened

    def show(self, manifest: Manifest, segments: Sequence[Segment], made: Collection[str]) -> None:
        """Show a commit of this process; the files in `made` are new, and summed already."""
        with self._opening:
            self._opened = open_segments(self._storage, manifest, segments, self._opened)
            self._stamp = self._storage.manifest_stamp()
            self._checksums.keep(manifest, made)

    def _look(self) -> None:
        """Open a newer commit, or have a thread sum its files first where they are large.

        Raises StoreUnavailable when the thread has found a file damaged.
        """
        self._refuse_closed()
        if self._storage.manifest_stamp() == self._stamp:
            if self._opened is not None:
                self._checksums.refuse_resized(self._opened.manifest)
            return
        # Without the lock another thread is about to open it.
        if self._opening.acquire(blocking=False):
            try:
                if not self._is_summed_first():
                    self._open_newest()
            finally:
                self._opening.release()

    def _is_summed_first(self) -> bool:
        """Have the thread sum the files of the newest commit; False when there is little to sum."""
        manifest = read_manifest(self._storage)
        if manifest is None:
            return False
        files = self._new_files(manifest)
        try:
            if self._size(files) <= self._storage.summed_at_once:
                return False
        except OSError:
            return False  # a newer commit removed it, which opening finds out as well
        self._checksums.refuse_damaged(manifest)
        self._checksums.prove_in_background(files)
        return True

    def _refuse_closed(self) -> None:
        if self._closed:
            raise StoreUnavailable("the search index is closed")

    def _new_files(self, manifest: Manifest) -> dict[str, int]:
        """The files not found right so far, but for those of the commit that is open."""
        files = self._checksums.unproven(manifest)
        served = self._opened.manifest.files if self._opened is not None else {}
        return {name: crc for name, crc in files.items() if served.get(name) != crc}

    def _size(self, names: Collection[str]) -> int:
        return sum(self._storage.file_length(name) for name in names)

    def _to_sum_first(self, manifest: Manifest) -> dict[str, int]:
        """The files that must be found right before the commit is opened.

        At the first opening these are, where there is much to be summed, the small table of
        contents, files of unknown size, and those that some process has found damaged.
        """
        files = self._new_files(manifest)
        if self._opened is not None or self._size(files) <= self._storage.summed_at_once:
            return files
        return {
            name: crc
            for name, crc in files.items()
            if not name.endswith(EXTENSION)
            or name not in manifest.sizes
            or self._storage.file_exists(name + WARNING)
        }

    def _open_newest(self) -> None:
        """Open the newest commit unless it is open; `_opening` must be held."""
        stamp = self._storage.manifest_stamp()
        if stamp != self._stamp:
            opened = self._read()
            if not self._closed:
                self._opened, self._stamp = opened, stamp

    def _read(self) -> OpenedCommit | None:
        """Open the newest commit, again when a newer one removes its files meanwhile."""
        for attempt in range(_ATTEMPTS):
            manifest = read_manifest(self._storage)
            if manifest is None:
                return None
            if manifest.schema != self.digest:
                raise StoreUnavailable("the search index was made for other fields or kinds")
            try:
                self._checksums.forget_others(manifest)
                for name in self._checksums.unproven(manifest):
                    self._checksums.check_size(manifest, name)
                self._checksums.prove(self._to_sum_first(manifest), self._refuse_closed)
                # The table of contents was found right: it is a pickle.
                toc = TOC.read(self._storage, INDEX, gen=manifest.generation, schema=self.schema)
                segments = [*(toc.segments or ()), *(each.segment() for each in manifest.past)]
                opened = open_segments(self._storage, manifest, segments, self._opened)
                self._checksums.prove_in_background(self._checksums.unproven(manifest))
                return opened
            except _DAMAGED as error:
                if read_manifest(self._storage) == manifest and attempt:
                    raise StoreUnavailable(f"the search index is damaged: {error!r}") from error
        raise StoreUnavailable("the search index changes too fast to be opened")
