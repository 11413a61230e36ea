"""Workers leave connections to those that have fewer, and wait for none that hangs."""

import asyncio
import errno
import os
import socket
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any

import pytest

from api.processes.server import bind
from api.processes.sharing_server import Acceptor
from api.telemetry.shared_counts import SharedCounts


class Worker:
    """A worker of two, and the connections that it took."""

    def __init__(
        self, listener: socket.socket, descriptor: int, place: int, patience: float
    ) -> None:
        self.counts = SharedCounts(os.dup(descriptor), place)
        self.taken: list[socket.socket] = []
        self.acceptor = Acceptor(listener, self.counts, self.taken.append, patience)


class Pair:
    """Two workers on one listening socket, in one event loop."""

    def __init__(self, stack: ExitStack, patience: float = 10.0) -> None:
        self._stack = stack
        self.listener = stack.enter_context(bind("127.0.0.1", 0))
        counts = SharedCounts.made(2)
        self.workers = [
            Worker(stack.enter_context(self.listener.dup()), counts.descriptor, place, patience)
            for place in (0, 1)
        ]
        for worker in self.workers:
            stack.callback(worker.acceptor.stop)
            stack.callback(lambda worker=worker: [each.close() for each in worker.taken])

    def connect(self, number: int) -> None:
        for _ in range(number):
            address = self.listener.getsockname()
            self._stack.enter_context(closing(socket.create_connection(address, 10)))

    @property
    def shares(self) -> list[int]:
        return [len(worker.taken) for worker in self.workers]

    async def all_taken(self, number: int) -> None:
        while sum(self.shares) < number:
            await asyncio.sleep(0)


async def turns() -> None:
    """Let the event loop look at all its sockets."""
    for _ in range(5):
        await asyncio.sleep(0)


@contextmanager
def standing_still() -> Iterator[None]:
    """A block in which no time passes for the event loop, however long the system takes."""
    loop: Any = asyncio.get_running_loop()
    now = loop.time()
    loop.time = lambda: now
    try:
        yield
    finally:
        del loop.time


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as opened:
        yield opened


def run(work: Callable[[], Awaitable[None]]) -> None:
    async def within() -> None:
        await asyncio.wait_for(work(), 30)

    asyncio.run(within())


def test_connections_that_come_together_are_shared(stack: ExitStack) -> None:
    async def work() -> None:
        pair = Pair(stack)
        pair.connect(16)
        for worker in pair.workers:
            worker.acceptor.start()
        await pair.all_taken(16)

        assert pair.shares == [8, 8]

    run(work)


def test_worker_with_fewer_connections_takes_all_until_it_has_as_many(stack: ExitStack) -> None:
    async def work() -> None:
        pair = Pair(stack)
        pair.workers[0].counts.own.connections = 6
        for worker in pair.workers:
            worker.acceptor.start()
        pair.connect(6)
        await pair.all_taken(6)
        assert pair.shares == [0, 6]

    run(work)


def test_connections_that_a_worker_with_fewer_leaves_are_taken(stack: ExitStack) -> None:
    async def work() -> None:
        pair = Pair(stack)
        busy, _ = pair.workers
        busy.counts.own.connections = 6
        busy.acceptor.start()
        pair.connect(3)
        await turns()
        assert pair.shares == [0, 0]
        await pair.all_taken(3)

    run(work)


def test_worker_that_has_waited_for_others_takes_connections_at_once(stack: ExitStack) -> None:
    async def work() -> None:
        pair = Pair(stack, patience=0.0)
        busy, _ = pair.workers
        busy.counts.own.connections = 6
        busy.acceptor.start()
        pair.connect(3)
        await turns()
        assert pair.shares == [3, 0]

    run(work)


def test_worker_that_stops_leaves_connections_to_others(stack: ExitStack) -> None:
    async def work() -> None:
        pair = Pair(stack)
        stopping, other = pair.workers
        stopping.counts.own.connections = 6
        stopping.acceptor.start()
        pair.connect(2)
        with standing_still():
            await turns()
            stopping.acceptor.stop()
        other.counts.own.connections = 6
        other.acceptor.start()
        await pair.all_taken(2)
        assert pair.shares == [0, 2]

    run(work)


def test_system_without_room_for_a_connection_is_asked_again_later(stack: ExitStack) -> None:
    class Full(socket.socket):
        """A listening socket of a process that may open no more files."""

        asked = 0

        def accept(self) -> tuple[socket.socket, object]:
            self.asked += 1
            raise OSError(errno.EMFILE, "too many open files")

    async def work() -> None:
        pair = Pair(stack)
        full = stack.enter_context(Full(fileno=os.dup(pair.listener.fileno())))
        acceptor = Acceptor(full, pair.workers[0].counts, pair.workers[0].taken.append)
        acceptor.start()
        pair.connect(1)
        await turns()
        acceptor.stop()
        assert full.asked == 1

    run(work)
