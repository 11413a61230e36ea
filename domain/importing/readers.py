"""Reads the lines of an import in processes of their own, beside the one that appends.

Decoding and checking lines is half of the work of an import and needs no log. The processes get
chunks of lines in turn and give them back in the same order; a process ends when the pipe to the
one that started it is closed, however that one ended.
"""

import fcntl
import multiprocessing
import os
import signal
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from multiprocessing.connection import Connection
from typing import NamedTuple

import msgspec

from domain.errors import StoreUnavailable
from domain.importing.lines import Chunk, decode_read, read_ahead

CHUNK_LINES = 100
"""The most lines that a process is given together."""
CHUNK_BYTES = 200_000
"""Bytes of lines at which a chunk ends, although it has fewer; its last line may go beyond them."""
_PIPE_BYTES = 1_048_576
"""Size asked of a pipe, in bytes: several chunks wait in it while the other side is busy."""
_MARGIN = 65_536
"""Bytes left free in a pipe, for the lengths of chunks and for pages that are not quite full."""
_MOST_PROCESSES = 4

_decode_lines = msgspec.msgpack.Decoder(list[bytes]).decode
_ENDED = (EOFError, BrokenPipeError, ConnectionResetError)
"""Errors of a pipe whose other end is closed."""


class _Reader(NamedTuple):
    """A process that reads lines: where chunks go in and come out, and how many bytes may wait."""

    chunks: Connection
    results: Connection
    capacity: int


class LineReaders:
    """Processes that read lines; none where there is one core. Made by `line_readers`."""

    def __init__(self, readers: list[_Reader]) -> None:
        self._turns = deque(readers)
        self._given: deque[tuple[_Reader, Chunk, int]] = deque()
        """Chunks not given back yet, in order: the process, the chunk, and the bytes sent."""
        self._waiting = dict.fromkeys(readers, 0)
        """Bytes that each process was sent and has not answered."""

    def read(self, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        """Have each chunk read by the next process; gives the chunks back in their order.

        No more is taken from `chunks` than the pipes hold, or a chunk for each process. Nothing
        else may be read before the end is reached. Raises StoreUnavailable when a process has
        ended.
        """
        if not self._turns:
            yield from chunks
            return
        for chunk in chunks:
            message = msgspec.msgpack.encode([line for _, line in chunk.lines])
            while not self._fits(len(message)):
                yield self._oldest()
            reader = self._turns[0]
            self._turns.rotate(-1)
            with _alive():
                reader.chunks.send_bytes(message)
            self._waiting[reader] += len(message)
            self._given.append((reader, chunk, len(message)))
        while self._given:
            yield self._oldest()

    def _fits(self, size: int) -> bool:
        """Return True if the next process can be sent so many bytes without waiting for it to read.

        A process with nothing to do reads at once. Waiting for a busy one could last for ever: it
        may be waiting itself, until its results are taken.
        """
        waiting = self._waiting[self._turns[0]]
        return waiting == 0 or waiting + size <= self._turns[0].capacity

    def _oldest(self) -> Chunk:
        reader, chunk, size = self._given.popleft()
        with _alive():
            result = reader.results.recv_bytes()
        chunk.read = decode_read(result)
        self._waiting[reader] -= size
        return chunk


@contextmanager
def _alive() -> Iterator[None]:
    """Raise StoreUnavailable when the process at the other end of a pipe has ended."""
    try:
        yield
    except _ENDED:
        raise StoreUnavailable("a process that reads lines has ended") from None


@contextmanager
def line_readers() -> Iterator[LineReaders]:
    """Processes that read lines, until the block ends.

    On Linux they are forks of this one, which begin at once. So this is to be called before there
    are threads, and before the log is opened.
    """
    cores = len(os.sched_getaffinity(0))
    count = min(cores, _MOST_PROCESSES) if cores > 1 else 0
    with ExitStack() as stack:
        yield LineReaders([stack.enter_context(_process()) for _ in range(count)])


@contextmanager
def _process() -> Iterator[_Reader]:
    # The program is loaded already: a fork begins to read at once, a new process after 0.3 s.
    fork = sys.platform == "linux"
    context = multiprocessing.get_context("fork") if fork else multiprocessing.get_context("spawn")
    chunks_out, chunks_in = context.Pipe(duplex=False)
    results_out, results_in = context.Pipe(duplex=False)
    theirs, ours = (chunks_out, results_in), (chunks_in, results_out)
    capacity = min(_widened(chunks_in), _widened(results_in))
    process = context.Process(target=_serve, args=(*theirs, ours), name="line reader", daemon=True)
    process.start()
    for end in theirs:
        end.close()
    try:
        yield _Reader(*ours, capacity)
    finally:
        for end in ours:
            end.close()
        process.join()


def _widened(pipe: Connection) -> int:
    """Let a pipe hold more, where the system knows how; returns how many bytes it holds surely."""
    if sys.platform == "linux":
        with suppress(OSError):
            fcntl.fcntl(pipe.fileno(), fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        return fcntl.fcntl(pipe.fileno(), fcntl.F_GETPIPE_SZ) - _MARGIN
    return 0


def _serve(chunks: Connection, results: Connection, others: Iterable[Connection]) -> None:
    """Work as a process of readers until its pipes are closed."""
    # Ctrl-C reaches every process of the terminal; this one ends with the one that appends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for end in others:
        end.close()
    with suppress(*_ENDED):
        while True:
            results.send_bytes(read_ahead(_decode_lines(chunks.recv_bytes())))
