"""The newest commit of an index, kept open and followed as commits come."""

import threading
import time
from collections.abc import Sequence

from domain.errors import StoreUnavailable
from projections.search.index.commit.opened_commit import Opened, open_commit, open_segments
from projections.search.index.evaluate.segments import Snapshot
from projections.search.index.format.codec import Segment
from projections.search.index.format.schema import schema, schema_digest
from projections.search.index.format.storage import Manifest, Storage, read_manifest

_LOOK_EVERY = 0.003
"""Seconds between looks of searches for a newer commit."""
_ATTEMPTS = 5
_DAMAGED = (OSError, EOFError, ValueError, KeyError, IndexError, TypeError, AttributeError)
"""What reading files raises that are not as they were written; Whoosh has no error for it."""


class Current:
    """Gives the newest commit to any thread; what it gives stays as it is."""

    def __init__(self, storage: Storage) -> None:
        self.schema = schema()
        self.digest = schema_digest()
        """What the index must have been made for."""
        self.verified: dict[str, int] = {}
        """Checksums of files that were found, or made, right."""
        self._storage = storage
        self._opening = threading.Lock()
        self._opened: Opened | None = None
        self._mark: object = None
        self._look_at = 0.0
        self._closed = False

    @property
    def generation(self) -> int:
        """Of the last commit seen, -1 when there was none."""
        return -1 if self._opened is None else self._opened.manifest.generation

    def close(self) -> None:
        """Release the files; refuse from now on."""
        self._closed = True
        self._opened = None

    def snapshot(self) -> Snapshot:
        """What searches read, at most some milliseconds old."""
        opened = self._opened
        if opened is None or time.monotonic() >= self._look_at:
            self._look_at = time.monotonic() + _LOOK_EVERY
            opened = self.existing()
        return opened.snapshot

    def existing(self) -> Opened:
        """The newest commit; StoreUnavailable when there is none, or it is damaged."""
        opened = self.newest()
        if opened is None:
            raise StoreUnavailable("there is no search index yet")
        return opened

    def newest(self) -> Opened | None:
        """The newest commit, None before the first; opened when the manifest was replaced."""
        if self._closed:
            raise StoreUnavailable("the search index is closed")
        if self._storage.mark() != self._mark:
            with self._opening:
                mark = self._storage.mark()
                if mark != self._mark:
                    self._opened = self._open()
                    self._mark = mark
        return self._opened

    def _open(self) -> Opened | None:
        """Open the newest commit, again when a newer one removes its files meanwhile."""
        for attempt in range(_ATTEMPTS):
            manifest = read_manifest(self._storage)
            if manifest is None:
                return None
            if manifest.schema != self.digest:
                raise StoreUnavailable("the search index was made for other fields or kinds")
            try:
                return open_commit(
                    self._storage, self.schema, manifest, self._opened, self.verified
                )
            except _DAMAGED as error:
                if read_manifest(self._storage) == manifest and attempt:
                    raise StoreUnavailable(f"the search index is damaged: {error!r}") from error
        raise StoreUnavailable("the search index changes too fast to be opened")

    def committed(self, manifest: Manifest, segments: Sequence[Segment]) -> None:
        """Show a commit of this process, whose files need not be read again."""
        with self._opening:
            self._opened = open_segments(self._storage, manifest, segments, self._opened)
            self._mark = self._storage.mark()
            self.verified = dict(manifest.files)
