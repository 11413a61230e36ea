"""The generations of a read model on disk, and the file that says which one is live.

A data directory holds `entities-<n>.db` and `search-<n>/`, and for each projection one pointer
file, `entities.json`, which is only ever replaced as a whole: a reader sees the generation before
a switch or the one after it. A proposal, `entities.next.json`, names the generation that is to
become live: the process that runs the projectors takes it up.
"""

import fcntl
import os
import re
import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import msgspec

from domain.errors import StoreUnavailable

FileMark = tuple[int, int, int]
T = TypeVar("T", bound=msgspec.Struct)


class Generation(msgspec.Struct, frozen=True, rename="camel"):
    """A read model built from the log once, and fed ever since."""

    number: int
    built_at: int
    """Milliseconds since the Unix epoch."""
    code: str
    """Digest of what decides its content: projection, tables or analysis, registry."""


class Pointer(msgspec.Struct, frozen=True, rename="camel"):
    """Which generation is read."""

    live: Generation | None = None
    previous: Generation | None = None
    """What `rollback` goes back to."""
    refused: str | None = None
    """Why there is no live one, when there was one that must not be served."""


class Proposal(msgspec.Struct, frozen=True, rename="camel"):
    """A generation that is to become live."""

    generation: Generation
    ready: bool = False
    """Whether it is finished; otherwise it is still being built, or its building ended."""
    refused: str | None = None
    """Why the process that runs the projectors does not take it."""


class Shelf:
    """Where the generations of one projection lie; `pattern` names a generation's file."""

    def __init__(self, directory: Path, name: str, pattern: str) -> None:
        self.directory = directory
        self.name = name
        self._pattern = pattern
        self._pointer = directory / f"{name}.json"
        self._proposal = directory / f"{name}.next.json"

    def path(self, number: int) -> Path:
        """The file or directory of a generation."""
        return self.directory / self._pattern.format(number)

    def numbers(self) -> list[int]:
        """The generations of which something lies in the directory, ascending."""
        before, after = (re.escape(part) for part in self._pattern.split("{}"))
        matches = (
            re.fullmatch(rf"{before}(\d+){after}(-wal|-shm|-stamp)?", path.name)
            for path in self.directory.iterdir()
        )
        return sorted({int(match[1]) for match in matches if match})

    def pointer_mark(self) -> FileMark | None:
        """Something that differs when the pointer was replaced; None when there is none."""
        return _file_mark(self._pointer)

    def pointer(self) -> Pointer:
        """The pointer as it is now; one that cannot be read points at nothing."""
        try:
            return _read(self._pointer, Pointer) or Pointer()
        except msgspec.MsgspecError as error:
            return Pointer(refused=f"{self._pointer.name} cannot be read: {error}")

    def point(self, pointer: Pointer) -> None:
        """Replace the pointer, to survive power loss; raises StoreUnavailable."""
        _write(self._pointer, pointer)

    def proposal_mark(self) -> FileMark | None:
        """Something that differs when the proposal was replaced; None when there is none."""
        return _file_mark(self._proposal)

    def proposal(self) -> Proposal | None:
        """What is proposed; None when nothing is, or nothing readable."""
        try:
            return _read(self._proposal, Proposal)
        except msgspec.MsgspecError:
            return None

    def propose(self, proposal: Proposal) -> None:
        """Replace the proposal, to survive power loss; raises StoreUnavailable."""
        _write(self._proposal, proposal)

    def withdraw(self) -> None:
        """Take the proposal away, if there is one; raises StoreUnavailable."""
        with storage_errors("a proposal cannot be removed"):
            self._proposal.unlink(missing_ok=True)

    def remove(self, numbers: Collection[int]) -> None:
        """Delete generations; raises StoreUnavailable."""
        with storage_errors("an old generation cannot be removed"):
            for number in numbers:
                path = self.path(number)
                if path.is_dir():
                    shutil.rmtree(path)
                for suffix in ("", "-wal", "-shm", "-stamp"):
                    path.with_name(path.name + suffix).unlink(missing_ok=True)

    @contextmanager
    def building(self) -> Iterator[None]:
        """At most one process builds; raises StoreUnavailable when another one does."""
        with storage_errors("the lock of the builders cannot be made"):
            file = (self.directory / f"{self.name}.build.lock").open("w")
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise StoreUnavailable(
                    f"another process is building a generation of {self.name}"
                ) from None
            yield


@contextmanager
def storage_errors(what: str) -> Iterator[None]:
    """A full disk or a directory that cannot be written as StoreUnavailable."""
    try:
        yield
    except OSError as error:
        raise StoreUnavailable(f"{what}: {error}") from error


def _file_mark(path: Path) -> FileMark | None:
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


def _write(path: Path, value: msgspec.Struct) -> None:
    fresh = path.with_name(path.name + ".new")
    with storage_errors(f"{path.name} cannot be written"):
        with fresh.open("wb") as file:
            file.write(msgspec.json.encode(value))
            file.flush()
            os.fsync(file.fileno())
        os.replace(fresh, path)
        descriptor = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
