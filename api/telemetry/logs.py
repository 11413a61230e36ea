"""Logs: JSON lines on standard error, of this program, of libraries, and one for each request.

No line holds a header, a query or a path as it came, because these may hold secrets.

A thread of its own writes the lines, so that whoever reads the log can stall no request.
`logging.handlers.QueueHandler` and its listener bound lines by their number and not their bytes,
write each by itself, and end only when all are written, however long that takes.
"""

import json
import logging
import os
import select
import stat
import sys
import threading
import time
from asyncio import CancelledError
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Literal

import msgspec

from domain.errors import InvalidInput

MOST_BYTES = 4 * 1024 * 1024
"""The most bytes of lines that wait while others are written: about a second of a busy server."""
_ACCESS_BYTES = 512
"""Bytes that an AccessLine has of its own, a request id of the most characters among them."""
_ENCODED_AT_ONCE = 256
"""Lines that are encoded together: of many of a kind each takes a part of the time of one alone."""
_LARGE_BLOCK = 256 * 1024
"""Bytes that are written at once where no other process writes between them."""
_GATHER_SECONDS = 0.05
"""Seconds between two looks of the writer for lines: to wake it for each one would cost more."""
_RETRY_SECONDS = 1.0
"""Seconds that the writer waits before it tries again what failed."""
_FLUSH_SECONDS = 2.0
"""The most seconds that the end of a process waits for lines to be written."""


class AccessLine(msgspec.Struct, omit_defaults=True, gc=False, tag_field="event", tag="request"):
    """One request as the access log tells it."""

    level: Literal["info"]
    timestamp: datetime
    request_id: str
    method: str
    route: str
    """The path's template; empty where no route has the path."""
    status: int
    ms: float
    """Milliseconds until the last byte was handed to the connection."""
    bytes: int
    """Bytes of the response body that were sent."""
    caller: str | None = None
    roles: tuple[str, ...] = ()
    position: int | None = None
    """The position in the log that the answer to a write includes."""
    client: str = ""
    """Address of the client; behind trusted proxies the one that they name."""
    reason: str = ""
    """Reason of a refusal, of the connection, the token or the caller; None if there was none."""
    tool: str = ""
    """The tool that an agent called."""


_encoder = msgspec.json.Encoder()


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
        self._waiting: list[msgspec.Raw | AccessLine] = []
        self._bytes = 0
        self._unreported = 0
        self._closing = threading.Event()
        self._deadline = float("inf")
        self._thread = threading.Thread(target=self._run, name="log-writer", daemon=True)

    def write(self, line: bytes) -> None:
        """Have a line of JSON written; never waits, and raises nothing."""
        self._add(msgspec.Raw(line), len(line))

    def write_access(self, line: AccessLine) -> None:
        """Have the line of a request written; never waits, and raises nothing."""
        self._add(line, _ACCESS_BYTES)

    def _add(self, line: msgspec.Raw | AccessLine, size: int) -> None:
        with self._lock:
            if self._unreported or self._bytes + size > MOST_BYTES:
                self._count_dropped()
                self._unreported += 1
                return
            self._waiting.append(line)
            self._bytes += size

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

    def _take(self) -> list[msgspec.Raw | AccessLine]:
        """Empty the buffer; returns its lines. A line on dropped ones is then the first to wait."""
        with self._lock:
            lines, self._waiting, self._bytes = self._waiting, [], 0
            if self._unreported:
                self._waiting.append(_report(self._unreported))
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


def _blocks(lines: list[msgspec.Raw | AccessLine], size: int) -> Iterator[memoryview]:
    """Blocks of whole lines, of `size` bytes at most, or of one longer line.

    A pipe takes PIPE_BUF bytes in one piece, a file any number: lines of several processes do not
    mix then.
    """
    for first in range(0, len(lines), _ENCODED_AT_ONCE):
        encoded = _encoder.encode_lines(lines[first : first + _ENCODED_AT_ONCE])
        view = memoryview(encoded)
        start = 0
        while start < len(encoded):
            end = encoded.rfind(b"\n", start, start + size) + 1
            end = end or encoded.find(b"\n", start) + 1
            yield view[start:end]
            start = end


def _report(dropped: int) -> msgspec.Raw:
    report = {
        "dropped": dropped,
        "event": "log lines dropped: whoever reads the log did not keep up",
        "level": "warning",
        "timestamp": datetime.now(UTC),
    }
    return msgspec.Raw(_encoder.encode(report))


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


def configure(level_name: str, writer: LogWriter) -> None:
    """Log to a writer whatever has at least a level; raises InvalidInput for an unknown level.

    Of libraries no line below a warning is written.
    """
    level = logging.getLevelNamesMapping().get(level_name.upper())
    if level is None:
        raise InvalidInput("CATALOG_LOG_LEVEL must be a level such as INFO or WARNING")
    logging.basicConfig(handlers=[_Lines(writer)], level=max(level, logging.WARNING), force=True)
    logging.getLogger("catalog").setLevel(level)


class _Lines(logging.Handler):
    """Formats each record as a JSON line, with the `extra` of its call."""

    def __init__(self, writer: LogWriter) -> None:
        super().__init__()
        self._writer = writer
        self._formatter = logging.Formatter()

    def emit(self, record: logging.LogRecord) -> None:
        """Have a line written, unless it says that the end of the server cancelled a request."""
        if record.exc_info and isinstance(record.exc_info[1], CancelledError):
            return
        line = {
            **{name: value for name, value in vars(record).items() if name not in _OF_EVERY_RECORD},
            "event": record.getMessage().strip(),
            "level": record.levelname.lower(),
            "timestamp": f"{datetime.fromtimestamp(record.created, UTC):%Y-%m-%dT%H:%M:%S.%fZ}",
        }
        if record.exc_info:
            line["exception"] = self._formatter.formatException(record.exc_info)
        # The library's own JSON, because it can write a path that is not UTF-8.
        self._writer.write(json.dumps(line, default=str).encode())


_OF_EVERY_RECORD = frozenset(vars(logging.makeLogRecord({})))
"""The attributes of a record that are not from `extra`."""


class AccessLog:
    """Writes a line for each request, or none at all."""

    def __init__(self, writer: LogWriter, *, wanted: bool) -> None:
        self._writer = writer
        self.wanted = wanted

    def write(self, line: AccessLine) -> None:
        """Have a line written."""
        self._writer.write_access(line)


def now() -> datetime:
    """The present time in UTC, for the timestamp of a line."""
    return datetime.now(UTC)
