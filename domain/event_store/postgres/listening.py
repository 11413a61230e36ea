"""Hears the announcements of other hosts of a log, on a connection of its own."""

import logging
import select
import socket
import threading
from collections.abc import Callable
from contextlib import closing

import psycopg
from psycopg import sql

from domain.errors import StoreUnavailable
from domain.event_store.port import Announcements
from domain.event_store.postgres.connections import Connections
from domain.event_store.postgres.link import Link

APPENDED = "log"
"""The text that announces an append, on the channel with the name of the schema; see `append_2`."""
_PAUSE_SECONDS = 0.5
"""Time before another attempt to connect."""
_GATHER_SECONDS = 0.005
"""Time for which announcements gather after one: else projectors would commit each write."""

log = logging.getLogger("catalog.log")


class Listener(Announcements):
    """A thread that listens, and connects again for as long as it is not closed."""

    def __init__(self, connections: Connections, schema: str, appended: Callable[[], None]) -> None:
        """Begins to listen; `appended` is called by the thread."""
        self._connections = connections
        self._listen_statement = sql.SQL("LISTEN {}").format(sql.Identifier(schema))
        self._appended = appended
        self._is_heard = False
        self._closing = threading.Event()
        self._end_signal, self._ends = socket.socketpair()
        """The thread waits for the connection and for the first of these at the same time."""
        self._thread = threading.Thread(target=self._run, name="log-listener", daemon=True)
        self._thread.start()

    def are_heard(self) -> bool:
        """True if the connection is open, as far as this machine knows."""
        return self._is_heard

    def close(self) -> None:
        """End the thread, which takes as long as an attempt to connect."""
        self._closing.set()
        self._ends.send(b".")
        self._thread.join()
        self._ends.close()
        self._end_signal.close()

    def _run(self) -> None:
        while not self._closing.is_set():
            try:
                with closing(self._connections.connect()) as link:
                    self._hear(link)
            except (StoreUnavailable, psycopg.Error) as error:
                if self._is_heard:
                    log.info("appends are not announced now", extra={"error": str(error).strip()})
            if self._is_heard:
                # Whoever waits for an announcement is to look by itself from now on.
                self._is_heard = False
                self._appended()
            self._closing.wait(_PAUSE_SECONDS)

    def _hear(self, link: Link) -> None:
        """Call `appended` for each announcement, until the end; raises psycopg.Error."""
        link.execute(self._listen_statement)
        self._is_heard = True
        # What was appended before.
        self._appended()
        while not self._closing.is_set():
            select.select([link.fileno(), self._end_signal.fileno()], [], [])
            if any([each.payload == APPENDED for each in link.notifies(timeout=0)]):
                self._appended()
                self._closing.wait(_GATHER_SECONDS)
