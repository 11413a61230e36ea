"""Waits on the event loop until a checkpoint has passed a position, without a thread for each."""

import asyncio
from collections.abc import Callable
from contextlib import suppress

import msgspec

from domain.errors import StoreUnavailable

_FIRST_PAUSE, _LAST_PAUSE, _LONGER = 0.001, 0.01, 1.5
"""Seconds between two looks at a checkpoint that nobody announces, and how the pause grows."""
_ANNOUNCED_PAUSE = 0.05
"""The same pause where each move of the checkpoint is announced."""


class _Waiter(msgspec.Struct, frozen=True, eq=False):
    position: int
    until: float
    """When the waiter gives up, on the clock of the event loop."""
    passed: "asyncio.Future[bool]"


class CheckpointWaiters:
    """All who wait for one checkpoint; each look at it is for everybody who waits.

    Everything but `announce` is for one event loop.
    """

    def __init__(self, checkpoint: Callable[[], int], *, announced: bool) -> None:
        """`checkpoint` is cheap enough for the event loop.

        With `announced`, whoever moves the checkpoint calls `announce`, and it is hardly looked at
        otherwise; without, it is looked at all the time while anybody waits.
        """
        self._checkpoint = checkpoint
        self._announced = announced
        self._moved = True
        """Whether the checkpoint may have moved since it was looked at."""
        self._first_pause, self._last_pause = (
            (_ANNOUNCED_PAUSE, _ANNOUNCED_PAUSE) if announced else (_FIRST_PAUSE, _LAST_PAUSE)
        )
        self._seen = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiters: list[_Waiter] = []
        self._pause = self._first_pause
        self._timer: asyncio.TimerHandle | None = None

    async def until(self, position: int, seconds: float) -> bool:
        """Wait until the checkpoint is a position or a later one; False after so many seconds.

        Also False as soon as the checkpoint cannot be read.
        """
        self._loop = loop = asyncio.get_running_loop()
        waiter = _Waiter(position, loop.time() + seconds, loop.create_future())
        self._waiters.append(waiter)
        self._pause = self._first_pause
        # Asked after the waiter is known: what moves from now on is announced to it.
        if self._moved or not self._announced:
            self._look()
        elif position <= self._seen:
            waiter.passed.set_result(True)
        elif self._timer is None:
            self._look_later(seconds)
        try:
            return await waiter.passed
        finally:
            if waiter in self._waiters:
                self._waiters.remove(waiter)

    def announce(self) -> None:
        """Say, in any thread, that the checkpoint has moved."""
        self._moved = True
        if self._loop is not None and self._waiters:
            # A loop that was closed meanwhile has nobody left who waits.
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._look)

    def _look(self) -> None:
        """Let everybody go whose position has passed or who has waited too long."""
        assert self._loop is not None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not self._waiters:
            return
        self._moved = False
        try:
            checkpoint = self._seen = self._checkpoint()
        except StoreUnavailable:
            self._moved = True
            checkpoint, now = -1, float("inf")
        else:
            now = self._loop.time()
        left = []
        for waiter in self._waiters:
            if waiter.position > checkpoint and waiter.until > now:
                left.append(waiter)
            elif not waiter.passed.done():
                waiter.passed.set_result(waiter.position <= checkpoint)
        self._waiters = left
        if left:
            self._look_later(min(waiter.until for waiter in left) - now)

    def _look_later(self, at_most: float) -> None:
        """Look again after the pause, or after `at_most` seconds if these are fewer."""
        assert self._loop is not None
        self._timer = self._loop.call_later(min(self._pause, at_most), self._look)
        self._pause = min(self._pause * _LONGER, self._last_pause)
