"""The target of an export: a file that is replaced as a whole, a FIFO, a device or a pipe."""

import errno
import gzip
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from domain.errors import CatalogError
from domain.machine import durable_files

STANDARD = "-"
_LEVEL = 1
"""Level of gzip: the next levels make files smaller by a tenth, at half the speed."""


class TargetFailed(CatalogError):
    """The file, device or pipe that an export is written to does not take it."""


class ReaderLeft(Exception):
    """The reader of the pipe that an export is written to has closed it."""


@contextmanager
def open_target(name: str) -> Iterator["_Target | gzip.GzipFile"]:
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
        with _written("standard output", sys.stdout.fileno()) as target:
            yield target
    elif path.exists() and not path.is_file():
        with _written(name, path) as target:
            yield target
    else:
        path = path.resolve()
        fresh = path.with_name(f"{path.name}.new")
        try:
            with _written(name, fresh) as target:
                yield target
            with _errors_of(name):
                fresh.replace(path)
                with _if_it_can_be_synced():
                    durable_files.sync(path.parent)
        except BaseException:
            fresh.unlink(missing_ok=True)
            raise


class _Target:
    """An open file whose errors speak of the target of an export."""

    def __init__(self, name: str, file: BinaryIO) -> None:
        self._name = name
        self._file = file

    def write(self, data: bytes) -> int:
        """Write a piece, now or together with later ones; returns how many bytes it has."""
        with _errors_of(self._name):
            return self._file.write(data)

    def flush(self) -> None:
        """Hand over to the system everything written so far."""
        with _errors_of(self._name):
            self._file.flush()


@contextmanager
def _written(name: str, file: Path | int) -> Iterator[_Target]:
    """Open a file for writing, and sync it where the block raises nothing.

    `name` stands in errors; a descriptor stays open at the end.
    """
    with _errors_of(name):
        opened = open(file, "wb", closefd=not isinstance(file, int))  # noqa: SIM115
    try:
        target = _Target(name, opened)
        yield target
        target.flush()
        with _errors_of(name), _if_it_can_be_synced():
            os.fsync(opened.fileno())
    finally:
        # After an error, bytes that wait to be written may be lost.
        with suppress(OSError):
            opened.close()


@contextmanager
def _if_it_can_be_synced() -> Iterator[None]:
    """Ignore that pipes, terminals and directories of some file systems cannot be synced."""
    try:
        yield
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise


@contextmanager
def _errors_of(name: str) -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise ReaderLeft from None
    except OSError as error:
        raise TargetFailed(f"{name} cannot be written: {error.strerror}") from error
