"""Runs merges in a thread of their own, one after another, as long as there are any."""

import logging
import threading
import time
from collections.abc import Callable

log = logging.getLogger("catalog.search")

RETRY = 10.0
"""Seconds after a failed merge before the next one is tried."""
_PATIENCE = 60.0
"""Seconds that closing waits at most; a merge that is cut off leaves no more than a file."""


class Stopped(Exception):
    """The engine is being closed."""


class MergeThread:
    """Runs merges in the background; there is a thread only while there is something to merge."""

    def __init__(self, merge_one: Callable[[Callable[[], None]], bool]) -> None:
        """`merge_one` does one merge, if one is due, and returns whether one was.

        It is given a function to call often, which raises Stopped once this is closed.
        """
        self._merge_one = merge_one
        self._guard = threading.Lock()
        self._thread: threading.Thread | None = None
        self._again = False
        self._stopped = False
        self._retry_at = 0.0

    def wake(self) -> None:
        """Have it look for merges, now or when it is done with the one it is at."""
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
                self._retry_at = time.monotonic() + RETRY
                self._again = False
            with self._guard:
                if self._stopped or not self._again:
                    self._thread = None
                    return
                self._again = False
