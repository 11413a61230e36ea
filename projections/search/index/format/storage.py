"""The directory with the files of an index.

Whoosh's storage with what Whoosh leaves out: syncing, checksums, and a look whether there is a new
manifest.
"""

import fcntl
import mmap
import os
import zlib
from collections.abc import Callable
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import Any

from numpy.typing import NDArray
from whoosh.filedb.filestore import FileStorage

from domain.machine import durable_files
from projections.search.index.format.arrays import unpack

INDEX = "search"
"""Name of the index in Whoosh's file names."""
MANIFEST = "manifest.json"
LOCK = "LOCK"
"""Name of the lock by which engines of the catalog take turns, commit by commit."""
WRITE_LOCK = f"{INDEX}_WRITELOCK"
"""Name of the lock that Whoosh's own writers take; open engines share it to keep them out."""
_PIECE = 1 << 22
"""Bytes that are summed at most at a time: a millisecond or two without the interpreter."""


def map_arrays(storage: Any, name: str) -> dict[str, NDArray[Any]]:
    """The arrays of a file of one of Whoosh's storages, mapped into memory; raises OSError."""
    with open(storage._fpath(name), "rb") as file:
        return unpack(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


class Directory(FileStorage):  # type: ignore[misc]
    """Files of a directory that only its owner may read, as they hold pickles."""

    summed_at_once = 4_000_000
    """Bytes of new files that a search, or the first opening, sums itself: some milliseconds."""
    retry_seconds = 1.0
    """Time after which a file that could not be read is summed again."""

    @cached_property
    def _root(self) -> str:
        return f"{os.path.abspath(self.folder)}{os.sep}"

    def _path(self, name: str) -> str:
        """The path of a file. Whoosh makes it absolute each time, which searches would wait for."""
        return f"{self._root}{name}"

    def file_length(self, name: str) -> int:
        """The size of a file in bytes; raises OSError."""
        return os.path.getsize(self._path(name))

    def rename_file(self, oldname: str, newname: str, safe: bool = False) -> None:
        """Rename a file, in place of any file that has the new name."""
        os.replace(self._path(oldname), self._path(newname))

    def sync(self, names: list[str]) -> None:
        """Have the files and their names survive a power loss."""
        durable_files.sync(*map(self._path, (*names, "")))

    def manifest_stamp(self) -> object:
        """Return a value that differs after each change of the manifest; None without one."""
        try:
            status = os.stat(self._path(MANIFEST))
        except FileNotFoundError:
            return None
        return status.st_ino, status.st_mtime_ns, status.st_size

    def share_write_lock(self) -> ExitStack | None:
        """Hold Whoosh's write lock together with others until the stack is closed.

        None while one of Whoosh's own writers has it, who share it with nobody.
        """
        with ExitStack() as stack:
            file = stack.enter_context(open(self._path(WRITE_LOCK), "ab"))
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return None
            return stack.pop_all()

    def read(self, name: str) -> bytes:
        """All bytes of a file."""
        return Path(self._path(name)).read_bytes()

    def crc(self, name: str, go_on: Callable[[], None] = lambda: None) -> int:
        """The CRC-32 of a file's bytes, which are read for it.

        Calls `go_on` after each piece; what that raises ends the summing.
        """
        total = 0
        with open(self._path(name), "rb", buffering=0) as file:
            # To make room for a whole piece takes a commit longer than to sum its small files.
            piece = memoryview(bytearray(min(_PIECE, os.fstat(file.fileno()).st_size + 1)))
            while size := file.readinto(piece):
                total = zlib.crc32(piece[:size], total)
                go_on()
        return total
