"""The server of one of several workers, which accept from one listening socket between them.

The socket is shared, so that connections that wait in its queue are lost with no worker, and wait
for none that hangs. But whoever looks first takes what is there: of sixteen connections that come
together, one of two workers had up to fifteen, and a processor was idle. So each leaves connections
for a moment to workers that have fewer. Uvicorn leaves accepting to asyncio, which takes all.
"""

import asyncio
import logging
import socket
from collections.abc import Callable

import uvicorn

from api.telemetry.shared_counts import SharedCounts

PATIENCE_SECONDS = 0.002
"""Longest time for which a connection is left to workers that have fewer."""
MOST_WAITING_SECONDS, WAITING_SHARE = 0.2, 0.05
"""Most seconds at a stretch, and the share of the time, for which connections are left to others.

Clients that open many connections at once are shared evenly this way. But the others may hang, and
connections that last for one request only are many: without a bound, waiting for each took nine
tenths of the requests.
"""
_RETRY_SECONDS = 1.0
"""Seconds without new connections after the system had no room for another one."""

log = logging.getLogger("catalog.server")


class Acceptor:
    """Takes connections from a listening socket that other workers share."""

    def __init__(
        self,
        listener: socket.socket,
        counts: SharedCounts,
        take: Callable[[socket.socket], None],
        patience: float = MOST_WAITING_SECONDS,
    ) -> None:
        """`patience`: seconds for which connections may be left to other workers at first."""
        self._listener = listener
        self._counts = counts
        self._take = take
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._patience = patience
        """Seconds for which connections may still be left to other workers."""
        self._reckoned_at = self._paused_at = self._loop.time()

    def start(self) -> None:
        """Begin to take connections."""
        self._listener.setblocking(False)
        self._loop.add_reader(self._listener, self._look)

    def stop(self) -> None:
        """Take no more connections; those that wait are left to other workers."""
        self._loop.remove_reader(self._listener)
        if self._timer is not None:
            self._timer.cancel()

    def _look(self) -> None:
        """Accept waiting connections, or leave them to other workers for a while.

        The event loop calls this again while there are more, and others take some meanwhile.
        """
        while not self._others_have_fewer():
            if not self._accept():
                return
        if self._may_wait():
            self._pause(PATIENCE_SECONDS)
        else:
            self._accept()

    def _others_have_fewer(self) -> bool:
        own = self._counts.own.connections
        return any(each.connections < own for each in self._counts.workers)

    def _may_wait(self) -> bool:
        """True if connections may be left to other workers now."""
        now = self._loop.time()
        regained = (now - self._reckoned_at) * WAITING_SHARE
        self._patience = min(self._patience + regained, MOST_WAITING_SECONDS)
        self._reckoned_at = now
        return self._patience >= PATIENCE_SECONDS

    def _pause(self, seconds: float) -> None:
        self._loop.remove_reader(self._listener)
        self._paused_at = self._loop.time()
        self._timer = self._loop.call_later(seconds, self._go_on)

    def _go_on(self) -> None:
        """Accept a connection that the other workers have left, and look for more."""
        # A busy system may have taken much longer than was asked for.
        self._patience -= self._loop.time() - self._paused_at
        self._loop.add_reader(self._listener, self._look)
        self._accept()

    def _accept(self) -> bool:
        """Take a connection; returns whether there was one."""
        try:
            connection, _ = self._listener.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return False
        except OSError as error:
            log.error("no connection can be accepted", extra={"reason": str(error)})
            self._pause(_RETRY_SECONDS)
            return False
        self._counts.own.connections += 1
        connection.setblocking(False)
        self._take(connection)
        return True


class SharingServer(uvicorn.Server):
    """Uvicorn's server as a worker, which shares connections, and gives signs of life."""

    def __init__(self, config: uvicorn.Config, counts: SharedCounts) -> None:
        super().__init__(config)
        self._counts = counts
        self._opening: set[asyncio.Task[None]] = set()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start the application, then take connections from the first socket."""
        await super().startup(sockets=[])
        (listener,) = sockets or []
        self._acceptor = Acceptor(listener, self._counts, self._take)
        self._acceptor.start()

    async def on_tick(self, counter: int) -> bool:
        """Give a sign of life, ten times a second; returns whether to end, as uvicorn decides."""
        self._counts.own.beat()
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Take no more connections, and end as uvicorn does."""
        self._acceptor.stop()
        await super().shutdown(sockets)

    def _take(self, connection: socket.socket) -> None:
        opening = asyncio.get_running_loop().create_task(self._open(connection))
        self._opening.add(opening)
        opening.add_done_callback(self._opening.discard)

    async def _open(self, connection: socket.socket) -> None:
        """Answer the requests of a connection, unless its client has left meanwhile."""
        try:
            await asyncio.get_running_loop().connect_accepted_socket(self._protocol, connection)
        except OSError:
            connection.close()
            self._counts.own.connections = len(self.server_state.connections)

    def _protocol(self) -> asyncio.Protocol:
        return self.config.http_protocol_class(  # type: ignore[call-arg]
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )
