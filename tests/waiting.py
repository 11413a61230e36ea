"""Waiting for what other threads and processes bring about."""

import time
from collections.abc import Callable


def until(condition: Callable[[], object], *, seconds: float = 300.0, every: float = 0.02) -> None:
    """Ask again and again until the condition holds; an AssertionError after so many seconds.

    `every` is how many seconds lie between two questions. Nobody waits longer than it takes, so
    that the bound is for a machine that does many other things at the same time.
    """
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} seconds"
        time.sleep(every)
