"""A full disk is seen before anything is written, and named by what fails because of it."""

import errno
import os
from pathlib import Path

import pytest

from domain.errors import StoreUnavailable
from domain.machine.disk import explained, full_disk, is_of_full_disk, look_at_disk


def status(*, blocks_left: int = 1_000_000, files: int = 100, files_left: int = 100) -> object:
    """Return the system's report of a disk with blocks of 4 kB."""
    values = (4_096, 4_096, 2_000_000, blocks_left, blocks_left, files, files_left, files_left, 0)
    return os.statvfs_result((*values, 255))


@pytest.mark.parametrize(
    ("told", "full"),
    [
        (status(), False),
        (status(blocks_left=0), True),
        (status(blocks_left=900), True),
        (status(blocks_left=1_000), False),
        (status(files_left=0), True),
        (status(files=0, files_left=0), False),
    ],
)
def test_disk_is_full_without_bytes_or_without_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: object, full: bool
) -> None:
    monkeypatch.setattr(os, "statvfs", lambda _: told)

    assert look_at_disk(tmp_path).full is full
    assert (full_disk(tmp_path) is None) is not full


def test_disk_of_a_directory_that_is_not_there_is_that_of_its_nearest_parent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Path] = []
    monkeypatch.setattr(os, "statvfs", lambda path: asked.append(path) or status(blocks_left=0))
    directory = tmp_path / "new" / "data"

    assert full_disk(directory) == f"the disk of {directory} is full: 0 bytes are left"
    assert asked == [tmp_path]


def test_error_of_a_command_names_the_full_disk_as_its_cause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    no_room = OSError(errno.ENOSPC, "No space left on device")
    broken = StoreUnavailable("the event log cannot be used now: disk I/O error")
    monkeypatch.setattr(os, "statvfs", lambda _: status(blocks_left=0))
    full = f"the disk of {tmp_path} is full: 0 bytes are left"

    assert explained(no_room, tmp_path) == full
    assert explained(broken, tmp_path) == f"{broken}; {full}"

    monkeypatch.setattr(os, "statvfs", lambda _: status())
    assert explained(broken, tmp_path) == str(broken)


def test_error_of_a_full_disk_is_known_by_what_caused_it() -> None:
    error = StoreUnavailable("the search index cannot be written")
    assert not is_of_full_disk(error)
    error.__cause__ = OSError(errno.EDQUOT, "Disk quota exceeded")

    assert is_of_full_disk(error)
    assert not is_of_full_disk(OSError(errno.EACCES, "Permission denied"))


def test_directory_that_may_not_be_written_is_named(tmp_path: Path) -> None:
    denied = StoreUnavailable("the lock cannot be made: [Errno 30]")
    denied.__cause__ = OSError(errno.EROFS, "Read-only file system", str(tmp_path / "d" / "lock"))
    elsewhere = OSError(errno.EACCES, "Permission denied", "/elsewhere/export.ndjson")

    why = "cannot be written: it is read-only or belongs to somebody else"
    assert explained(denied, tmp_path / "d") == f"{tmp_path / 'd'} {why}"
    # The directory itself may be written here, so it is the file that may not.
    assert explained(denied, tmp_path) == f"{tmp_path / 'd' / 'lock'} {why}"
    assert explained(elsewhere, tmp_path) == str(elsewhere)
