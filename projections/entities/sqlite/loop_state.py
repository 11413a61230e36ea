"""One state of the file for the pages that an event loop reads one after the other."""

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import suppress

from projections.entities.list_ends import ListEnds
from projections.feeding.port import NumberOf

_MOST = 256
"""Number of lists whose ends are remembered."""


class LoopState:
    """A transaction, and the ends of the lists that were read in its state of the file.

    To begin and to end one takes as long as to read five entities, and SQLite gives up its map of
    the file where the state is another one than before: its pages are mapped anew, one by one. So a
    transaction is held while its state has the newest entities of all kinds that are asked for, to
    the end of a slice of time. Meanwhile the write-ahead log cannot be used again from its
    beginning. For that there are slices in which transactions end with the iteration of the loop.
    """

    slice_seconds, slices = 1.0, 4
    """Length of a slice of time in seconds; one slice in `slices` has no held transactions."""

    def __init__(self, connection: sqlite3.Connection, loop: asyncio.AbstractEventLoop) -> None:
        """No other transactions use `connection`."""
        self.connection = connection
        self.loop = loop
        self._most_bytes = 0
        self._number: int | None = None
        self._ending: asyncio.Handle | None = None
        self._version: tuple[int] | None = None
        self._ends: dict[str, ListEnds] = {}
        """`ListRequest.identity` -> the ends of the list."""

    def begin(self, needed: int | None, number: NumberOf, most_bytes: int) -> None:
        """Begin a transaction, unless the open one already includes the change number `needed`.

        `number` gives the number of the last change; None stands for an unknown one. Reading a
        value of more than `most_bytes` raises sqlite3.DataError.
        """
        if most_bytes != self._most_bytes:
            self.connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, most_bytes)
            self._most_bytes = most_bytes
        if needed is not None and self._number is not None and needed <= self._number:
            return
        self._end()
        latest = number(None)
        self.connection.execute("BEGIN")
        place, passed = divmod(self.loop.time(), self.slice_seconds)
        if place % self.slices and latest is not None:
            self._ending = self.loop.call_later(self.slice_seconds - passed, self._end)
        else:
            self._ending = self.loop.call_soon(self._end)
        # It differs once another connection has changed the file.
        version = self.connection.execute("PRAGMA data_version").fetchone()
        if version != self._version:
            self._version = version
            self._ends.clear()
        self._number = latest

    def ends(self, identity: str, read: Callable[[], ListEnds]) -> ListEnds:
        """The ends of a list in this state, read by a function unless they are remembered."""
        ends = self._ends.get(identity)
        if ends is None:
            ends = read()
            if len(self._ends) >= _MOST:
                self._ends.clear()
            self._ends[identity] = ends
        return ends

    def _end(self) -> None:
        self._number = None
        if self._ending is not None:
            self._ending.cancel()
            self._ending = None
        # It is closed with the read model.
        with suppress(sqlite3.ProgrammingError):
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")
