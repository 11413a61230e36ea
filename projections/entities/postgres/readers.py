"""The connections by which a process reads lists: a stack, which takes less time than a pool.

The one that was given back last is taken first, so it is seldom too old to be trusted. A pool that
looks after its connections in threads of its own would take half as long again as a page does.
"""

import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import TypeVar

import psycopg

from domain.errors import StoreUnavailable
from domain.event_store.postgres import connections as pools
from domain.event_store.postgres.connections import Connections
from domain.event_store.postgres.link import Link
from projections.entities.postgres.errors import WHAT, raise_as_ours

T = TypeVar("T")

READERS = 8
"""Connections to read by that a process has at most, beside those that are kept for long."""
_PAUSE_SECONDS = 0.1
"""How long lies between two attempts to connect."""


class Readers:
    """Lends connections, which it makes when none is idle."""

    def __init__(self, connections: Connections, answers_within: float) -> None:
        """`answers_within`: seconds that the server may take for a statement."""
        self._connections = connections
        self._answers_within = answers_within
        self._places: SimpleQueue[None] = SimpleQueue()
        """One for each connection that may be taken; quicker than a semaphore."""
        for _ in range(READERS):
            self._places.put(None)
        self._idle: deque[Link] = deque()

    def take(self) -> Link:
        """A connection that the caller gives back; raises StoreUnavailable."""
        ends = time.monotonic() + pools.WAIT_SECONDS
        try:
            self._places.get(timeout=pools.WAIT_SECONDS)
        except Empty:
            raise StoreUnavailable(
                f"{WHAT} cannot be used now: all {READERS} connections are in use"
            ) from None
        try:
            link = self._idle_one() or self._connect(ends)
            link.answers_within = self._answers_within
            return link
        except BaseException:
            self._places.put(None)
            raise

    def give_back(self, link: Link) -> None:
        """Returns a connection of `take`, which has no transaction open unless it is closed."""
        link.used_at = time.monotonic()
        if link.closed:
            # What has ended this connection has most likely ended the others.
            self.close()
        else:
            self._idle.append(link)
        self._places.put(None)

    def ask(self, work: Callable[[Link], T]) -> T:
        """What some work that changes nothing comes to; it is done again on a new connection.

        Raises StoreUnavailable, also for psycopg's errors, and Superseded when tables are gone.
        """
        ends = time.monotonic() + pools.WAIT_SECONDS
        while True:
            link = self.take()
            try:
                return work(link)
            except psycopg.Error as error:
                if not link.closed or time.monotonic() >= ends:
                    raise_as_ours(error)
            finally:
                self.give_back(link)

    def close(self) -> None:
        """Closes the connections that nobody uses."""
        with suppress(IndexError):
            while True:
                self._idle.pop().close()

    def _idle_one(self) -> Link | None:
        """A connection that answers, of those that were used before."""
        with suppress(IndexError):
            while True:
                link = self._idle.pop()
                if self._connections.is_usable(link):
                    return link
                link.close()
                # To ask each of the others would take as long again.
                self.close()
        return None

    def _connect(self, ends: float) -> Link:
        """A new connection, for which the database is asked until a time."""
        while True:
            try:
                return self._connections.connect()
            except StoreUnavailable as error:
                # Its reason is for operators alone, whom the connections of the log tell it.
                if time.monotonic() >= ends:
                    raise StoreUnavailable(
                        f"{WHAT} cannot be used now: its database is away"
                    ) from error
            time.sleep(_PAUSE_SECONDS)
