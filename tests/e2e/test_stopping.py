"""SIGTERM and SIGINT end `catalog serve` soon and cleanly, whatever it is doing."""

import fcntl
import os
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from projections.feeding.daemon import is_projected
from tests.depth import first_alone
from tests.e2e.conftest import catalog, replay, serving
from tests.waiting import until

SOON = 14.0
"""Seconds: 8 for a batch under way at most, and some for a machine that is busy."""


@contextmanager
def starting(directory: Path, workers: int) -> Iterator[subprocess.Popen[bytes]]:
    """A server that has just been started."""
    arguments = ["--port=0", f"--workers={workers}", f"--data={directory}"]
    process = subprocess.Popen(
        [sys.executable, "-m", "api.commands", "serve", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # A group of its own, to be signalled as Ctrl-C does it.
        process_group=0,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def until_file(process: subprocess.Popen[bytes], path: Path) -> None:
    """Wait until a process that has just been started makes a file."""

    def is_made() -> bool:
        assert process.poll() is None
        return path.exists()

    until(is_made, every=0.001)


def ended(process: subprocess.Popen[bytes], directory: Path) -> tuple[int, list[str]]:
    """Exit code and what was said beside our own log and hints; nothing runs any more."""
    began = time.monotonic()
    said = process.communicate(timeout=60)[1].decode()
    assert time.monotonic() - began < SOON, said
    assert not directory.exists() or not is_projected(directory)
    strange = [line for line in said.splitlines() if not line.startswith(("tokens: ", "{"))]
    return process.returncode, strange


@pytest.mark.parametrize(
    ("moment", "workers", "number"),
    [
        ("secret", 1, signal.SIGTERM),
        pytest.param("entities.json", 2, signal.SIGINT, marks=pytest.mark.deep),
        pytest.param("projectors.lock", 2, signal.SIGINT, marks=pytest.mark.deep),
        pytest.param("events.db", 1, signal.SIGTERM, marks=pytest.mark.deep),
        pytest.param("secret", 2, signal.SIGINT, marks=pytest.mark.deep),
        pytest.param("projectors.lock", 1, signal.SIGTERM, marks=pytest.mark.deep),
        pytest.param("events.db", 2, signal.SIGINT, marks=pytest.mark.deep),
        pytest.param("entities.json", 1, signal.SIGTERM, marks=pytest.mark.deep),
    ],
)
def test_signal_during_the_start_is_not_lost(
    tmp_path: Path, moment: str, workers: int, number: signal.Signals
) -> None:
    with starting(tmp_path / "d", workers) as process:
        until_file(process, tmp_path / "d" / moment)
        os.killpg(process.pid, number)

        assert ended(process, tmp_path / "d") == (0, [])


@pytest.mark.parametrize("workers", [1, 2])
def test_signal_right_after_the_first_line_is_not_lost(tmp_path: Path, workers: int) -> None:
    with starting(tmp_path / "d", workers) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith(b"catalog listens on http://")
        process.terminate()

        assert ended(process, tmp_path / "d") == (0, [])


@pytest.mark.parametrize("workers", first_alone(1, 2))
@pytest.mark.parametrize("delays", first_alone((400, 0), (0, 200, 400, 700, 1_000)))
def test_signal_at_any_moment_ends_the_process(
    tmp_path: Path, workers: int, delays: tuple[int, ...]
) -> None:
    for delay in delays:
        with starting(tmp_path / "d", workers) as process:
            time.sleep(delay / 1_000)
            process.terminate()
            code, strange = ended(process, tmp_path / "d")

        # Before the program itself runs, the signal ends the interpreter that loads it.
        assert (code in (0, -signal.SIGTERM), strange) == (True, []), delay


@pytest.mark.parametrize(
    ("workers", "moment"),
    [
        (1, "search.next.json"),
        pytest.param(1, "entities.next.json", marks=pytest.mark.deep),
        pytest.param(2, "search-1", marks=pytest.mark.deep),
    ],
)
def test_signal_during_the_first_build_interrupts_it(
    tmp_path: Path, imported: Path, workers: int, moment: str
) -> None:
    directory = tmp_path / "d"
    directory.mkdir()
    (directory / "events.db").write_bytes((imported / "events.db").read_bytes())
    with starting(directory, workers) as process:
        until_file(process, directory / moment)
        process.terminate()

        assert ended(process, directory) == (0, [])
    assert not (directory / "search.json").exists()
    # What was left behind is no obstacle to the next one who builds.
    assert replay("catch-up", "--data", str(directory)).returncode == 0
    assert replay("verify", "--data", str(directory)).returncode == 0


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log whose search index takes a second to build."""
    directory = tmp_path_factory.mktemp("imported")
    file = directory / "lines.jsonl"
    lines = ['{"entityType":"glossary","name":"g","description":"a"}']
    term = '{"entityType":"glossaryTerm","glossary":"g","name":"t%05d","description":"%s"}'
    lines += [term % (number, f"word{number} " * 40) for number in range(2_500)]
    file.write_text("\n".join(lines))
    done = catalog("import", str(file), "--data", str(directory))
    assert done.returncode == 0, done.stderr
    return directory


@pytest.mark.parametrize("workers", [1, 2])
def test_signals_to_reopen_logs_end_no_process(tmp_path: Path, workers: int) -> None:
    with serving(tmp_path, "--workers", str(workers)) as server:
        processes = [psutil.Process(server.process.pid)]
        processes += processes[0].children(recursive=True)
        assert len(processes) >= (1 if workers == 1 else 4)
        for each in processes:
            for number in (signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
                each.send_signal(number)
        assert server.get("/v1/glossaries")["data"] == []

        assert [each for each in processes if not each.is_running()] == []
        assert server.stop() == 0


@pytest.mark.parametrize("module", ["api.commands", "replay_tool.commands"])
def test_commands_ignore_signals_to_reopen_logs(tmp_path: Path, module: str) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    arguments = ["import", str(pipe), "--data", str(tmp_path / "d")]
    with subprocess.Popen([sys.executable, "-m", module, *arguments], stderr=-1) as process:
        # It waits for the pipe's writer when this returns.
        with pipe.open("wb"):
            for number in (signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
                process.send_signal(number)
        process.communicate(timeout=60)

    assert process.returncode >= 0


@pytest.mark.parametrize("workers", [1, 2])
def test_server_ends_with_its_terminal(tmp_path: Path, workers: int) -> None:
    main, terminal = os.openpty()
    arguments = ["--port=0", f"--workers={workers}", f"--data={tmp_path}"]
    process = subprocess.Popen(
        [sys.executable, "-m", "api.commands", "serve", *arguments],
        stdin=terminal,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0) and None,
    )
    os.close(terminal)
    try:
        assert process.stdout is not None
        assert b"listens" in process.stdout.readline()
        os.close(main)

        assert process.wait(30) == 0
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()
