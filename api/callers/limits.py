"""Limits of each caller in this process: requests a second, places for work, large answers."""

import asyncio
import math
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from api.errors import Overloaded, TooManyRequests
from api.refusals import Denial

T = TypeVar("T")

_REMEMBERED = 10_000
"""Most callers that are counted; the least recent one is forgotten, which refills its bucket."""


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
        """Take a token from a caller's bucket; raises TooManyRequests when the bucket is empty."""
        if not self._interval:
            return
        now = self._clock()
        full_at = max(self._full_at.get(caller, now), now)
        if full_at - now > self._depth:
            wait = math.ceil(full_at - now - self._depth)
            raise TooManyRequests(f"more requests than allowed: wait {wait} s", wait, Denial.RATE)
        self._full_at[caller] = full_at + self._interval
        self._full_at.move_to_end(caller)
        if len(self._full_at) > _REMEMBERED:
            self._full_at.popitem(last=False)


class Places:
    """A number of places that each caller may hold at a time, such as open streams."""

    def __init__(self, most: int, what: str, of_all: float = math.inf) -> None:
        """`most` is how much a caller may have, `of_all` how much all callers together may.

        `what` names the places in errors.
        """
        self._most = most
        self._of_all = of_all
        self._what = what
        self._taken: Counter[str] = Counter()
        self._taken_by_all = 0

    def take(self, caller: str, size: int = 1) -> None:
        """Take `size` of the places that a caller may hold.

        Raises TooManyRequests when the caller has too few left, and Overloaded when all callers
        together have.
        """
        taken = self._taken[caller]
        if taken + size > self._most:
            raise TooManyRequests(f"you have {taken} {self._what} under way: wait for some", 1)
        if self._taken_by_all + size > self._of_all:
            raise Overloaded(f"too many {self._what} of all callers are under way: try again", 1)
        self._taken[caller] += size
        self._taken_by_all += size

    def give_back(self, caller: str, size: int = 1) -> None:
        """Give back `size` of the places that a caller has taken."""
        self._taken_by_all -= size
        self._taken[caller] -= size
        if not self._taken[caller]:
            del self._taken[caller]

    @contextmanager
    def held(self, caller: str, size: int = 1) -> Iterator[None]:
        """Hold `size` places for a block; raises what `take` raises."""
        self.take(caller, size)
        try:
            yield
        finally:
            self.give_back(caller, size)


class Streams:
    """Large answers being sent: bounds their number, and the bytes that are made and not yet sent.

    The bytes made for a client that does not read stay in memory. So streams and bytes of each
    caller are bounded, and the bytes of all callers together.
    """

    def __init__(self, each: int, bytes_each: int, most_bytes: int) -> None:
        """`bytes_each` bounds a caller's bytes, `most_bytes` those of all callers together.

        One answer alone may have more than `bytes_each`, but never more than `most_bytes`.
        """
        self._places = Places(each, "streams")
        self.bytes_each = bytes_each
        self.most_bytes = most_bytes
        self.held: Counter[str] = Counter()
        self.held_by_all = 0
        self.freed = asyncio.Event()

    @contextmanager
    def opened(self, caller: str, size: int) -> Iterator["Stream"]:
        """A stream for the length of a block, of which `size` bytes are made.

        Raises TooManyRequests when the caller has too many streams or too many bytes of them, and
        Overloaded when all callers together have too many bytes.
        """
        with self._places.held(caller):
            held = self.held[caller]
            if held and held + size > self.bytes_each:
                message = f"{held} bytes of your answers are unread: read some"
                raise TooManyRequests(message, 1, Denial.UNREAD)
            if self.held_by_all + size > self.most_bytes:
                raise Overloaded("all callers together have too many unread answers: try again", 1)
            stream = Stream(self, caller)
            stream.hold(size)
            try:
                yield stream
            finally:
                stream.hold(0)


class Stream:
    """A large answer that is being sent; `Streams.opened` makes it."""

    def __init__(self, streams: Streams, caller: str) -> None:
        self._streams = streams
        self._caller = caller
        self._size = 0

    def hold(self, size: int) -> None:
        """Say how many bytes of the answer are made and not sent."""
        streams, more = self._streams, size - self._size
        self._size = size
        streams.held[self._caller] += more
        streams.held_by_all += more
        if not streams.held[self._caller]:
            del streams.held[self._caller]
        if more < 0:
            streams.freed.set()
            streams.freed = asyncio.Event()

    def has_room(self) -> bool:
        """True if more may be made for the caller's streams; any thread may ask."""
        streams = self._streams
        return (
            streams.held[self._caller] < streams.bytes_each
            and streams.held_by_all < streams.most_bytes
        )

    async def wait_for_room(self) -> None:
        """Wait until more of the answer may be made."""
        while not self.has_room():
            await self._streams.freed.wait()
