"""Targets of `catalog-replay export`, and what it says of them."""

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from benchmarks.direct_catalog import DirectCatalog
from domain.kinds.registry import KINDS
from domain.write_context import WriteContext
from projections.wiring.stores import open_log
from replay_tool.export_target import open_target
from tests.e2e.conftest import replay
from tests.e2e.forked import Forked

UNREAD = 141


@pytest.fixture
def large(data: Path) -> Path:
    """A catalog whose export is more than a pipe holds."""
    log = open_log(data)
    context = WriteContext(actor="ann", request_id="large")
    values = {"name": "large", "serviceType": "Mysql", "description": "x" * 2_000_000}
    DirectCatalog(log).put(KINDS["databaseService"], values, context)
    log.close()
    return data


def export(data: Path, target: str) -> subprocess.Popen[bytes]:
    """An export that runs, its output unread so far."""
    command = [sys.executable, "-m", "replay_tool.commands", "export", target, "--data", str(data)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_fifo_is_written_into(built: Path, tmp_path: Path, suffix: str) -> None:
    fifo, plain = tmp_path / f"fifo{suffix}", tmp_path / f"plain{suffix}"
    os.mkfifo(fifo)
    # Opened without waiting for a writer, so that the test cannot hang on it.
    reading = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    received: list[bytes] = []
    with os.fdopen(reading, "rb") as reader:
        into_fifo = replay("export", str(fifo), "--data", str(built))
        received.append(reader.read())
    into_file = replay("export", str(plain), "--data", str(built))

    assert (into_fifo.returncode, into_file.returncode) == (0, 0), into_fifo.stderr
    assert stat.S_ISFIFO(os.stat(fifo).st_mode)
    assert received == [plain.read_bytes()]
    assert sorted(path.name for path in tmp_path.iterdir()) == [fifo.name, plain.name]


def test_full_device_is_named_and_stays_a_device(built: Path, tmp_path: Path) -> None:
    link = tmp_path / "full"
    link.symlink_to("/dev/full")

    done = replay("export", str(link), "--data", str(built))

    assert (done.returncode, done.stderr) == (
        2,
        f"error: {link} cannot be written: No space left on device\n",
    )
    assert stat.S_ISCHR(os.stat(link).st_mode)
    assert [path.name for path in tmp_path.iterdir()] == ["full"]


def test_file_behind_a_link_is_replaced_and_the_link_stays(built: Path, tmp_path: Path) -> None:
    file, link = tmp_path / "file", tmp_path / "link"
    file.write_text("old")
    link.symlink_to("file")

    done = replay("export", "--overwrite", str(link), "--data", str(built))

    assert done.returncode == 0

    assert link.is_symlink()
    assert len(file.read_bytes().splitlines()) == 8 + 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "link"]


@pytest.mark.parametrize("linked", [False, True])
def test_file_that_exists_is_not_replaced_unasked(
    built: Path, tmp_path: Path, linked: bool
) -> None:
    file, link = tmp_path / "file", tmp_path / "link"
    file.write_text("old")
    link.symlink_to("file")
    target = link if linked else file

    done = replay("export", str(target), "--data", str(built))

    assert (done.returncode, file.read_text()) == (2, "old")
    assert done.stderr == (
        f"error: {target} exists: name another file, or replace it with --overwrite\n"
    )


def test_export_that_fails_leaves_the_older_file(data: Path, tmp_path: Path) -> None:
    file = tmp_path / "log.ndjson"
    file.write_text("old")
    (data / "events.db").write_bytes(b"no database" * 1_000)

    done = replay("export", "--overwrite", str(file), "--data", str(data))

    assert (done.returncode, file.read_text()) == (2, "old")
    assert "the event log cannot be used now" in done.stderr
    assert list(tmp_path.glob("*.new")) == []


def test_place_that_cannot_be_written_is_named(built: Path, tmp_path: Path) -> None:
    target = tmp_path / "nowhere" / "log.ndjson"

    done = replay("export", str(target), "--data", str(built))

    assert (done.returncode, done.stderr) == (
        2,
        f"error: {target} cannot be written: No such file or directory\n",
    )


def test_reader_that_leaves_ends_the_export_without_a_word(large: Path) -> None:
    process = export(large, "-")
    assert process.stdout is not None
    assert process.stderr is not None
    first = process.stdout.readline()
    process.stdout.close()
    said = process.stderr.read()
    process.stderr.close()

    assert first.startswith(b'{"format":"metadata-catalog-log"')
    assert (process.wait(60), said) == (UNREAD, b"")


def test_reader_of_a_fifo_that_leaves_ends_the_export_without_a_word(
    large: Path, tmp_path: Path
) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)

    def read_a_little() -> None:
        with fifo.open("rb") as reader:
            reader.read(1)

    reading = threading.Thread(target=read_a_little, daemon=True)
    reading.start()
    done = replay("export", str(fifo), "--data", str(large))
    reading.join(60)

    assert (done.returncode, done.stderr) == (UNREAD, "")


def test_reader_that_is_gone_from_the_start_ends_a_command_without_a_word(
    built: Path, tmp_path: Path
) -> None:
    as_json = ("inspect", "--json"), ("verify", "--json")
    for arguments in (("export", "-"), ("inspect",), ("verify",), *as_json):
        reading, writing = os.pipe()
        os.close(reading)
        command = [*arguments, "--data", str(built)]
        with (tmp_path / "said").open("w+b") as said:
            done = Forked("replay_tool.commands", command, os.environ, writing, said.fileno())
            os.close(writing)
            code = done.wait(60)
            said.seek(0)

            assert (arguments, code, said.read()) == (arguments, UNREAD, b"")


def test_closed_standard_output_is_named(built: Path) -> None:
    command = f"{sys.executable} -m replay_tool.commands export - --data '{built}' >&-"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (2, "error: standard output is closed\n")


def test_file_is_synced_before_its_rename_and_the_directory_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "log.ndjson"
    synced: list[tuple[int, bool]] = []
    fsync = os.fsync

    def recorded(descriptor: int) -> None:
        synced.append((os.fstat(descriptor).st_ino, file.exists()))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", recorded)
    with open_target(str(file)) as target:
        target.write(b"{}\n")

    assert synced == [(file.stat().st_ino, False), (tmp_path.stat().st_ino, True)]
