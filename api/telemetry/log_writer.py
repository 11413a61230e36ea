"""Writes log lines in a thread of its own, so that whoever reads the log can stall no request.

`logging.handlers.QueueHandler` and its listener bound lines by their number and not their bytes,
write each by itself, and end only when all are written, however long that takes.
"""

import os
import select
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import msgspec

MOST_BYTES = 2 * 1024 * 1024
"""How many bytes of lines may wait while others are written: 1 to 2 s of a busy server."""
_LARGE_BLOCK = 256 * 1024
"""Bytes that are written at once where no other process writes between them."""
_GATHER_SECONDS = 0.05
"""How often the writer looks for lines: waking it for each one would cost more than writing it."""
_RETRY_SECONDS = 1.0
"""How long the writer waits before it tries again what failed."""
_FLUSH_SECONDS = 2.0
"""How long the end of a process waits for lines to be written."""


class LogWriter:
    """A buffer of log lines in front of a file, pipe or terminal; `open_log_writer` runs one.

    When the buffer is full, lines are dropped and counted until the writer takes what is in it.
    A line of the log then says how many were dropped, at the place where they are missing.
    """

    def __init__(
        self, descriptor: int, count_dropped: Callable[[], None], *, shared: bool = True
    ) -> None:
        """`descriptor` belongs to an open file, which may block; `shared`, if others write to it.

        Calls `count_dropped` for each line that is dropped.
        """
        self._descriptor = descriptor
        # Each write hands the interpreter over twice, which the requests meanwhile wait for.
        whole = not shared or stat.S_ISREG(os.fstat(descriptor).st_mode)
        self._block = _LARGE_BLOCK if whole else select.PIPE_BUF
        self._count_dropped = count_dropped
        # The same thread may take this lock again: garbage collection, which may log, can come in
        # the middle of `write`.
        self._lock = threading.RLock()
        self._waiting = bytearray()
        self._unreported = 0
        self._closing = threading.Event()
        self._deadline = float("inf")
        self._thread = threading.Thread(target=self._run, name="log-writer", daemon=True)

    def write(self, line: bytes) -> None:
        """Have a line written, its line end included; never waits, and raises nothing."""
        with self._lock:
            if self._unreported or len(self._waiting) + len(line) > MOST_BYTES:
                self._count_dropped()
                self._unreported += 1
                return
            self._waiting += line

    def start(self) -> None:
        """Start the thread that writes."""
        self._thread.start()

    def close(self) -> None:
        """Write the waiting lines, for 2 seconds at most, and end the thread."""
        self._deadline = time.monotonic() + _FLUSH_SECONDS
        self._closing.set()
        # A blocked write cannot be interrupted: its thread ends with the process then.
        self._thread.join(_FLUSH_SECONDS)

    def _run(self) -> None:
        while True:
            closing = self._closing.wait(_GATHER_SECONDS)
            lines = self._take()
            if closing and not lines:
                return
            for block in _blocks(lines, self._block):
                if not self._write(block):
                    return

    def _take(self) -> bytearray:
        """Empty the buffer; returns its lines. A line on dropped ones is then the first to wait."""
        with self._lock:
            lines, self._waiting = self._waiting, bytearray()
            if self._unreported:
                self._waiting += _report(self._unreported)
                self._unreported = 0
        return lines

    def _write(self, block: memoryview) -> bool:
        """Write a block, however long it takes; False when the process ends before that."""
        while block:
            try:
                block = block[os.write(self._descriptor, block) :]
            except BlockingIOError:
                poll = select.poll()
                poll.register(self._descriptor, select.POLLOUT)
                poll.poll(_RETRY_SECONDS * 1e3)
                if time.monotonic() > self._deadline:
                    return False
            except OSError:
                # A full disk and a pipe without a reader may both pass.
                if self._closing.wait(_RETRY_SECONDS):
                    return False
        return True


def _blocks(lines: bytearray, size: int) -> Iterator[memoryview]:
    """Blocks of whole lines, of `size` bytes at most, or of one longer line.

    A pipe takes PIPE_BUF bytes in one piece, a file any number: lines of several processes do not
    mix then.
    """
    view = memoryview(lines)
    start = 0
    while start < len(lines):
        end = lines.rfind(b"\n", start, start + size) + 1
        end = end or lines.find(b"\n", start) + 1
        yield view[start:end]
        start = end


def _report(dropped: int) -> bytes:
    report = {
        "dropped": dropped,
        "event": "log lines dropped: whoever reads the log did not keep up",
        "level": "warning",
        "timestamp": datetime.now(UTC),
    }
    return msgspec.json.encode(report) + b"\n"


@contextmanager
def open_log_writer(
    count_dropped: Callable[[], None], *, shared: bool = True
) -> Iterator[LogWriter]:
    """A writer to standard error, or to nowhere when that is closed, until the block ends.

    `shared` is whether other processes of this program write there too. Calls `count_dropped` for
    each line that is dropped.
    """
    closed = sys.stderr is None
    descriptor = os.open(os.devnull, os.O_WRONLY) if closed else sys.stderr.fileno()
    writer = LogWriter(descriptor, count_dropped, shared=shared)
    writer.start()
    try:
        yield writer
    finally:
        writer.close()
        if closed:
            os.close(descriptor)
