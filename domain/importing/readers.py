"""Reads the lines of an import in processes of their own, beside the one that appends.

Decoding and checking lines is half of the work of an import and needs no log. The processes get
chunks of lines in turn, which are given back in the same order.
"""

import multiprocessing
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from contextlib import contextmanager

from domain.errors import StoreUnavailable
from domain.importing.lines import Chunk, decode_read, read_ahead

CHUNK_LINES = 100
"""The most lines that a process is given together."""
CHUNK_BYTES = 200_000
"""Bytes of lines at which a chunk ends, although it has fewer; its last line may go beyond them."""
_WAITING_BYTES = 800_000
"""Bytes of lines that are given out for each process, or one chunk where that is larger."""
_MOST_PROCESSES = 4


class LineReaders:
    """Some processes that read lines; where there is one core, none. Made by `line_readers`."""

    def __init__(self, pool: ProcessPoolExecutor | None = None, count: int = 0) -> None:
        """`count` is the number of processes in the pool."""
        self._pool = pool
        self._count = count

    def read(self, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        """The chunks in their order, with what was read of their lines.

        No more is taken from `chunks` than _WAITING_BYTES for each process, or a chunk for each.
        Raises StoreUnavailable when a process has ended.
        """
        if self._pool is None:
            yield from chunks
            return
        given: deque[tuple[Chunk, int, Future[bytes]]] = deque()
        try:
            for chunk in chunks:
                lines = [line for _, line in chunk.lines]
                size = sum(map(len, lines))
                most = self._count * _WAITING_BYTES
                while len(given) >= self._count and size + sum(each[1] for each in given) > most:
                    yield _oldest(given)
                given.append((chunk, size, self._pool.submit(read_ahead, lines)))
            while given:
                yield _oldest(given)
        except BrokenExecutor:
            raise StoreUnavailable("a process that reads lines has ended") from None


def _oldest(given: deque[tuple[Chunk, int, Future[bytes]]]) -> Chunk:
    chunk, _, reading = given.popleft()
    chunk.read = decode_read(reading.result())
    return chunk


@contextmanager
def line_readers() -> Iterator[LineReaders]:
    """Processes that read lines, until the block ends.

    On Linux they are forks of this one, which begin at once. So this is to be called before there
    are threads, and before the log is opened.
    """
    count = min(len(os.sched_getaffinity(0)), _MOST_PROCESSES)
    if count == 1:
        yield LineReaders()
        return
    # The program is loaded already: a fork begins to read at once, a new process after 0.3 s.
    context = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
    with ProcessPoolExecutor(count, context, initializer=_begin) as pool:
        # All forks are made for the first piece of work.
        pool.submit(os.getpid).result()
        try:
            yield LineReaders(pool, count)
        finally:
            pool.shutdown(cancel_futures=True)


def _begin() -> None:
    """Have a process go on when Ctrl-C reaches it, and end with the one that started it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
