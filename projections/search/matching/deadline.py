"""The time that a search may take, by a clock that is given."""

from collections.abc import Callable

Clock = Callable[[], float]
"""Seconds from a fixed moment, never going back."""
_OBJECTS_SHARE = 0.75


class OutOfTime(Exception):
    """The deadline of a search has come."""


class Deadline:
    """The end of a search, and the earlier time at which it reads no more objects."""

    def __init__(self, seconds: float, clock: Clock) -> None:
        """The time begins now."""
        begins = clock()
        self._clock = clock
        self._ends = begins + seconds
        self._objects_end = begins + seconds * _OBJECTS_SHARE

    def check(self) -> None:
        """Raise OutOfTime when the deadline has come."""
        if self._clock() > self._ends:
            raise OutOfTime

    def left(self) -> float:
        """Seconds until the deadline; raises OutOfTime when it has come."""
        left = self._ends - self._clock()
        if left < 0:
            raise OutOfTime
        return left

    def is_near(self) -> bool:
        """Return True if three quarters of the time are over."""
        return self._clock() > self._objects_end
