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
from typing import TypeVar

import msgspec

from domain.errors import StoreUnavailable
from domain.machine import durable_files
from projections.generations.port import Pointer, Proposal, overtaken

T = TypeVar("T", bound=msgspec.Struct)
_BESIDE = ("-wal", "-shm", "-stamp")
"""Suffixes of the files that may be beside a generation's file and belong to it."""


class FolderGenerations:
    """The generations of one projection as files or folders of a data directory."""

    def __init__(self, directory: Path, name: str, pattern: str) -> None:
        """`pattern` is the name of a generation's file or folder, with `{}` for its number."""
        self._directory = directory
        self.name = name
        self._pattern = pattern
        self._pointer = directory / f"{name}.json"
        self._proposal = directory / f"{name}.next.json"

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
            # What is removed meanwhile takes nothing.
            with suppress(FileNotFoundError):
                size += file.stat().st_size if file.is_file() else 0
        return size

    def pointer_revision(self) -> Hashable | None:
        """Inode, time and size of the pointer's file."""
        return _revision(self._pointer)

    def pointer(self) -> Pointer:
        """The pointer as it is now; one that cannot be read points at nothing."""
        try:
            return _read(self._pointer, Pointer) or Pointer()
        except msgspec.MsgspecError as error:
            return Pointer(refused=f"{self._pointer.name} cannot be read: {error}")

    def point(self, pointer: Pointer, *, instead_of: Hashable | None) -> Hashable:
        """Replaces the pointer's file; raises Overtaken and StoreUnavailable."""
        return _write(self._pointer, pointer, instead_of)

    def proposal_revision(self) -> Hashable | None:
        """Inode, time and size of the proposal's file."""
        return _revision(self._proposal)

    def proposal(self) -> Proposal | None:
        """The proposal; None when there is none, or none that can be read."""
        try:
            return _read(self._proposal, Proposal)
        except msgspec.MsgspecError:
            return None

    def propose(self, proposal: Proposal, *, instead_of: Hashable | None) -> Hashable:
        """Replaces the proposal's file; raises Overtaken and StoreUnavailable."""
        return _write(self._proposal, proposal, instead_of)

    def withdraw(self, *, instead_of: Hashable) -> None:
        """Deletes the proposal's file, if it is that of the revision; raises StoreUnavailable."""
        with (
            storage_errors("a proposal cannot be removed"),
            _only_one(self._directory),
        ):
            if _revision(self._proposal) == instead_of:
                self._proposal.unlink(missing_ok=True)

    def remove(self, numbers: Collection[int]) -> None:
        """Deletes the files of generations; raises StoreUnavailable."""
        with storage_errors("an old generation cannot be removed"):
            for number in numbers:
                path = self._path(number)
                if path.is_dir():
                    shutil.rmtree(path)
                for suffix in ("", *_BESIDE):
                    path.with_name(path.name + suffix).unlink(missing_ok=True)

    def building(self) -> AbstractContextManager[None]:
        """Holds the lock file of the builders; raises StoreUnavailable while another does."""
        return build_lock(self._directory, self.name)

    def _path(self, number: int) -> Path:
        return self._directory / self._pattern.format(number)


@contextmanager
def build_lock(directory: Path, name: str) -> Iterator[None]:
    """Holds the lock file for building a generation; raises StoreUnavailable if another process
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
def storage_errors(what: str) -> Iterator[None]:
    """Raises an OSError in the block, such as that of a full disk, as StoreUnavailable.

    `what` says what failed.
    """
    try:
        yield
    except OSError as error:
        raise StoreUnavailable(f"{what}: {error}") from error


def _revision(path: Path) -> tuple[int, int, int] | None:
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size


def _read(path: Path, what: type[T]) -> T | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=what)
    except FileNotFoundError:
        return None


def _write(path: Path, value: msgspec.Struct, instead_of: Hashable | None) -> Hashable:
    """Replaces the file of a revision; returns the revision of the new file."""
    fresh = path.with_name(path.name + ".new")
    with storage_errors(f"{path.name} cannot be written"), _only_one(path.parent) as directory:
        if _revision(path) != instead_of:
            raise overtaken(path.name)
        durable_files.write(fresh, msgspec.json.encode(value))
        os.replace(fresh, path)
        os.fsync(directory)
        return _revision(path)


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
