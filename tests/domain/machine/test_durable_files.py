"""Durable files are handed to the disk before anything else happens."""

import os
import stat
from pathlib import Path

import pytest

from domain.machine import durable_files


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files and directories that the disk was waited for, in order."""
    paths: list[Path] = []

    def fsync(descriptor: int) -> None:
        paths.append(Path(os.readlink(f"/proc/self/fd/{descriptor}")))

    monkeypatch.setattr(os, "fsync", fsync)
    return paths


def test_sync_waits_for_files_and_directories(tmp_path: Path, synced: list[Path]) -> None:
    file = tmp_path / "file"
    file.touch()
    durable_files.sync(file, str(tmp_path))
    assert synced == [file, tmp_path]


def test_sync_of_what_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        durable_files.sync(tmp_path / "none")


def test_write_replaces_the_bytes_and_waits_for_them(tmp_path: Path, synced: list[Path]) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"longer than what comes")
    durable_files.write(file, b"new", 0o600)
    assert (file.read_bytes(), synced) == (b"new", [file])


def test_write_gives_a_new_file_its_permissions(tmp_path: Path) -> None:
    file = tmp_path / "file"
    durable_files.write(file, b"secret", 0o600)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
