"""Compares the clock of this machine with the time that has passed since the log was opened.

Events say when they were made, and answers are remembered for a day: a clock that is set while a
server runs would date its events wrongly for ever. Over PostgreSQL the clock of the database tells.
"""

import time

from domain.errors import StoreUnavailable

REFUSED_SECONDS = 60.0
"""Difference from which on nothing is appended."""


def wall_clock() -> float:
    """Seconds since the Unix epoch, as this machine has them."""
    return time.time()


def passed() -> float:
    """Seconds that have passed since some moment, those in which the machine slept included."""
    clock = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
    return time.clock_gettime(clock)


class ClockGuard:
    """Refuses appends once the wall clock was set; for any thread."""

    def __init__(self) -> None:
        self._offset = wall_clock() - passed()

    def check(self) -> None:
        """Raise StoreUnavailable when the clock was set since the log was opened."""
        ahead = wall_clock() - passed() - self._offset
        if abs(ahead) > REFUSED_SECONDS:
            how = "forward" if ahead > 0 else "back"
            raise StoreUnavailable(
                f"nothing can be written now: the clock of this host was set {how} by"
                f" {abs(ahead):.0f} s since the log was opened. Set it right; if it is right now,"
                " restart the server"
            )
