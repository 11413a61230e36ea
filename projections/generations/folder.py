"""Keeps the generations of a read model in a data directory.

The directory holds `entities-<n>.db` and `search-<n>/`, and for each projection the pointer
`entities.json` and the proposal `entities.next.json`.
"""

import fcntl
import os
import re
import shutil
from collections.abc import Collection, Hashable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from socket import gethostname

import msgspec

from domain.errors import StoreUnavailable
from domain.machine import durable_files
from domain.machine.storage_errors import storage_errors
from projections.feeding.daemon import ProjectorLock, is_projected
from projections.generations.port import Generations, Pointer, ProposedGeneration, Record

_BESIDE = ("-wal", "-shm", "-stamp")
"""Suffixes of the files that may be beside a generation's file and belong to it."""


class FolderGenerations(Generations):
    """The generations of one projection as files or folders of a data directory."""

    def __init__(self, directory: Path, name: str, pattern: str) -> None:
        """`pattern` is the name of a generation's file or folder, with `{}` for its number."""
        self._directory = directory
        self.name = name
        self._pattern = pattern
        self._records: dict[Record, Path] = {
            "pointer": directory / f"{name}.json",
            "proposal": directory / f"{name}.next.json",
        }

    def address(self, number: int) -> str:
        """The path of a generation's file or folder."""
        return str(self._path(number))

    def numbers(self) -> list[int]:
        """The numbers of the generations that have any file in the directory, ascending."""
        before, after = (re.escape(part) for part in self._pattern.split("{}"))
        matches = (
            re.fullmatch(rf"{before}(\d+){after}({'|'.join(_BESIDE)})?", path.name)
            for path in self._directory.iterdir()
        )
        return sorted({int(match[1]) for match in matches if match})

    def holds(self, number: int) -> bool:
        """True if the file or folder of a generation is there."""
        return self._path(number).exists()

    def size(self, number: int) -> int:
        """Bytes of the files of a generation."""
        path = self._path(number)
        files = [path.with_name(path.name + suffix) for suffix in ("", *_BESIDE)]
        size = 0
        for file in (*files, *path.rglob("*")):
            # A file that is removed meanwhile takes no space.
            with suppress(FileNotFoundError):
                size += file.stat().st_size if file.is_file() else 0
        return size

    def _read(self, record: Record) -> bytes | None:
        try:
            return self._records[record].read_bytes()
        except FileNotFoundError:
            return None

    def revision(self, record: Record) -> Hashable | None:
        """Inode, time and size of a record's file, as its revision; None without a file."""
        try:
            status = os.stat(self._records[record])
        except FileNotFoundError:
            return None
        return status.st_ino, status.st_mtime_ns, status.st_size

    def _replace(
        self, record: Record, value: Pointer | ProposedGeneration, instead_of: Hashable | None
    ) -> Hashable | None:
        path = self._records[record]
        fresh = path.with_name(path.name + ".new")
        with (
            storage_errors(f"{path.name} cannot be written"),
            _only_one(self._directory) as directory,
        ):
            if self.revision(record) != instead_of:
                return None
            durable_files.write(fresh, msgspec.json.encode(value))
            os.replace(fresh, path)
            os.fsync(directory)
            return self.revision(record)

    def withdraw(self, *, instead_of: Hashable) -> None:
        """Delete the proposal's file, if it is that of the revision; raises StoreUnavailable."""
        with (
            storage_errors("a proposal cannot be removed"),
            _only_one(self._directory),
        ):
            if self.revision("proposal") == instead_of:
                self._records["proposal"].unlink(missing_ok=True)

    def remove(self, numbers: Collection[int]) -> None:
        """Delete the files of generations; raises StoreUnavailable."""
        with storage_errors("an old generation cannot be removed"):
            for number in numbers:
                path = self._path(number)
                if path.is_dir():
                    shutil.rmtree(path)
                for suffix in ("", *_BESIDE):
                    path.with_name(path.name + suffix).unlink(missing_ok=True)

    def building(self) -> AbstractContextManager[None]:
        """Hold the lock file of the builders; raises StoreUnavailable while another does."""
        return build_lock(self._directory, self.name)

    def _path(self, number: int) -> Path:
        return self._directory / self._pattern.format(number)


@contextmanager
def build_lock(directory: Path, name: str) -> Iterator[None]:
    """Hold the lock file for building a generation; raises StoreUnavailable if another process
    does.

    The lock ends with its process, however that ends.
    """
    with storage_errors("the lock of the builders cannot be made"):
        file = (directory / f"{name}.build.lock").open("w")
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise StoreUnavailable(f"another process is building a generation of {name}") from None
        yield


@contextmanager
def _only_one(directory: Path) -> Iterator[int]:
    """A lock of the directory for comparing and replacing a record; waits for other processes.

    Gives the open directory.
    """
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)


class FolderLeadership:
    """The leadership of the process that holds the ProjectorLock of a data directory.

    A process that supervises takes the lock before and releases it afterwards, so it always leads.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def leader(self) -> str | None:
        """The name of this host if some process projects the directory, else None."""
        return gethostname() if is_projected(self._directory) else None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock for a block; raises StoreUnavailable when another process does."""
        with ProjectorLock(self._directory):
            yield

    def take(self) -> bool:
        """Return True: the caller holds the lock already."""
        return True

    def leads(self) -> bool:
        """Return True: a process has the lock until it ends."""
        return True

    def release(self) -> None:
        """Do nothing: the holder of the ProjectorLock releases it."""
