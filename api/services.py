"""The services that routes work with, put together once by the composition root."""

from collections.abc import Awaitable, Callable, Generator
from concurrent.futures import Future
from functools import partial
from typing import Any, TypeVar

import msgspec
from litestar import Request

from api.answers.bodies import has_left
from api.answers.read_positions import ReadPositions
from api.answers.remembered_answers import RememberedAnswers
from api.answers.responses import Heavy, Large
from api.callers.limits import Places, Streams
from api.callers.work_queue import WorkQueue
from api.settings import Settings
from domain.errors import AlreadyExists, ConcurrentChange
from domain.event_store.committer import Committer
from domain.measurements.bounds import Bounds
from domain.measurements.opening import measurements_at
from domain.measurements.port import Measurements
from domain.writing.catalog import Catalog, Proposal
from projections.feeding.daemon import Daemon
from projections.feeding.passing import CheckpointPoller, CheckpointWaiters, Waiter
from projections.wiring.stores import Stores

T = TypeVar("T")

READ_YOUR_WRITES_SECONDS = 2.0
"""Longest time that the answer to a write waits for lists to show the write."""
_SEARCHES, _HEAVY_READS = 2, 2
"""Threads for searches, and threads for heavy reads.

More threads answer no more requests, as each needs the interpreter most of the time, and lists wait
for all of them.
"""
_SEARCH_ALONE, _SEARCHES_TOGETHER = 0.01, 4
"""Seconds for which searches run before another begins beside them, for most are over by then, and
how many waiting ones of a caller run in one turn."""
_LOOKUPS = 4
"""Threads for pages and single entities of a read model in a database, most of whose time passes
there, and for what is short whatever is stored, such as the first page for people."""
_WRITERS, _WRITERS_EACH = 4, 1
"""Threads that propose writes, and how many of them one caller may have.

Proposing is work for the interpreter, so a caller gains nothing from more, and none is left without
a thread because another caller sends many large writes.
"""
_LONG_WRITERS = 1
"""Threads that propose writes which read the whole log, for which no other write waits."""
_WRITES_TOGETHER = 16
"""Waiting writes of one caller that a thread proposes in one turn."""
_SHARED_ATTEMPTS = 4
"""Attempts to store a write in a group, before it is decided and stored alone."""
MAX_HEAVY_READS, MAX_STREAMS = 64, 16
"""Most heavy reads of one caller, running or waiting, and most open streams.

Each stream keeps a snapshot of the sorted read model.
"""
UNSENT_BYTES_EACH, UNSENT_BYTES = 64_000_000, 256_000_000
"""Most bytes of streams that are made and not sent, of one caller and of all together.

Four callers that do not read can make others wait until the receive timeout, but no number of them
can take the memory of the process.
"""
MAX_WRITES = 256
"""Most writes of one caller, running or waiting."""


class Written(msgspec.Struct, frozen=True):
    """A write that is done."""

    position: int
    """Position in the log that includes the write."""
    listed: bool
    """True if lists show the write; False if the wait for them ended before."""

    @property
    def headers(self) -> dict[str, str]:
        """The headers of the answer to a write."""
        behind = {} if self.listed else {"X-Catalog-Lists": "behind"}
        return {"X-Catalog-Position": str(self.position), **behind}


class Services(msgspec.Struct, frozen=True):
    """The write side, the read models, and the threads that blocking work runs in."""

    settings: Settings
    stores: Stores
    catalog: Catalog
    committer: Committer
    """Stores what writes propose, and wakes the projectors of this process."""
    listed: CheckpointWaiters
    """Lets writes wait until lists show them."""
    searchable: CheckpointWaiters
    """Lets writes wait until searches find them."""
    positions: ReadPositions
    """Lets reads wait for the positions that they name."""
    writes: WorkQueue
    """Proposes writes, in their callers' turns."""
    long_writes: WorkQueue
    """Proposes writes that read the whole log, one at a time."""
    write_places: Places
    """Places for writes that wait for their turn, or for their append."""
    searches: WorkQueue
    lookups: WorkQueue
    """Short reads that the event loop cannot wait for, such as those of a page of a database."""
    heavy_reads: WorkQueue
    """Reads that take more than some milliseconds: histories, large pages, counting."""
    streams: Streams
    answers: RememberedAnswers
    measurements: Measurements
    """Reports of profilers and test runs; read in the threads of heavy reads."""
    pollers: tuple[CheckpointPoller, ...]
    """Look for commits that other processes make to a database, or that are made to a cluster."""

    async def write(
        self,
        request: Request[Any, Any, Any],
        propose: Callable[[], tuple[Proposal, T]],
        turns: WorkQueue | None = None,
    ) -> tuple[Written, T]:
        """Do the write of a request: proposed in its caller's turn, stored and listed.

        `propose` is called in a thread of `turns`, which are those of `writes` unless others are
        given, again when another writer was first. Returns the position of the write, and what came
        with the proposal, once lists show the write. Lists that take longer than 2 seconds, or
        cannot be read, do not make the write look failed. Raises TooManyRequests when the caller
        has too much waiting, ClientLeft when the client did not wait for its turn, and what
        `Catalog.until_stored` raises.
        """
        left = partial(has_left, request.receive)
        return await self.write_for(request.user.name, propose, left, turns)

    async def write_for(
        self,
        caller: str,
        propose: Callable[[], tuple[Proposal, T]],
        left: Callable[[], Awaitable[bool]] | None = None,
        turns: WorkQueue | None = None,
    ) -> tuple[Written, T]:
        """Do a write of a caller, as `write` does; `left` says if nobody waits for it any more."""
        turns = turns or self.writes
        with self.write_places.held(caller):
            for _ in range(_SHARED_ATTEMPTS):
                with self.listed.waiter() as waiter:
                    submit = partial(self._submit, propose, waiter)
                    given = await turns.go_on(caller, submit, left, self._store)
                    try:
                        listed = await waiter.passed
                    except (ConcurrentChange, AlreadyExists) as refusal:
                        self.catalog.refused(refusal)
                    else:
                        assert waiter.position is not None
                        return Written(waiter.position, listed), given
            alone = partial(self._alone, propose)
            position, given = await turns.go_on(caller, alone, left)
            return Written(position, await self.listed.until(position)), given

    async def measure(self, request: Request[Any, Any, Any], work: Callable[[], T]) -> T:
        """Change measurements in the turn of a request's caller.

        Raises TooManyRequests and ClientLeft as `write` does, and what `work` raises.
        """
        left = partial(has_left, request.receive)
        return await self.writes.run(request.user.name, work, left)

    def large(self, request: Request[Any, Any, Any], body: bytes, **more: Any) -> Large:
        """The answer with a body that may be large; `more` is what `Large` may be given."""
        return Large(body, request.user.name, self.streams, **more)

    def stream(
        self, request: Request[Any, Any, Any], chunks: Generator[bytes], **more: Any
    ) -> Heavy:
        """The answer made chunk by chunk, in turns of heavy reads; `more` is as of `Heavy`."""
        return Heavy(chunks, request.user.name, self.heavy_reads, self.streams, **more)

    async def heavy_read(self, request: Request[Any, Any, Any], work: Callable[[], T]) -> T:
        """Do a request's read in its caller's turn, in a thread of heavy reads.

        Raises TooManyRequests and ClientLeft as `WorkQueue.run` does, and the errors of `work`.
        """
        left = partial(has_left, request.receive)
        return await self.heavy_reads.run(request.user.name, work, left)

    async def light_read(self, request: Request[Any, Any, Any], work: Callable[[], T]) -> T:
        """Do what takes few milliseconds whatever is stored, in a thread.

        It waits for no heavy read. Raises what `heavy_read` raises.
        """
        left = partial(has_left, request.receive)
        return await self.lookups.run(request.user.name, work, left)

    def _submit(self, propose: Callable[[], tuple[Proposal, T]], waiter: Waiter) -> T:
        """Propose a write and hand its append to the committer; `waiter` hears of the position."""
        proposal, given = propose()
        if proposal.position is not None:
            self.listed.reach(waiter, proposal.position)
            return given

        def settle(future: Future[int]) -> None:
            error = future.exception()
            if error is not None:
                self.listed.fail(waiter, error)
                return
            self.catalog.stored(proposal)
            self.listed.reach(waiter, future.result())

        self.committer.add(proposal.append, settle)
        return given

    def _store(self, several: bool) -> None:
        """Have the proposals of a turn's writes stored.

        A thread stores them itself if no other thread has writes. After a single proposal it also
        leaves storing to another thread if writes are waiting, which may be decided meanwhile;
        after `several`, the waiting ones come together in the next turn.
        """
        self.committer.store(only=not self.writes.has_others(waiting=not several))

    def _alone(self, propose: Callable[[], tuple[Proposal, T]]) -> tuple[int, T]:
        with self.committer.alone():
            return self.catalog.until_stored(propose)

    def close(self) -> None:
        """Wait for the last appends; to be called before the stores are closed."""
        self.committer.close()
        for poller in self.pollers:
            poller.close()
        self.measurements.close()


def make_services(settings: Settings, stores: Stores, daemon: Daemon | None = None) -> Services:
    """Services over opened stores; `daemon` has the projectors, if they run in this process."""
    catalog, write_places = Catalog(stores.log, gate=settings.gate), Places(MAX_WRITES, "writes")
    listed, looking_at_lists = _waiters(
        stores.entities.definition.name,
        stores.listed,
        READ_YOUR_WRITES_SECONDS,
        daemon,
        elsewhere=stores.is_shared,
    )
    searchable, looking_at_search = _waiters(
        stores.engine.definition.name,
        partial(_searchable_position, stores),
        READ_YOUR_WRITES_SECONDS + settings.search_refresh,
        daemon,
        elsewhere=stores.searches_elsewhere,
    )
    return Services(
        settings=settings,
        stores=stores,
        catalog=catalog,
        committer=Committer(stores.log, daemon.appended if daemon is not None else lambda _: None),
        listed=listed,
        searchable=searchable,
        positions=ReadPositions(listed, searchable),
        writes=WorkQueue(_WRITERS, write_places, _WRITERS_EACH, together=_WRITES_TOGETHER),
        long_writes=WorkQueue(_LONG_WRITERS),
        write_places=write_places,
        searches=WorkQueue(
            _SEARCHES,
            Places(settings.search_queue, "searches"),
            together=_SEARCHES_TOGETHER,
            # Searches that wait for a database or a cluster leave the interpreter to each other.
            alone=0.0 if stores.looks_elsewhere else _SEARCH_ALONE,
        ),
        lookups=WorkQueue(_LOOKUPS, Places(MAX_HEAVY_READS, "reads")),
        heavy_reads=WorkQueue(_HEAVY_READS, Places(MAX_HEAVY_READS, "large reads")),
        streams=Streams(MAX_STREAMS, UNSENT_BYTES_EACH, UNSENT_BYTES),
        answers=RememberedAnswers(),
        measurements=open_measurements(settings),
        pollers=tuple(filter(None, (looking_at_lists, looking_at_search))),
    )


def _searchable_position(stores: Stores) -> int:
    """The position of what searches read; raises StoreUnavailable."""
    with stores.engine.use() as engine:
        return engine.revision()


def _waiters(
    name: str,
    checkpoint: Callable[[], int],
    seconds: float,
    daemon: Daemon | None,
    *,
    elsewhere: bool,
) -> tuple[CheckpointWaiters, CheckpointPoller | None]:
    """The waiters for a read model, and a poller of its checkpoint if it is `elsewhere`.

    `name` is the name of the read model, `checkpoint` gives its position. Any process may feed a
    read model that hosts share, and another one may take over.
    """
    if not elsewhere:
        waiters = CheckpointWaiters(checkpoint, seconds, announced=daemon is not None)
        if daemon is not None:
            daemon.listen(name, waiters.announce)
        return waiters, None
    poller = CheckpointPoller(checkpoint)
    waiters = CheckpointWaiters(poller.position, seconds, announced=True, look=poller.look)
    poller.start(waiters.anyone_waits, waiters.announce)
    if daemon is not None:
        daemon.listen(name, poller.look)
    return waiters, poller


def open_measurements(settings: Settings) -> Measurements:
    """The measurements of a data directory, or of its database, bounded as the settings say."""
    bounds = Bounds(settings.measurement_days, settings.measurement_bytes)
    return measurements_at(settings.directory, settings.database_url, bounds)
