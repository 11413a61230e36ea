"""What the processes of one server count, in memory that all of them read.

Each process counts in a region of its own, so counting is an addition in memory without a lock. The
memory belongs to the processes together: what a process counted stays when it is killed, and the
process that replaces it goes on in the same region. No file has a name, so none is left behind.
The multiprocess mode of prometheus_client leaves named files of each process that ever ran, which
every scrape reads, takes a lock for each count, and does not show a worker what others count.
"""

import mmap
import os
import tempfile
import weakref
from bisect import bisect_left
from collections.abc import Iterator

import msgspec

from api.refusals import Denial, Refusal

BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
"""Upper bounds of the buckets of request times, in seconds; one more bucket has no bound."""
MOST_SERIES = 4_095
"""How many combinations of method, route and status one process counts apart."""
_WORD = 8
_RECORD = 32
"""Words of a record: buckets, the sum of seconds, and the text of the labels."""
_SUM = len(BUCKETS) + 1
_LABELS = _SUM + 1
MOST_LABEL_BYTES = (_RECORD - _LABELS) * _WORD
_DROPPED, _CONNECTIONS, _SERIES, _PROCESS = range(4)
"""Words of the first records of a region, which no series has."""
QUEUES = ("writes", "searches", "lookups", "large reads")
"""Work that callers take turns in; two words each, for what runs and what waits."""
_QUEUES = _PROCESS + 1
REFUSALS = (
    *((401, reason.value) for reason in Refusal),
    *((403, reason.value) for reason in (Denial.PERMISSION, Denial.WITHHELD)),
    *((429, reason.value) for reason in (Denial.RATE, Denial.UNDER_WAY, Denial.UNREAD)),
    *((status, Denial.OTHER.value) for status in (401, 403, 429)),
)
"""Status and reason of each request that is refused for its caller's sake; a word each."""
_REFUSALS = _QUEUES + 2 * len(QUEUES)
_REFUSAL_WORDS = {refusal: _REFUSALS + number for number, refusal in enumerate(REFUSALS)}
REFUSED = frozenset(status for status, _ in REFUSALS)
"""The statuses of such requests."""
_FIRST_SERIES = -(-(_REFUSALS + len(REFUSALS)) // _RECORD)
"""How many records there are before those of series."""
_REGION = (MOST_SERIES + _FIRST_SERIES) * _RECORD * _WORD
_OTHER_PROCESSES = 2
SUPERVISOR, PROJECTING = -2, -1
"""Places of the supervisor and of the process that projects, behind those of the workers."""

Labels = tuple[str, str, int]
"""Method, route and status of requests."""
OTHERS: Labels = ("other", "other", 0)
"""What requests are counted under when there are too many series, or their labels are too long."""


class Series(msgspec.Struct, frozen=True):
    """The requests of one method, route and status."""

    labels: Labels
    buckets: list[int]
    """How many requests fell into each bucket, the one without a bound last."""
    seconds: float


class Counts:
    """The counts of one process; only that process changes them."""

    def __init__(self, region: memoryview) -> None:
        """`region` is shared, and goes on from what is in it."""
        self._bytes = region
        self._integers = region.cast("Q")
        self._floats = region.cast("d")
        self._places: dict[Labels, int] = {}
        """Labels -> the first word of their record."""
        for place in self._records():
            self._places.setdefault(self._labels(place), place)

    def observe(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        labels = method, route, status
        place = self._places.get(labels)
        if place is None:
            place = self._places[labels] = self._add(labels)
        self._integers[place + bisect_left(BUCKETS, seconds)] += 1
        self._floats[place + _SUM] += seconds

    def count_dropped_line(self) -> None:
        """Count a log line that was dropped."""
        self._integers[_DROPPED] += 1

    def count_refusal(self, status: int, reason: str) -> None:
        """Count a request that was refused; REFUSED has the statuses."""
        word = _REFUSAL_WORDS.get((status, reason))
        if word is None:
            word = _REFUSAL_WORDS.get((status, Denial.OTHER.value))
        if word is not None:
            self._integers[word] += 1

    @property
    def refusals(self) -> dict[tuple[int, str], int]:
        """Status and reason -> how many requests were refused."""
        return {refusal: self._integers[word] for refusal, word in _REFUSAL_WORDS.items()}

    def set_queue(self, number: int, running: int, waiting: int) -> None:
        """Say how much work of one of the QUEUES runs, and how much waits."""
        word = _QUEUES + 2 * number
        self._integers[word], self._integers[word + 1] = running, waiting

    @property
    def queues(self) -> dict[str, tuple[int, int]]:
        """Each of the QUEUES -> how much of its work runs, and how much waits."""
        words = self._integers
        places = {name: _QUEUES + 2 * number for number, name in enumerate(QUEUES)}
        return {name: (words[place], words[place + 1]) for name, place in places.items()}

    @property
    def process(self) -> int:
        """The id of the process; 0 where none has begun to count."""
        return self._integers[_PROCESS]

    def begin(self) -> None:
        """Count for this process from now on, which has no connections and no work so far."""
        self._integers[_PROCESS] = os.getpid()
        self.connections = 0
        for number in range(len(QUEUES)):
            self.set_queue(number, 0, 0)

    @property
    def dropped_lines(self) -> int:
        """How many log lines were dropped."""
        return self._integers[_DROPPED]

    @property
    def connections(self) -> int:
        """How many connections the process has open."""
        return self._integers[_CONNECTIONS]

    @connections.setter
    def connections(self, number: int) -> None:
        self._integers[_CONNECTIONS] = number

    def series(self) -> Iterator[Series]:
        """All requests counted, by their labels."""
        for place in self._records():
            buckets = self._integers[place : place + _SUM].tolist()
            yield Series(self._labels(place), buckets, self._floats[place + _SUM])

    def _records(self) -> range:
        """The first word of each record in use."""
        first = _FIRST_SERIES * _RECORD
        return range(first, first + self._integers[_SERIES] * _RECORD, _RECORD)

    def _labels(self, place: int) -> Labels:
        text = self._bytes[(place + _LABELS) * _WORD : (place + _RECORD) * _WORD].tobytes()
        method, route, status = text.rstrip(b"\0").decode().split(" ")
        return method, route, int(status)

    def _add(self, labels: Labels) -> int:
        """A record for new labels, or the one of all others when there is no room."""
        text = " ".join(map(str, labels)).encode()
        number = self._integers[_SERIES] + 1
        if len(text) > MOST_LABEL_BYTES or (number >= MOST_SERIES and labels != OTHERS):
            if OTHERS not in self._places:
                self._places[OTHERS] = self._add(OTHERS)
            return self._places[OTHERS]
        place = (_FIRST_SERIES + number - 1) * _RECORD
        start = (place + _LABELS) * _WORD
        # All of its bytes, as a process that was killed here may have left a longer text.
        self._bytes[start : start + MOST_LABEL_BYTES] = text.ljust(MOST_LABEL_BYTES, b"\0")
        # The record counts from now on: had the process been killed before, it would be free.
        self._integers[_SERIES] = number
        return place


class SharedCounts:
    """The counts of the workers of a server, and of the processes that help them."""

    def __init__(self, descriptor: int, place: int) -> None:
        """`descriptor` is inherited, and closed when this object is no longer used.

        `place` is that of this process: 0 for the first worker.
        """
        self.descriptor = descriptor
        weakref.finalize(self, os.close, descriptor)
        memory = memoryview(mmap.mmap(descriptor, os.fstat(descriptor).st_size))
        regions = [
            Counts(memory[start : start + _REGION]) for start in range(0, len(memory), _REGION)
        ]
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
        os.ftruncate(descriptor, (workers + _OTHER_PROCESSES) * _REGION)
        return cls(descriptor, 0 if workers == 1 else SUPERVISOR)


def _unnamed_file() -> int:
    """The descriptor of an empty file in memory, or on a disk where the system has no such files.

    A full disk kills who writes to the memory of a file on it.
    """
    if hasattr(os, "memfd_create"):
        return os.memfd_create("catalog-counts")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())
