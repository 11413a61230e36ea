"""Gathers the events that come while others are being stored, and stores them together.

Storing waits for the disk a few times, for one event as for a hundred. So the events that a caller
sends while its earlier ones are being stored are stored next, all in one go.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Hashable, Sequence
from typing import Generic, TypeVar

from api.errors import Overloaded
from domain.errors import CatalogError

T = TypeVar("T")
R = TypeVar("R")

MOST = 200
"""Items that are taken together, unless one request alone has more."""


class Gatherer(Generic[T, R]):
    """Takes the items of requests; items of one caller that wait are taken together."""

    def __init__(self, take: Callable[[Sequence[T]], Awaitable[Sequence[R]]]) -> None:
        """`take` gives a result for each item; it is not called twice at a time for one caller."""
        self._take = take
        self._waiting: dict[Hashable, deque[tuple[Sequence[T], asyncio.Future[Sequence[R]]]]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def taken(self, caller: Hashable, items: Sequence[T]) -> Sequence[R]:
        """The results of a request's items; raises what `take` raises of them."""
        done: asyncio.Future[Sequence[R]] = asyncio.get_running_loop().create_future()
        waiting = self._waiting.get(caller)
        if waiting is not None:
            waiting.append((items, done))
        else:
            self._waiting[caller] = deque([(items, done)])
            task = asyncio.create_task(self._go_on(caller))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return await done

    async def _go_on(self, caller: Hashable) -> None:
        """Take the waiting items of a caller until none are left."""
        waiting = self._waiting[caller]
        while waiting:
            some = [waiting.popleft()]
            size = len(some[0][0])
            while waiting and size + len(waiting[0][0]) <= MOST:
                some.append(waiting.popleft())
                size += len(some[-1][0])
            await self._settle(some)
        del self._waiting[caller]

    async def _settle(
        self, some: Sequence[tuple[Sequence[T], "asyncio.Future[Sequence[R]]"]]
    ) -> None:
        """Take the items of some requests, and give each request its results."""
        try:
            results = await self._take([item for items, _ in some for item in items])
        except Exception as error:
            if len(some) > 1 and not isinstance(error, CatalogError | Overloaded):
                # One failing request must not keep the others from their results.
                for each in some:
                    await self._settle([each])
                return
            for _, done in some:
                if not done.done():
                    done.set_exception(error)
            return
        start = 0
        for items, done in some:
            if not done.done():
                done.set_result(results[start : start + len(items)])
            start += len(items)
