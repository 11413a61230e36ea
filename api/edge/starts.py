"""Begins the tasks of requests one by one, so that plain reads are answered between them.

Writes that were stored together are answered together, and their clients send the next ones
together. The first step of each takes the event loop as long as some plain reads, which had to wait
for all of them.
"""

import asyncio
from collections import deque
from collections.abc import Callable


class Starts:
    """The tasks that are to be begun by one event loop, in the order in which they came."""

    def __init__(self) -> None:
        self._waiting: deque[Callable[[], None]] = deque()
        self._has_begun = False
        """True if a task was begun in this step of the event loop."""

    def begin(self, loop: asyncio.AbstractEventLoop, start: Callable[[], None]) -> None:
        """Call `start` now, or in a later step of the loop when one was begun in this one."""
        if self._has_begun:
            self._waiting.append(start)
        else:
            self._has_begun = True
            loop.call_soon(self._go_on, loop)
            start()

    def _go_on(self, loop: asyncio.AbstractEventLoop) -> None:
        self._has_begun = bool(self._waiting)
        if self._has_begun:
            loop.call_soon(self._go_on, loop)
            self._waiting.popleft()()
