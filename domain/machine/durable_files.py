"""Files, and the names of files in directories, that survive a power loss; stamps of files."""

import os
from pathlib import Path


def sync(*paths: Path | str) -> None:
    """Have files, and the names in directories, survive power loss; raises OSError."""
    for path in paths:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def write(path: Path, content: bytes, mode: int = 0o666) -> None:
    """Write a file, in place of any that is there, whose bytes survive power loss then.

    `mode` has the permissions of a new file. The name is for `sync` of its directory. Raises
    OSError.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def stamp(path: Path) -> tuple[int, ...] | None:
    """Times, size and inode of a file, which differ after an edit; None when there is no file.

    Takes about a microsecond.
    """
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino
