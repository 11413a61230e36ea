"""One state of the file for the pages that an event loop reads in the same iteration."""

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import suppress

from projections.entities.list_ends import ListEnds

_MOST = 256
"""Number of lists whose ends are remembered."""


class LoopState:
    """A transaction, and the ends of the lists that were read in its state of the file.

    It ends with the iteration of the loop. To begin and to end one takes as long as to read five
    entities; if it were held for longer, the write-ahead log could not be used again meanwhile.
    """

    def __init__(self, connection: sqlite3.Connection, loop: asyncio.AbstractEventLoop) -> None:
        """`connection` is of these transactions alone."""
        self.connection = connection
        self.loop = loop
        self._number: int | None = None
        self._version: tuple[int] | None = None
        self._ends: dict[str, ListEnds] = {}
        """By `ListRequest.identity`."""

    def begin(self, number: int | None) -> None:
        """Begin a transaction, unless there is one from the same number of changes.

        The number is None where that of all changes is not known.
        """
        if number is not None and number == self._number:
            return
        self._end()
        self.connection.execute("BEGIN")
        self.loop.call_soon(self._end)
        # It differs once another connection has changed the file.
        version = self.connection.execute("PRAGMA data_version").fetchone()
        if version != self._version:
            self._version = version
            self._ends.clear()
        self._number = number

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
        # It is closed with the read model.
        with suppress(sqlite3.ProgrammingError):
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")
