"""Log lines reach whoever reads them in order and whole, and nobody waits for a slow reader."""

import json
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from api.telemetry.logs import MOST_BYTES, LogWriter
from tests.waiting import until

FILLING = b"x" * 200


def line(number: int) -> bytes:
    return b'{"number":%d,"filling":"%s"}' % (number, FILLING)


class Dropped:
    """Counts lines that were dropped."""

    def __init__(self) -> None:
        self.lines = 0

    def count(self) -> None:
        self.lines += 1


@contextmanager
def running(
    descriptor: int, dropped: Dropped | None = None, *, shared: bool = True
) -> Iterator[LogWriter]:
    writer = LogWriter(descriptor, (dropped or Dropped()).count, shared=shared)
    writer.start()
    try:
        yield writer
    finally:
        writer.close()


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """The reading and the writing end; a test may close either."""
    ends = os.pipe()
    yield ends
    for end in ends:
        with suppress(OSError):
            os.close(end)


class Reader(threading.Thread):
    """Reads a pipe to its end."""

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self._descriptor = descriptor
        self.received = b""
        self.start()

    def run(self) -> None:
        while part := os.read(self._descriptor, 65_536):
            self.received += part

    def lines(self) -> list[Any]:
        """All lines, once the pipe is closed."""
        self.join(30)
        return [json.loads(each) for each in self.received.splitlines()]


@pytest.mark.parametrize("shared", [True, False])
def test_lines_of_several_threads_come_whole_and_in_the_order_of_each(
    pipe: tuple[int, int], shared: bool
) -> None:
    reader = Reader(pipe[0])
    dropped = Dropped()
    with running(pipe[1], dropped, shared=shared) as writer:

        def write(start: int) -> None:
            for number in range(start, start + 1_000):
                writer.write(line(number))

        threads = [threading.Thread(target=write, args=(at,)) for at in (0, 1_000, 2_000)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    os.close(pipe[1])

    numbers = [each["number"] for each in reader.lines()]
    assert sorted(numbers) == list(range(3_000))
    for start in (0, 1_000, 2_000):
        mine = [number for number in numbers if start <= number < start + 1_000]
        assert mine == list(range(start, start + 1_000))
    assert dropped.lines == 0


@pytest.mark.parametrize("blocking", [True, False])
def test_unread_pipe_stops_nobody_and_what_was_dropped_is_said_where_it_is_missing(
    pipe: tuple[int, int], blocking: bool
) -> None:
    os.set_blocking(pipe[1], blocking)
    written = 4 * MOST_BYTES // len(line(0))
    dropped = Dropped()
    with running(pipe[1], dropped) as writer:
        for number in range(written):
            writer.write(line(number))
        assert dropped.lines > 0
        reader = Reader(pipe[0])
        # What did not fit has been told of, and the log goes on.
        until(lambda: b'"dropped"' in reader.received)
        writer.write(line(written))
    os.close(pipe[1])

    lines = reader.lines()
    expected = 0
    told = 0
    for each in lines:
        if "dropped" in each:
            assert each["level"] == "warning"
            told += each["dropped"]
            expected += each["dropped"]
        else:
            assert each["number"] == expected
            expected += 1
    assert expected == written + 1
    assert told == dropped.lines
    # The buffer, as much again on its way, and what the pipe holds.
    kept = (len(lines) - 1) * len(line(0))
    assert MOST_BYTES * 0.9 < kept < 2 * MOST_BYTES + 200_000


@pytest.mark.parametrize("kind", ["pipe", "file"])
def test_lines_of_several_writers_do_not_mix(
    pipe: tuple[int, int], tmp_path: Path, kind: str
) -> None:
    file = tmp_path / "log"
    reader = Reader(pipe[0])
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT) if kind == "file" else os.dup(pipe[1])

    def has(number: int) -> bool:
        written = reader.received if kind == "pipe" else file.read_bytes()
        return b'{"number":%d,' % number in written

    with running(descriptor) as one, running(descriptor) as other:
        for start in range(0, 6_000, 1_000):
            for number in range(start, start + 1_000):
                (one if number % 2 else other).write(line(number))
            # So that both write several times.
            until(partial(has, start + 998))
            until(partial(has, start + 999))
    os.close(descriptor)
    os.close(pipe[1])

    lines = reader.lines() if kind == "pipe" else map(json.loads, file.read_text().splitlines())
    numbers = [each["number"] for each in lines]
    assert sorted(numbers) == list(range(6_000))
    for parity in (0, 1):
        assert [n for n in numbers if n % 2 == parity] == list(range(parity, 6_000, 2))


def test_end_does_not_wait_for_a_pipe_that_nobody_reads(pipe: tuple[int, int]) -> None:
    with running(pipe[1]) as writer:
        for number in range(1_000):
            writer.write(line(number))
        began = time.monotonic()
    assert time.monotonic() - began < 10
    # The thread ends with the pipe.
    os.close(pipe[0])


def test_line_longer_than_a_pipe_takes_at_once_comes_whole(pipe: tuple[int, int]) -> None:
    os.set_blocking(pipe[1], False)
    reader = Reader(pipe[0])
    long = b'{"number":1,"filling":"%s"}' % (b"y" * 300_000)
    with running(pipe[1]) as writer:
        for each in (line(0), long, line(2)):
            writer.write(each)
    os.close(pipe[1])

    assert [each["number"] for each in reader.lines()] == [0, 1, 2]


def test_closed_pipe_raises_nothing_and_is_written_to_when_it_has_a_reader_again(
    tmp_path: Path,
) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    first = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    writing = os.open(fifo, os.O_WRONLY)
    dropped = Dropped()
    with running(writing, dropped) as writer:
        writer.write(line(0))
        until(lambda: bool(_readable(first)))
        os.close(first)
        writer.write(line(1))
        second = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
        writer.write(line(2))
        received = b""

        def has_all() -> bool:
            nonlocal received
            received += _readable(second)
            return b'"number":2' in received

        until(has_all)
    os.close(second)
    os.close(writing)

    numbers = [json.loads(each)["number"] for each in received.splitlines()]
    assert numbers == [1, 2]
    assert dropped.lines == 0


def _readable(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65_536)
    except BlockingIOError:
        return b""


def test_end_writes_what_waits(tmp_path: Path) -> None:
    file = tmp_path / "log"
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    with running(descriptor) as writer:
        for number in range(500):
            writer.write(line(number))
    os.close(descriptor)

    assert file.read_bytes() == b"".join(line(number) + b"\n" for number in range(500))
