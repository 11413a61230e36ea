"""Waits on the event loop until a checkpoint has passed a position, without a thread for each.

A checkpoint that other processes move is looked at in one thread while anybody waits for it.
"""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from domain.errors import StoreUnavailable

_PAUSE, _ANNOUNCED_PAUSE = 0.002, 0.05
"""Seconds between two looks at a checkpoint that nobody announces, and at one that is announced."""
_RELEASED_AT_ONCE = 2
"""Number of waiters that go on in one step of the event loop, which then serves others."""
POLL_SECONDS = 0.01
"""Seconds between two looks at the checkpoint."""
_KNOWN_SECONDS = 1.0
"""Seconds for which a checkpoint once read is believed: a failover may have set it back."""


class Waiter:
    """A caller that waits for a position, which may not be known yet."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.passed: asyncio.Future[bool] = loop.create_future()
        """True once the checkpoint has passed the position, False at a timeout, or an error."""
        self.position: int | None = None
        self.until = float("inf")
        """Time at which to give up, by `time.monotonic`."""


class CheckpointWaiters:
    """All who wait for one checkpoint; one look at the checkpoint serves all of them.

    `reach`, `fail` and `announce` are for any thread, everything else for one event loop.
    """

    def __init__(
        self,
        checkpoint: Callable[[], int],
        seconds: float,
        *,
        announced: bool,
        look: Callable[[], None] = lambda: None,
    ) -> None:
        """`checkpoint` is cheap enough for the event loop; nobody waits longer than `seconds`.

        With `announced`, whoever moves the checkpoint calls `announce`, and looks at it are rare;
        without, there are looks all the time while anybody waits. `look` is called when somebody
        begins to wait, for an announcer that watches the checkpoint only on demand.
        """
        self._checkpoint = checkpoint
        self._seen = 0
        self.seconds = seconds
        self._announced = announced
        self._ask_to_look = look
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiters: dict[Waiter, None] = {}
        self._released: deque[tuple[Waiter, bool]] = deque()
        self._look_is_due = False
        self._timer: asyncio.TimerHandle | None = None

    @contextmanager
    def waiter(self) -> Iterator[Waiter]:
        """A Waiter for a block; whoever learns the position calls `reach`, or else `fail`."""
        self._loop = asyncio.get_running_loop()
        waiter = Waiter(self._loop)
        self._waiters[waiter] = None
        self._set_timer()
        try:
            yield waiter
        finally:
            self._waiters.pop(waiter, None)

    def have_passed(self, position: int) -> bool:
        """Return True if the checkpoint is at a position or later; False if it cannot be read."""
        try:
            return self._checkpoint() >= position
        except StoreUnavailable:
            return False

    async def until(self, position: int) -> bool:
        """Wait until the checkpoint is a position or a later one.

        Returns False when that took too long, or when the checkpoint cannot be read.
        """
        with self.waiter() as waiter:
            self.reach(waiter, position)
            return await waiter.passed

    def reach(self, waiter: Waiter, position: int) -> None:
        """Say which position somebody waits for."""
        waiter.position, waiter.until = position, time.monotonic() + self.seconds
        # A look sets `_seen` before it compares positions, so it cannot overlook this one.
        if position <= self._seen or not self._announced:
            self._look_soon()
        self._ask_to_look()

    def fail(self, waiter: Waiter, error: BaseException) -> None:
        """Say why there will be no position to wait for."""

        def fail() -> None:
            if not waiter.passed.done():
                waiter.passed.set_exception(error)

        self._call(fail)

    def anyone_waits(self) -> bool:
        """Return True if anybody waits, for a known position or not; any thread may ask."""
        return bool(self._waiters)

    def announce(self) -> None:
        """Say that the checkpoint has moved."""
        if self._waiters:
            self._look_soon()

    def _look_soon(self) -> None:
        if not self._look_is_due:
            self._look_is_due = True
            self._call(self._look)

    def _call(self, work: Callable[[], None]) -> None:
        assert self._loop is not None
        # Nobody waits in a loop that was closed meanwhile.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(work)

    def _look(self) -> None:
        """Release everybody whose position has passed or who has waited too long."""
        # This look may miss positions that are set from here on: they ask for another look.
        self._look_is_due = False
        if any(waiter.position is not None for waiter in self._waiters):
            try:
                self._seen, now = self._checkpoint(), time.monotonic()
            except StoreUnavailable:
                self._seen, now = -1, float("inf")
            for waiter in [*self._waiters]:
                if waiter.position is not None and (
                    waiter.position <= self._seen or waiter.until <= now
                ):
                    del self._waiters[waiter]
                    self._released.append((waiter, waiter.position <= self._seen))
            self._release()
        self._set_timer()

    def _release(self) -> None:
        """Let the first waiters go on that are done waiting, and the others in the next steps."""
        assert self._loop is not None
        for _ in range(min(_RELEASED_AT_ONCE, len(self._released))):
            waiter, passed = self._released.popleft()
            if not waiter.passed.done():
                waiter.passed.set_result(passed)
        if self._released:
            self._loop.call_soon(self._release)

    def _set_timer(self) -> None:
        """Look again after a pause while anybody waits, or when the first has waited too long."""
        if self._waiters and self._timer is None:
            assert self._loop is not None
            first = min(waiter.until for waiter in self._waiters) - time.monotonic()
            pause = _ANNOUNCED_PAUSE if self._announced else _PAUSE
            self._timer = self._loop.call_later(min(pause, max(0.0, first)), self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        self._look()


class CheckpointPoller:
    """A thread that asks for a checkpoint, so that an event loop need not wait for the answer."""

    def __init__(self, checkpoint: Callable[[], int]) -> None:
        """`checkpoint` returns the checkpoint, may take a while, and raises StoreUnavailable."""
        self._checkpoint = checkpoint
        self._anyone_waits: Callable[[], bool] = lambda: False
        self._announce: Callable[[], None] = lambda: None
        self._position = 0
        self._seen_at = 0.0
        self._failed: StoreUnavailable | None = None
        self._wake = threading.Event()
        self._stopping = False
        self._thread: threading.Thread | None = None

    def start(self, anyone_waits: Callable[[], bool], announce: Callable[[], None]) -> None:
        """Begin to look, when `look` is called and as long as `anyone_waits`.

        `announce` is called after a look that was asked for, and whenever the checkpoint has moved
        or cannot be read.
        """
        self._anyone_waits, self._announce = anyone_waits, announce
        self._thread = threading.Thread(target=self._run, name="checkpoint-poller")
        self._thread.start()

    def position(self) -> int:
        """The checkpoint when it was looked at last, 0 when that is long ago.

        Raises StoreUnavailable when the look has failed.
        """
        if self._failed is not None:
            raise self._failed
        return self._position if time.monotonic() - self._seen_at < _KNOWN_SECONDS else 0

    def look(self) -> None:
        """Have the checkpoint looked at now; any thread may ask for that."""
        self._failed = None
        self._wake.set()

    def close(self) -> None:
        """End the thread."""
        self._stopping = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while True:
            asked = self._wake.wait(POLL_SECONDS if self._anyone_waits() else None)
            if self._stopping:
                return
            self._wake.clear()
            try:
                position = self._checkpoint()
            except StoreUnavailable as error:
                self._failed = error
                self._announce()
                continue
            moved, self._position = position != self._position, position
            self._seen_at = time.monotonic()
            if asked or moved:
                self._announce()
