"""Counts of the processes of one server, in memory that all of them read.

Each process counts in a region of its own, so counting is an addition in memory without a lock. The
memory belongs to the processes together: what a process counted stays when it is killed, and the
process that replaces it goes on in the same region. No file has a name, so none is left behind.
The multiprocess mode of prometheus_client leaves named files of each process that ever ran, which
every scrape reads, takes a lock for each count, and does not show a worker what others count.
"""

import ctypes
import mmap
import os
import tempfile
import weakref
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

from api.refusals import Denial, Refusal

BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
"""Upper bounds of the buckets of request times, in seconds; one more bucket has no bound."""
MOST_SERIES = 4_095
"""The most combinations of method, route and status that one process counts apart."""
MOST_LABEL_BYTES = 136
QUEUES = ("writes", "long writes", "searches", "lookups", "large reads")
"""Names of the queues in which callers take turns; each has a number running and one waiting."""
REFUSALS = (
    *((401, reason.value) for reason in Refusal),
    *((403, reason.value) for reason in (Denial.PERMISSION, Denial.WITHHELD)),
    *((429, reason.value) for reason in (Denial.RATE, Denial.UNDER_WAY, Denial.UNREAD)),
    *((status, Denial.OTHER.value) for status in (401, 403, 429)),
)
"""Status and reason of each request that is refused for its caller's sake."""
_NUMBERED = {refusal: number for number, refusal in enumerate(REFUSALS)}
REFUSED = frozenset(status for status, _ in REFUSALS)
"""The statuses of such requests."""
_OTHER_PROCESSES = 2
SUPERVISOR, PROJECTING = -2, -1
"""Places of the supervisor and of the process that projects, behind those of the workers."""

Labels = tuple[str, str, int]
"""Method, route and status of requests."""
OTHERS: Labels = ("other", "other", 0)
"""Labels of requests that are counted after too many series, or whose labels are too long."""


class Series(ctypes.Structure):
    """The requests of one method, route and status, in shared memory."""

    buckets: Any
    """Number of requests in each bucket, the one without a bound last."""
    seconds: float
    text: bytes
    """Method, route and status, joined by spaces."""
    _fields_ = (
        ("buckets", ctypes.c_uint64 * (len(BUCKETS) + 1)),
        ("seconds", ctypes.c_double),
        ("text", ctypes.c_char * MOST_LABEL_BYTES),
    )

    @property
    def labels(self) -> Labels:
        """Method, route and status."""
        method, route, status = self.text.decode().split(" ")
        return method, route, int(status)


class Counts(ctypes.Structure):
    """The counts of one process, in shared memory; only that process changes them."""

    dropped_lines: int
    """Number of log lines that were dropped."""
    connections: int
    """Number of connections that the process has open."""
    process: int
    """The id of the process; 0 where none has begun to count."""
    beats: int
    """Number of signs of life of all processes that counted here."""
    _queues: Any
    _refusals: Any
    _used: int
    _records: Sequence[Series]
    _fields_ = (
        ("dropped_lines", ctypes.c_uint64),
        ("connections", ctypes.c_uint64),
        ("process", ctypes.c_uint64),
        ("beats", ctypes.c_uint64),
        ("_queues", ctypes.c_uint64 * 2 * len(QUEUES)),
        ("_refusals", ctypes.c_uint64 * len(REFUSALS)),
        ("_used", ctypes.c_uint64),
        ("_records", Series * MOST_SERIES),
    )

    @cached_property
    def _places(self) -> dict[Labels, Series]:
        """Labels -> record of the labels, the first one if there are several."""
        return {record.labels: record for record in reversed(self.series)}

    def observe(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        labels = method, route, status
        record = self._places.get(labels)
        if record is None:
            record = self._places[labels] = self._add(labels)
        record.buckets[bisect_left(BUCKETS, seconds)] += 1
        record.seconds += seconds

    def count_dropped_line(self) -> None:
        """Count a log line that was dropped."""
        self.dropped_lines += 1

    def count_refusal(self, status: int, reason: str) -> None:
        """Count a request that was refused; REFUSED has the statuses."""
        number = _NUMBERED.get((status, reason))
        if number is None:
            number = _NUMBERED.get((status, Denial.OTHER.value))
        if number is not None:
            self._refusals[number] += 1

    @property
    def refusals(self) -> dict[tuple[int, str], int]:
        """Status and reason -> how many requests were refused."""
        return dict(zip(REFUSALS, self._refusals, strict=True))

    def set_queue(self, number: int, running: int, waiting: int) -> None:
        """Say how much work of one of the QUEUES runs, and how much waits."""
        self._queues[number][:] = running, waiting

    @property
    def queues(self) -> dict[str, tuple[int, int]]:
        """Each of the QUEUES -> how much of its work runs, and how much waits."""
        return {name: tuple(pair) for name, pair in zip(QUEUES, self._queues, strict=True)}

    def begin(self) -> None:
        """Count for this process from now on, which has no connections and no work so far."""
        self.process = os.getpid()
        self.connections = 0
        for number in range(len(QUEUES)):
            self.set_queue(number, 0, 0)

    def beat(self) -> None:
        """Give a sign of life to the supervisor."""
        self.beats += 1

    @property
    def series(self) -> Sequence[Series]:
        """All requests counted."""
        return self._records[: self._used]

    def _add(self, labels: Labels) -> Series:
        """A record for new labels, or the one of all others when there is no room."""
        text = " ".join(map(str, labels)).encode()
        used = self._used
        if len(text) > MOST_LABEL_BYTES or (used + 1 >= MOST_SERIES and labels != OTHERS):
            if OTHERS not in self._places:
                self._places[OTHERS] = self._add(OTHERS)
            return self._places[OTHERS]
        record = self._records[used]
        record.text = text
        # The record counts from now on: had the process been killed before, it would be free.
        self._used = used + 1
        return record


class SharedCounts:
    """The counts of the workers of a server, and of the processes that help them."""

    def __init__(self, descriptor: int, place: int) -> None:
        """`descriptor` is inherited, and closed when this object is no longer used.

        `place` is that of this process: 0 for the first worker.
        """
        self.descriptor = descriptor
        weakref.finalize(self, os.close, descriptor)
        size = os.fstat(descriptor).st_size
        memory = mmap.mmap(descriptor, size)
        regions = [Counts.from_buffer(memory, at) for at in range(0, size, ctypes.sizeof(Counts))]
        self.processes = regions
        self.workers = regions[:-_OTHER_PROCESSES]
        self.own = regions[place]
        self.own.begin()

    def named(self) -> Iterator[tuple[str, Counts]]:
        """The counts of each process, with what the process is."""
        for number, worker in enumerate(self.workers, 1):
            yield f"worker-{number}", worker
        yield "supervisor", self.processes[SUPERVISOR]
        yield "projecting", self.processes[PROJECTING]

    @classmethod
    def made(cls, workers: int) -> "SharedCounts":
        """New counts, made by the only worker, or by the supervisor of several.

        Memory is taken only for what is counted.
        """
        descriptor = _unnamed_file()
        os.ftruncate(descriptor, (workers + _OTHER_PROCESSES) * ctypes.sizeof(Counts))
        return cls(descriptor, 0 if workers == 1 else SUPERVISOR)


def _unnamed_file() -> int:
    """The descriptor of an empty file in memory, or on a disk where the system has no such files.

    A full disk kills who writes to the memory of a file on it.
    """
    if hasattr(os, "memfd_create"):
        return os.memfd_create("catalog-counts")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())
