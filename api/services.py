"""What the routes work with, put together once by the composition root."""

from collections.abc import Callable
from contextlib import suppress

import msgspec
from anyio import CapacityLimiter, to_thread

from api.limits import Places, WorkQueue
from api.settings import Settings
from domain.catalog import Catalog
from domain.errors import StoreUnavailable
from domain.requests import Outcome
from projections.feeding.daemon import wait_for
from projections.stores import Stores

READ_YOUR_WRITES_SECONDS = 2.0
"""How long a write waits for the sorted read model."""
_WRITERS, _SEARCHES, _HEAVY_READS = 16, 2, 2
"""Threads. More searches at once answer no more of them, as each wants the interpreter most of the
time, and lists wait for all of them; so it is with heavy reads."""
MAX_HEAVY_READS, MAX_STREAMS = 64, 16
"""Heavy reads of one caller that are under way or waiting; and its open streams, each of which
keeps a snapshot of the sorted read model."""


class Services(msgspec.Struct, frozen=True):
    """The write side, the read models, and the threads that blocking work runs in."""

    settings: Settings
    stores: Stores
    catalog: Catalog
    wake: Callable[[], None]
    """Tells projectors in this process that something was appended."""
    writers: CapacityLimiter
    searches: WorkQueue
    heavy_reads: WorkQueue
    """Reads that take more than some milliseconds: histories, large pages, counting."""
    streams: Places

    async def write(self, work: Callable[[], Outcome]) -> Outcome:
        """Do a write in a thread and wait until lists show it, 2 seconds at most."""

        def run() -> Outcome:
            outcome = work()
            self.wake()
            # It is written: that lists cannot be read now must not make it look failed.
            with suppress(StoreUnavailable):
                entities = self.stores.entities
                wait_for(entities.checkpoint, outcome.position, READ_YOUR_WRITES_SECONDS)
            return outcome

        return await to_thread.run_sync(run, limiter=self.writers)


def make_services(
    settings: Settings, stores: Stores, wake: Callable[[], None] = lambda: None
) -> Services:
    """Services over opened stores."""
    return Services(
        settings,
        stores,
        Catalog(stores.log),
        wake,
        CapacityLimiter(_WRITERS),
        WorkQueue(_SEARCHES, Places(settings.search_queue, "searches")),
        WorkQueue(_HEAVY_READS, Places(MAX_HEAVY_READS, "large reads")),
        Places(MAX_STREAMS, "streams"),
    )
