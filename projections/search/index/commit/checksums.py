"""Checksums of the files of an index, which tell the damaged ones.

A file is summed by whoever asks for it, or by a thread, in pieces, while the index is served. What
that thread finds damaged is refused from then on: by this process because it remembers it, and by
those that open the index later because a file beside the damaged one tells them to sum it first.
"""

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager

from domain.errors import StoreUnavailable
from projections.feeding.port import Damaged
from projections.search.index.commit.opened_commit import Manifest, read_manifest
from projections.search.index.format.storage import Directory

WARNING = ".damaged"
"""Added to the name of a file that was found damaged: the name of the empty file beside it."""
_ATTEMPTS = 3
_WAIT = 0.05
"""Seconds between looks at whether a wait for the thread is still wanted."""

log_line = logging.getLogger("catalog.search")


class _Closed(Exception):
    """The engine is being closed while its files are summed."""


class Checksums:
    """The files of an index that this process has found right or damaged; for any thread."""

    def __init__(self, storage: Directory) -> None:
        self._storage = storage
        self._right: dict[str, int] = {}
        """File name -> CRC-32, of files that were found right or made by this process."""
        self._damaged: dict[str, str] = {}
        """File name -> what is wrong; kept, as names of segments are never used again."""
        self._doubted = -1
        """Generation of the commit whose files were summed once more."""
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closed = threading.Event()
        self._awaited = 0
        """Number of threads that wait for the one that sums."""
        self._computed = 0.0
        """Seconds of processor time that the thread had used when it last rested."""

    def close(self) -> None:
        """End the summing in the background at its next piece."""
        self._closed.set()
        with self._starting:
            thread = self._thread
        if thread is not None:
            thread.join()

    def keep(self, manifest: Manifest, made: Iterable[str]) -> None:
        """Take the files `made` by this process for right; forget those the manifest leaves out."""
        self.forget_others(manifest)
        for name in made:
            self._right[name] = manifest.files[name]

    def forget_others(self, manifest: Manifest) -> None:
        """Forget what was found right and is not named by the manifest."""
        for name in self._right.keys() - manifest.files.keys():
            self._right.pop(name, None)

    def unproven(self, manifest: Manifest) -> dict[str, int]:
        """Name -> CRC-32 of the manifest's files that were not found right so far."""
        return {n: crc for n, crc in manifest.files.items() if self._right.get(n) != crc}

    def check_size(self, manifest: Manifest, name: str) -> None:
        """Raise StoreUnavailable when a file has not the size that the manifest says."""
        due = manifest.sizes.get(name)
        if due is not None and self._storage.file_length(name) != due:
            raise StoreUnavailable(f"the search index is damaged: size of {name} is wrong")

    def refuse_resized(self, manifest: Manifest) -> None:
        """Raise Damaged, now and from now on, when a file has lost or won bytes since it was made.

        Reading beyond the end of a mapped file ends the process.
        """
        for name in manifest.sizes:
            try:
                self.check_size(manifest, name)
            except OSError:
                continue  # A newer commit has removed it, and its mapping stays.
            except StoreUnavailable as error:
                self._refuse(name, error.message)
                raise Damaged(error.message) from None

    def doubt(self, manifest: Manifest) -> bool:
        """Have all files of a commit summed once more; returns False when that was done before.

        Raises nothing. Whoever misreads files that were found right may have met damage that came
        later, or an error of the program, which summing again and again would only make slow.
        """
        if self._doubted == manifest.generation:
            return False
        self._doubted = manifest.generation
        for name in manifest.files:
            self._right.pop(name, None)
        self.prove_in_background(self.unproven(manifest))
        return True

    def prove(self, files: Mapping[str, int], go_on: Callable[[], None]) -> None:
        """Sum files now; raises StoreUnavailable that names one whose sum is wrong.

        Calls `go_on` between the pieces of a file; an error that `go_on` raises ends the summing.
        """
        for name, crc in files.items():
            if self._storage.crc(name, go_on) != crc:
                raise StoreUnavailable(f"the search index is damaged: checksum of {name} is wrong")
            self._right[name] = crc

    def prove_in_background(self, files: Mapping[str, int]) -> None:
        """Have the thread sum files, unless it is at work already."""
        with self._starting:
            running = self._thread is not None and self._thread.is_alive()
            if files and not running and not self._closed.is_set():
                self._thread = threading.Thread(
                    target=self._run, args=(dict(files),), name="search-checksums", daemon=True
                )
                self._thread.start()

    def refuse_damaged(self, manifest: Manifest) -> None:
        """Raise Damaged when the manifest names a file that was found damaged."""
        if self._damaged:
            for name in manifest.files:
                if name in self._damaged:
                    raise Damaged(self._damaged[name])

    @contextmanager
    def awaited(self) -> Iterator[Callable[[], None]]:
        """Give what waits a moment for the thread, which does not rest until the block ends."""
        with self._starting:
            self._awaited += 1
        try:
            yield self._wait
        finally:
            with self._starting:
                self._awaited -= 1

    def _wait(self) -> None:
        thread = self._thread
        if thread is not None:
            thread.join(_WAIT)

    def _run(self, files: Mapping[str, int]) -> None:
        self._computed = time.thread_time()
        for name, crc in files.items():
            try:
                self._prove_one(name, crc)
            except _Closed:
                return
            except StoreUnavailable as error:
                self._refuse(name, error.message)

    def _keep_pace(self) -> None:
        """Rest as long as the thread computed, so that it takes half a core at most.

        A lower priority would be worse: the thread could be kept waiting while it has the
        interpreter. Raises _Closed once there is no need to go on.
        """
        rest = 0.0 if self._awaited else time.thread_time() - self._computed
        if self._closed.wait(rest):
            raise _Closed
        self._computed = time.thread_time()

    def _prove_one(self, name: str, crc: int) -> None:
        """Sum a file; one that a newer commit has removed meanwhile is left out."""
        for attempt in range(_ATTEMPTS):
            try:
                self.prove({name: crc}, self._keep_pace)
                return
            except OSError as error:
                newest = read_manifest(self._storage)
                if newest is None or name not in newest.files:
                    return
                if attempt == _ATTEMPTS - 1:
                    raise StoreUnavailable(f"the search index is damaged: {error!r}") from error
                if self._closed.wait(self._storage.retry_seconds):
                    raise _Closed from error

    def _refuse(self, name: str, message: str) -> None:
        """Have a file refused from now on, by later processes before this one tells anybody."""
        # Where nothing can be written, the next process finds out by itself.
        with contextlib.suppress(OSError):
            self._storage.create_file(name + WARNING).close()
        self._damaged[name] = message
        log_line.error("the search index is damaged", extra={"file": name, "error": message})
