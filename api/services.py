"""What the routes work with, put together once by the composition root."""

import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

import msgspec
from anyio import CapacityLimiter, to_thread

from api.limits import Places, Streams, WorkQueue
from api.remembered_answers import RememberedAnswers
from api.settings import Settings
from domain.catalog import Catalog
from domain.errors import StoreUnavailable
from projections.feeding.daemon import wait_for
from projections.stores import Stores

T = TypeVar("T")

READ_YOUR_WRITES_SECONDS = 2.0
"""How long the answer to a write waits until lists show the write."""
_SEARCHES, _HEAVY_READS = 2, 2
"""How many threads search, and how many do heavy reads.

More threads answer no more requests, as each needs the interpreter most of the time, and lists
wait for all of them.
"""
_WRITERS, _WRITERS_EACH = 4, 1
"""Threads that write, and how many of them one caller may have.

The log takes one write after the other, so a caller gains little from more, and none is left
without a thread because another caller sends many large writes.
"""
_WAITING_FOR_LISTS = 16
"""How many threads there are in which writes wait until lists show them."""
MAX_HEAVY_READS, MAX_STREAMS = 64, 16
"""How many heavy reads one caller may have under way or waiting, and how many open streams.

Each stream keeps a snapshot of the sorted read model.
"""
UNSENT_BYTES_EACH, UNSENT_BYTES = 64_000_000, 256_000_000
"""How many bytes of streams may be made and not sent, of one caller and of all together.

Four callers that do not read can have others wait until the receive timeout, but no number of them
can have the memory of the process.
"""
MAX_WRITES, MAX_WRITE_BYTES = 256, 64_000_000
"""How many writes one caller may have under way or waiting, and how many bytes of bodies."""


class Services(msgspec.Struct, frozen=True):
    """The write side, the read models, and the threads that blocking work runs in."""

    settings: Settings
    stores: Stores
    catalog: Catalog
    wake: Callable[[], None]
    """Wakes the projectors of this process after an append."""
    writes: WorkQueue
    write_bytes: Places
    """Places for the bodies of writes, in bytes."""
    waiting_for_lists: CapacityLimiter
    searches: WorkQueue
    heavy_reads: WorkQueue
    """Reads that take more than some milliseconds: histories, large pages, counting."""
    streams: Streams
    answers: RememberedAnswers

    async def write(
        self, caller: str, size: int, work: Callable[[], T], has_left: Callable[[], Awaitable[bool]]
    ) -> T:
        """Do a write with a body of `size` bytes, when it is its caller's turn.

        Raises TooManyRequests when the caller has too much waiting, ClientLeft when the client did
        not wait for its turn, and what `work` raises.
        """
        with self.write_bytes.held(caller, size):
            return await self.writes.run(caller, work, has_left)

    async def until_listed(self, position: int) -> None:
        """Wait until lists show what the log has up to a position, for 2 seconds at most."""
        until = time.monotonic() + READ_YOUR_WRITES_SECONDS

        def wait() -> None:
            # The write is done: lists that cannot be read now must not make it look failed.
            with suppress(StoreUnavailable):
                left = max(0.0, until - time.monotonic())
                wait_for(self.stores.entities.checkpoint, position, left)

        await to_thread.run_sync(wait, limiter=self.waiting_for_lists)


def make_services(
    settings: Settings, stores: Stores, wake: Callable[[], None] = lambda: None
) -> Services:
    """Services over opened stores."""
    return Services(
        settings=settings,
        stores=stores,
        catalog=Catalog(stores.log),
        wake=wake,
        writes=WorkQueue(_WRITERS, Places(MAX_WRITES, "writes"), _WRITERS_EACH),
        write_bytes=Places(MAX_WRITE_BYTES, "bytes of writes"),
        waiting_for_lists=CapacityLimiter(_WAITING_FOR_LISTS),
        searches=WorkQueue(_SEARCHES, Places(settings.search_queue, "searches")),
        heavy_reads=WorkQueue(_HEAVY_READS, Places(MAX_HEAVY_READS, "large reads")),
        streams=Streams(MAX_STREAMS, UNSENT_BYTES_EACH, UNSENT_BYTES),
        answers=RememberedAnswers(),
    )
