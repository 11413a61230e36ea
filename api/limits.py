"""How much one caller may ask of this process: requests a second, and searches at a time."""

import math
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_REMEMBERED = 10_000
"""Callers whose requests are counted; the least recent is forgotten, its bucket then full."""


class TooManyRequests(Exception):
    """The caller is over a limit of its own."""

    def __init__(self, message: str, retry_after: int) -> None:
        """`retry_after` is in seconds."""
        super().__init__(message)
        self.retry_after = retry_after


class RateLimit:
    """A token bucket for each caller, kept as the time at which it will be full again."""

    def __init__(
        self, rate: float, burst: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`rate` is in requests a second, 0 for no limit; a bucket holds `burst`."""
        self._interval = 1 / rate if rate else 0.0
        self._depth = (burst - 1) * self._interval
        self._clock = clock
        self._full_at: OrderedDict[str, float] = OrderedDict()

    def take(self, caller: str) -> None:
        """Take a token; raises TooManyRequests when there is none."""
        if not self._interval:
            return
        now = self._clock()
        full_at = max(self._full_at.get(caller, now), now)
        if full_at - now > self._depth:
            wait = math.ceil(full_at - now - self._depth)
            raise TooManyRequests(f"more requests than allowed: wait {wait} s", wait)
        self._full_at[caller] = full_at + self._interval
        self._full_at.move_to_end(caller)
        if len(self._full_at) > _REMEMBERED:
            self._full_at.popitem(last=False)


class SearchQueue:
    """Counts the searches of each caller that are under way or waiting."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._running: dict[str, int] = {}

    @contextmanager
    def place(self, caller: str) -> Iterator[None]:
        """A place for one search; raises TooManyRequests when the caller has no more."""
        running = self._running.get(caller, 0)
        if running >= self._most:
            raise TooManyRequests(f"{running} searches of yours are under way: wait for some", 1)
        self._running[caller] = running + 1
        try:
            yield
        finally:
            left = self._running[caller] - 1
            if left:
                self._running[caller] = left
            else:
                del self._running[caller]
