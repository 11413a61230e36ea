"""Room on the disk of a directory, and the errors of a disk that has none left."""

import errno
import os
from pathlib import Path

import msgspec

FULL_BYTES = 4_000_000
"""A disk with less room than this counts as full: a single commit may take as much."""
_ERRNOS = frozenset((errno.ENOSPC, errno.EDQUOT))
_DENIED = frozenset((errno.EROFS, errno.EACCES, errno.EPERM))


class Disk(msgspec.Struct, rename="camel", frozen=True):
    """The disk that a directory lies on."""

    directory: str
    bytes: int
    bytes_left: int
    """Bytes that a user other than root may still write."""
    full: bool
    """True if nothing more, or next to nothing, can be written."""

    def sentence(self) -> str:
        """Describe a full disk, for those who may know where it is."""
        return f"the disk of {self.directory} is full: {self.bytes_left} bytes are left"


def look_at_disk(directory: Path) -> Disk | None:
    """The disk of a directory, or of the nearest parent that is there; None where none is told."""
    there = directory.absolute()
    while not there.exists() and there != there.parent:
        there = there.parent
    try:
        status = os.statvfs(there)
    except OSError:
        return None
    left = status.f_bavail * status.f_frsize
    # Some file systems make files as long as there is room, and count none.
    has_files = status.f_files == 0 or status.f_favail > 0
    total = status.f_blocks * status.f_frsize
    return Disk(str(directory), total, left, left < FULL_BYTES or not has_files)


def full_disk(directory: Path) -> str | None:
    """A sentence on a directory whose disk is full; None for any other one."""
    disk = look_at_disk(directory)
    return disk.sentence() if disk is not None and disk.full else None


def explained(error: Exception, directory: Path) -> str:
    """An error as a command says it that works on a data directory.

    The cause is named if it is a full disk, which SQLite calls now so, now an input or output that
    failed, or a directory that may not be written.
    """
    if (denied := _denied(error, directory)) is not None:
        return f"{denied} cannot be written: it is read-only or belongs to somebody else"
    full = full_disk(directory)
    if full is None:
        return str(error)
    return full if is_of_full_disk(error) and isinstance(error, OSError) else f"{error}; {full}"


def _denied(error: BaseException | None, directory: Path) -> Path | None:
    """The directory, or a file in it, that an error says may not be written; None for others."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in _DENIED and error.filename is not None:
            path = Path(error.filename)
            if path.resolve().is_relative_to(directory.resolve()):
                return path if os.access(directory, os.W_OK | os.X_OK) else directory
        error = error.__cause__
    return None


def is_of_full_disk(error: BaseException | None) -> bool:
    """Return True if an error comes of a full disk, or of a quota that is used up."""
    while not (isinstance(error, OSError) and error.errno in _ERRNOS):
        if error is None:
            return False
        error = error.__cause__
    return True
