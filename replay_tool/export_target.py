"""The target of an export: a file that is replaced as a whole, a FIFO, a device or a pipe."""

import errno
import gzip
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

from domain.errors import CatalogError
from domain.machine import durable_files

STANDARD = "-"
_LEVEL = 1
"""Level of gzip: the next levels make files smaller by a tenth, at half the speed."""


class Writable(Protocol):
    """A file, device or pipe that takes an export piece by piece."""

    def write(self, data: bytes, /) -> int:
        """Write a piece; returns how many bytes it has."""


class TargetFailed(CatalogError):
    """The file, device or pipe that an export is written to does not take it."""


class ReaderLeft(Exception):
    """The reader of the pipe that an export is written to has closed it."""


@contextmanager
def open_target(name: str) -> Iterator[Writable]:
    """The file of that name for writing, compressed when it is named .gz; - is standard output.

    A regular file appears under its name when the block has ended and all of it is synced; until
    then an older one stays. The file and its name survive power loss from the end of the block on.
    A FIFO, a device, or what a link leads to is written into as it is. Raises TargetFailed, or
    ReaderLeft when a pipe is closed by its reader; errors of the block itself are left alone.
    """
    with _opened(name) as target:
        if name.endswith(".gz"):
            # No name and no time inside, so that equal logs make equal files.
            with gzip.GzipFile("", "wb", _LEVEL, target, mtime=0) as packed:
                yield packed
        else:
            yield target


@contextmanager
def _opened(name: str) -> Iterator["_Target"]:
    path = Path(name)
    if name == STANDARD:
        if sys.stdout is None:
            raise TargetFailed("standard output is closed")
        with _Target("standard output", sys.stdout.fileno()) as target:
            yield target
    elif path.exists() and not path.is_file():
        with _Target(name, path) as target:
            yield target
    else:
        path = path.resolve()
        fresh = path.with_name(f"{path.name}.new")
        try:
            with _Target(name, fresh) as target:
                yield target
            with _errors_of(name):
                fresh.replace(path)
                _sync_directory(path.parent)
        except BaseException:
            fresh.unlink(missing_ok=True)
            raise


class _Target:
    """An open file whose errors speak of the target of an export."""

    def __init__(self, name: str, file: Path | int) -> None:
        """`name` stands in errors; a descriptor stays open at the end."""
        self._name = name
        with _errors_of(name):
            self._file = open(file, "wb", closefd=not isinstance(file, int))  # noqa: SIM115

    def __enter__(self) -> "_Target":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: object
    ) -> None:
        if error is None:
            try:
                self.flush()
                self._sync()
            except BaseException:
                self._abandon()
                raise
            self._file.close()
        else:
            self._abandon()

    def write(self, data: bytes) -> int:
        """Write a piece, now or together with later ones; returns how many bytes it has."""
        with _errors_of(self._name):
            return self._file.write(data)

    def flush(self) -> None:
        """Hand over to the system everything written so far."""
        with _errors_of(self._name):
            self._file.flush()

    def _sync(self) -> None:
        with _errors_of(self._name), _if_it_can_be_synced():
            os.fsync(self._file.fileno())

    def _abandon(self) -> None:
        """Close without an error, even if what waits to be written is lost."""
        with suppress(OSError):
            self._file.close()


@contextmanager
def _if_it_can_be_synced() -> Iterator[None]:
    """Ignore that pipes, terminals and directories of some file systems cannot be synced."""
    try:
        yield
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise


def _sync_directory(directory: Path) -> None:
    with _if_it_can_be_synced():
        durable_files.sync(directory)


@contextmanager
def _errors_of(name: str) -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise ReaderLeft from None
    except OSError as error:
        raise TargetFailed(f"{name} cannot be written: {error.strerror}") from error
