"""Processes that read lines: in order, all that was given, and gone with the one they work for."""

import json
import multiprocessing
import os
import signal
from collections.abc import Iterable, Iterator

import pytest

from domain.errors import StoreUnavailable
from domain.importing.lines import Chunk, LinesRead, batches, decode_read, read_ahead
from domain.importing.readers import line_readers
from tests.waiting import until


def service(name: str, description: str = "x") -> bytes:
    values = {"entityType": "databaseService", "name": name, "serviceType": "Mysql"}
    return json.dumps(values | {"description": description}).encode()


def chunks(lines: Iterable[bytes], size: int = 3) -> Iterator[Chunk]:
    return (Chunk(numbered) for numbered in batches(lines, size))


@pytest.mark.parametrize("size", [1, 3, 50])
def test_chunks_come_back_in_order_with_what_was_read(size: int) -> None:
    lines = [b"{" if number % 7 == 0 else service(f"s{number}") for number in range(500)]
    with line_readers() as readers:
        for again in range(2):
            read = list(readers.read(chunks(lines[again:], size)))
            assert [line for chunk in read for line in chunk.lines] == [
                (number, line) for number, line in enumerate(lines[again:], start=1)
            ]
            assert [each for chunk in read for each in chunk.read.lines] == decode_read(
                read_ahead(lines[again:])
            ).lines


def test_lines_longer_than_pipes_come_back() -> None:
    lines = [service(f"s{number}", "x" * 3_000_000) for number in range(6)]
    with line_readers() as readers:
        read = list(readers.read(chunks(lines, 1)))
    assert [chunk.read for chunk in read] == [decode_read(read_ahead([line])) for line in lines]


def test_no_more_chunks_are_taken_than_processes_and_pipes_hold() -> None:
    taken: list[int] = []

    def endless() -> Iterator[Chunk]:
        for number in range(1, 1_000_000):
            taken.append(number)
            yield Chunk([(number, service("s", "x" * 200_000))])

    with line_readers() as readers:
        read = readers.read(endless())
        for _ in range(20):
            next(read)
        assert len(taken) < 20 + 5 * max(1, len(multiprocessing.active_children())) + 1


def test_on_one_core_there_are_no_processes_and_nothing_is_read_ahead(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0})
    before = multiprocessing.active_children()
    with line_readers() as readers:
        assert multiprocessing.active_children() == before
        (chunk,) = readers.read([Chunk([(1, service("s"))], 7)])
    assert (chunk.lines, chunk.end, chunk.read) == (
        [(1, service("s"))],
        7,
        LinesRead(),
    )


def test_processes_end_with_the_block() -> None:
    before = multiprocessing.active_children()
    with line_readers() as readers:
        next(readers.read(chunks([service("s")] * 10_000)))
    assert multiprocessing.active_children() == before


@pytest.mark.skipif(len(os.sched_getaffinity(0)) == 1, reason="one core: no processes")
def test_process_that_ends_is_told_of() -> None:
    before = set(multiprocessing.active_children())
    with line_readers() as readers:
        mine = set(multiprocessing.active_children()) - before
        for process in mine:
            assert process.pid is not None
            os.kill(process.pid, signal.SIGKILL)
        until(lambda: not any(process.is_alive() for process in mine))
        with pytest.raises(StoreUnavailable, match="a process that reads lines has ended"):
            list(readers.read(chunks([service("s")] * 100)))
