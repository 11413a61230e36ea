"""The choice of segments to merge, and the thread that merges them, one group after another."""

import logging
import threading
import time
from collections.abc import Callable, Sequence

from projections.search.index.format.codec import Segment

log = logging.getLogger("catalog.search")

_PATIENCE = 60.0
"""Seconds that closing waits at most; a merge that is cut off leaves no more than a file."""

MERGE_AT = 4
"""Segments of one class of sizes that are merged into one.

A search goes through the segments one after the other, and needs 0.1 to 0.3 ms for each, however
few documents there are in it.
"""
MAX_SEGMENTS = 16
"""The most segments of an index; with more, segments are merged whatever their sizes."""
MAX_DOCUMENTS = 300_000
"""Larger segments are left alone, but for their dead documents."""
FULL_DOCUMENTS = 250_000
"""The most that merging everything puts into one segment."""
DEAD_SHARE = 0.2
"""Segments with more dead documents than this are written anew."""
_SMALL_BITS, _BITS = 9, 3
"""Segments of less than 2 ** 9 documents are one class of sizes: to merge them takes about as long
however few they have. In each further class are those of up to 2 ** 3 times as many."""


def next_merge(segments: Sequence[Segment]) -> list[Segment]:
    """The segments that should become one, none when all is well."""
    classes: dict[int, list[Segment]] = {}
    small = sorted((s for s in segments if s.doc_count() <= MAX_DOCUMENTS), key=Segment.doc_count)
    for segment in small:
        classes.setdefault(_class_of(segment), []).append(segment)
    for group in classes.values():
        if len(group) >= MERGE_AT and len(fitting := _fitting(group)) > 1:
            return fitting
    for segment in segments:
        if segment.deleted_count() > DEAD_SHARE * segment.size:
            return [segment]
    if len(segments) > MAX_SEGMENTS and len(group := _fitting(small)) > 1:
        return group[: len(segments) // 2]
    return []


def small_merge(segments: Sequence[Segment]) -> list[Segment]:
    """The next merge of segments of the least class of sizes alone, which takes milliseconds."""
    return next_merge([segment for segment in segments if _class_of(segment) == 0])


def _class_of(segment: Segment) -> int:
    """The class of sizes of a segment, 0 for the least."""
    larger = max(0, segment.doc_count().bit_length() - _SMALL_BITS)
    return -(-larger // _BITS)


def _fitting(segments: Sequence[Segment]) -> list[Segment]:
    """The first segments that fit into one."""
    fitting: list[Segment] = []
    total = 0
    for segment in segments:
        total += segment.doc_count()
        if total > MAX_DOCUMENTS:
            break
        fitting.append(segment)
    return fitting


def full_merges(segments: Sequence[Segment]) -> list[list[Segment]]:
    """Groups that leave as few segments as may be, without dead documents."""
    groups: list[list[Segment]] = []
    total = FULL_DOCUMENTS
    for segment in sorted(segments, key=Segment.doc_count):
        total += segment.doc_count()
        if total > FULL_DOCUMENTS:
            groups.append([])
            total = segment.doc_count()
        groups[-1].append(segment)
    return [group for group in groups if len(group) > 1 or group[0].has_deletions()]


class Stopped(Exception):
    """The engine is being closed."""


class MergeThread:
    """Runs merges in the background; there is a thread only while there is something to merge."""

    def __init__(self, merge_one: Callable[[Callable[[], None]], bool]) -> None:
        """`merge_one` does one merge, if one is due, and returns whether one was.

        It is given a function to call often, which raises Stopped once this is closed.
        """
        self.retry_seconds = 10.0
        """Time after a failed merge before the next one is tried."""
        self._merge_one = merge_one
        self._guard = threading.Lock()
        self._thread: threading.Thread | None = None
        self._again = False
        self._stopped = False
        self._retry_at = 0.0

    def wake(self) -> None:
        """Have the thread look for merges, now or after the merge that it is at."""
        with self._guard:
            self._again = True
            if self._thread is None and not self._stopped and time.monotonic() >= self._retry_at:
                self._thread = threading.Thread(target=self._run, name="merges", daemon=True)
                self._thread.start()

    def wait(self) -> None:
        """Wait until there is nothing to merge, or merging failed."""
        thread = self._thread
        if thread is not None:
            thread.join(_PATIENCE)

    def close(self) -> None:
        """Abandon the merge that runs, if one does."""
        self._stopped = True
        self.wait()

    def check(self) -> None:
        """Raise Stopped once closed."""
        if self._stopped:
            raise Stopped

    def _run(self) -> None:
        while True:
            try:
                while self._merge_one(self.check):
                    pass
            except Stopped:
                pass
            except Exception:
                log.exception("segments of the search index could not be merged; tried again later")
                self._retry_at = time.monotonic() + self.retry_seconds
                self._again = False
            with self._guard:
                if self._stopped or not self._again:
                    self._thread = None
                    return
                self._again = False
