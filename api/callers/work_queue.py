"""Work that a few threads do for all callers, who take turns."""

import asyncio
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from functools import partial
from traceback import clear_frames
from typing import Any, TypeVar

from anyio import CancelScope

from api.callers.limits import Places
from api.errors import ClientLeft

T = TypeVar("T")


def _releasing(work: Callable[[], T]) -> T:
    """Do some work; when it fails, let go of what its functions held.

    An error that comes out of a thread ends in a cycle with the future that brings it, and keeps
    the frames that it went through, documents of many megabytes in them, until the garbage
    collector looks.
    """
    try:
        return work()
    except BaseException as error:
        clear_frames(error.__traceback__)
        del work
        raise


_SHARED_SECONDS = 0.01
"""Seconds that several steps of a caller may take in one turn, as estimated from the last turn."""


After = Callable[[bool], None]
"""Function called after the steps of a turn; the argument is True if there were several."""
_Step = tuple[Callable[[], Any], After, asyncio.Future[Any]]
"""The work of a step, what is to be called after the turn, and the result."""
_Result = tuple[asyncio.Future[Any], Any, BaseException | None]
"""The future of a step, and its result or its error."""


class _Turn:
    """The turn of a caller: steps of work that a thread does one after the other."""

    def __init__(self, due: int, thread: ThreadPoolExecutor) -> None:
        self.thread = thread
        self.due = due
        """Number of steps that may still be added."""
        self.steps: deque[_Step] = deque()
        """Steps that have not begun; while the thread takes the first, the loop may take others."""
        self.results: deque[_Result] = deque()
        """Results of steps that their callers have not got yet."""
        self.has_begun = False


class WorkQueue:
    """Does work in a few threads, in which waiting callers take turns."""

    def __init__(
        self,
        threads: int,
        places: Places | None = None,
        each: int | None = None,
        *,
        together: int = 1,
        alone: float = 0.0,
    ) -> None:
        """`places` bound the work of `run` that is under way or waiting.

        `each` bounds the threads of one caller. A turn is for as many as `together` of the caller's
        waiting steps: to hand over to another thread takes longer than a short step. No turn begins
        in the first `alone` seconds of another: threads that need the interpreter take it from each
        other at every read of a file, and that takes longer than short work itself. A turn that
        takes longer keeps none but the step that is under way. With 0 turns begin at once, and are
        left as they are.
        """
        self._places = places
        self._most = threads
        self._idle = [ThreadPoolExecutor(1) for _ in range(threads)]
        """Threads without work, the one that was busy last at the end: it is called first.

        The data that it used last is still at hand, such as the pages that its connections hold.
        """
        self._each = threads if each is None else each
        self._together = together
        self._alone = alone
        self._young: _Turn | None = None
        """The newest turn, beside which no other turn may begin yet."""
        self._running: Counter[str] = Counter()
        self._waiting: dict[str, deque[asyncio.Future[_Turn]]] = {}
        """Caller -> its waiting steps, oldest first; callers stand in the order of their turns."""
        self._pace: dict[str, float] = {}
        """Caller -> seconds that a step of its last turn took, at least its share of a turn."""
        self._queued = 0
        self.report: Callable[[int, int], None] = lambda running, waiting: None
        """Called with how much work runs and how much waits, whenever that changes."""

    async def go_on(
        self,
        caller: str,
        work: Callable[[], T],
        has_left: Callable[[], Awaitable[bool]] | None = None,
        after: After = lambda _: None,
    ) -> T:
        """Do a step of work, whose waiting something else bounds, when it is its caller's turn.

        `after` is called in the same thread, once for all steps of a turn that have it in common.
        Raises ClientLeft when `has_left` says so after a wait; without it, that cancels the step.
        """
        waited = not self._may_begin() or self._running[caller] >= self._each
        turn = await self._wait(caller) if waited else self._begin(caller, 1)
        doing: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        try:
            if waited and has_left is not None and await has_left():
                raise ClientLeft("the client left before its turn came")
            turn.steps.append((work, after, doing))
        finally:
            self._settle(caller, turn)
        try:
            return await asyncio.shield(doing)
        except asyncio.CancelledError:
            # A cancelled caller still waits for the end.
            with CancelScope(shield=True):
                await asyncio.wait([doing])
            raise

    async def run(
        self, caller: str, work: Callable[[], T], has_left: Callable[[], Awaitable[bool]]
    ) -> T:
        """Do a caller's work when it is its turn.

        Raises TooManyRequests when too much of the caller's work is waiting, and ClientLeft when
        the client did not wait for its turn.
        """
        with self._places.held(caller) if self._places else nullcontext():
            return await self.go_on(caller, work, has_left)

    def has_others(self, *, waiting: bool) -> bool:
        """True if other threads than this one have work, or (`waiting`) if any work waits."""
        return len(self._idle) < self._most - 1 or (waiting and bool(self._waiting))

    async def _wait(self, caller: str) -> _Turn:
        """Wait for a turn of a caller."""
        coming: asyncio.Future[_Turn] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(caller, deque()).append(coming)
        self._queue(1)
        try:
            # A turn may come to one who is cancelled and has not heard of it.
            return await asyncio.shield(coming)
        except BaseException:
            # The client left: a turn that has come to it goes to the next caller.
            if coming.done():
                self._settle(caller, coming.result())
            else:
                self._waiting[caller].remove(coming)
                self._queue(-1)
                if not self._waiting[caller]:
                    del self._waiting[caller]
            raise

    def _queue(self, change: int) -> None:
        self._queued += change
        self.report(self._most - len(self._idle), self._queued)

    def _may_begin(self) -> bool:
        return bool(self._idle) and self._young is None

    def _begin(self, caller: str, steps: int) -> _Turn:
        turn = _Turn(steps, self._idle.pop())
        if self._alone:
            self._young = turn
            asyncio.get_running_loop().call_later(self._alone, self._shorten, caller, turn)
        self._running[caller] += 1
        self._queue(0)
        return turn

    def _settle(self, caller: str, turn: _Turn) -> None:
        """Note that a step was added to a turn or given up, and do the steps once all were."""
        turn.due -= 1
        if turn.due:
            return
        if turn.steps:
            turn.thread.submit(self._do, caller, turn, asyncio.get_running_loop())
        else:
            self._end(caller, turn)

    def _do(self, caller: str, turn: _Turn, loop: asyncio.AbstractEventLoop) -> None:
        """Do the steps of a turn, in a thread of the queue."""
        began = time.monotonic()
        done: Counter[After] = Counter()
        while turn.steps:
            try:
                work, after, doing = turn.steps.popleft()
            except IndexError:
                break  # the loop took it back
            turn.has_begun = True
            try:
                turn.results.append((doing, _releasing(work), None))
            except BaseException as error:
                turn.results.append((doing, None, error))
            done[after] += 1
        seconds = (time.monotonic() - began) / done.total()
        try:
            for after in done:
                after(done.total() > 1)
        finally:
            loop.call_soon_threadsafe(self._done, caller, turn, seconds)

    def _done(self, caller: str, turn: _Turn, seconds: float) -> None:
        """End a turn, each of whose steps took so many seconds."""
        self._pace[caller] = max(seconds, _SHARED_SECONDS / self._together)
        self._end(caller, turn)
        self._give_results(turn)

    def _give_results(self, turn: _Turn) -> None:
        while turn.results:
            doing, result, error = turn.results.popleft()
            if error is None:
                doing.set_result(result)
            else:
                doing.set_exception(error)

    def _shorten(self, caller: str, turn: _Turn) -> None:
        """End the waiting for a turn that has taken too long, except for its step under way.

        Steps that are done get their results; steps that have not begun wait for another turn.
        """
        if self._young is not turn:
            return  # the turn is over
        self._give_results(turn)
        while turn.has_begun and turn.steps:
            with suppress(IndexError):  # the thread took it
                coming: asyncio.Future[_Turn] = asyncio.get_running_loop().create_future()
                coming.add_done_callback(partial(self._go_on_with, caller, turn.steps.pop()))
                self._waiting.setdefault(caller, deque()).appendleft(coming)
                self._queue(1)
        self._go_on_beside(turn)

    def _go_on_with(self, caller: str, step: _Step, coming: "asyncio.Future[_Turn]") -> None:
        """Add a step to the turn that has come for it."""
        turn = coming.result()
        turn.steps.append(step)
        self._settle(caller, turn)

    def _end(self, caller: str, turn: _Turn) -> None:
        """Free a caller's thread for the first waiting caller that may have another one."""
        self._idle.append(turn.thread)
        self._running[caller] -= 1
        self._go_on_beside(turn)
        if not (self._running[caller] or caller in self._waiting):
            del self._running[caller]
            self._pace.pop(caller, None)

    def _go_on_beside(self, turn: _Turn) -> None:
        """Begin the next turn, unless a turn younger than `turn` must run alone for now."""
        if self._young is turn:
            self._young = None
        able = (each for each in self._waiting if self._running[each] < self._each)
        if self._may_begin() and (following := next(able, None)) is not None:
            waiting = self._waiting.pop(following)
            most = round(_SHARED_SECONDS / self._pace.get(following, _SHARED_SECONDS))
            number = max(1, min(len(waiting), most))
            turn = self._begin(following, number)
            for _ in range(number):
                waiting.popleft().set_result(turn)
            if waiting:
                self._waiting[following] = waiting
            self._queue(-number)
        else:
            self._queue(0)
