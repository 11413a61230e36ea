"""The clock of this host beside that of the database, which all hosts have in common.

Events say when they were made, and answers are remembered for a day, by the clocks of the hosts
that write: one that is a day ahead would have the answers of all others forgotten.
"""

import logging
import threading
import time

from domain.errors import StoreUnavailable
from domain.event_store.postgres.link import Link

WARNED_SECONDS, REFUSED_SECONDS = 2.0, 60.0
"""Difference of the clocks from which it is logged, and from which appends are refused."""
_EVERY_SECONDS = 60.0
"""Time between two comparisons of the clocks while there are appends."""
_STEP_SECONDS = 1.0
"""A wall clock that moved this much against the monotonic one was set: it is compared at once."""
_NOW = "SELECT extract(epoch FROM clock_timestamp())::float8"

log = logging.getLogger("catalog.log")


def wall_clock() -> float:
    """Seconds since the Unix epoch, as this host has them."""
    return time.time()


class ClockGuard:
    """Compares the clocks, and refuses appends while they differ by too much; for any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._compared_at = float("-inf")
        """Time of the last comparison, by `time.monotonic`; infinitely long ago before it."""
        self._offset = 0.0
        """Seconds by which the wall clock was ahead of the monotonic one then."""
        self._ahead = 0.0
        """Seconds by which this host was ahead of the database then."""
        self._is_logged = False

    def check(self, link: Link) -> None:
        """Raise StoreUnavailable while the clocks differ by too much; psycopg.Error from `link`."""
        if (fault := self.fault(link)) is not None:
            raise StoreUnavailable(f"nothing can be written now: {fault}")

    def fault(self, link: Link) -> str | None:
        """The fault of this host's clock in words; None while the two differ by little.

        Raises psycopg.Error from `link`.
        """
        steady = time.monotonic()
        with self._lock:
            is_due = (
                steady - self._compared_at > _EVERY_SECONDS
                or abs(wall_clock() - steady - self._offset) > _STEP_SECONDS
                # A clock that is wrong is to be believed as soon as it is set right.
                or abs(self._ahead) > REFUSED_SECONDS
            )
        if is_due:
            self._compare(link)
        return _explained(self._ahead) if abs(self._ahead) > REFUSED_SECONDS else None

    def _compare(self, link: Link) -> None:
        before = wall_clock()
        (now,) = link.one(_NOW)
        after, steady = wall_clock(), time.monotonic()
        with self._lock:
            self._compared_at, self._offset = steady, after - steady
            # Between the question and the answer is when the database looked.
            self._ahead = (before + after) / 2 - now
            differs = abs(self._ahead) > WARNED_SECONDS
            was_logged, self._is_logged = self._is_logged, differs
        if differs and not was_logged:
            log.warning(
                "clocks differ",
                extra={"seconds": round(self._ahead, 1), "error": _explained(self._ahead)},
            )


def _explained(ahead: float) -> str:
    side = "ahead of" if ahead > 0 else "behind"
    return f"the clock of this host is {abs(ahead):.0f} s {side} that of the database of the log"
