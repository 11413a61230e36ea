"""The leadership of a read model in a database: the host that holds a lock there feeds it.

The lock belongs to the session by which the leader commits. So a leader that was cut off has
neither lock nor session any more, and a leader that dies leaves both at once.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from socket import gethostname

import psycopg

from domain.errors import StoreUnavailable
from domain.event_store.postgres.connections import Connections, unavailable
from domain.event_store.postgres.link import Link
from projections.generations.postgres.generations import try_lock

_ALIVE_SECONDS = 1.0
"""Time between two checks of an idle leader that its session is alive."""
_HOLDER = (
    "SELECT application_name FROM pg_stat_activity JOIN pg_locks USING (pid),"
    " hashtextextended(%b, 0) AS key"
    " WHERE locktype = 'advisory' AND granted AND database ="
    " (SELECT oid FROM pg_database WHERE datname = current_database())"
    " AND objsubid = 1 AND (classid::int8 << 32 | objid::int8) = key"
)
_NAME_SESSION = "SELECT set_config('application_name', %b, false)"
_SESSION = "catalog leader "
"""Prefix of the name of a leader's session, before the name of its host."""


class PostgresLeadership:
    """Leadership among all processes that share a read model of the same code; for one thread."""

    def __init__(self, connections: Connections, name: str) -> None:
        """`name` is the name of the lock."""
        self._connections = connections
        self._name = name
        self._link: Link | None = None
        self._leads = False
        self._seen_at = 0.0

    def take(self) -> bool:
        """True if this process leads now; it does until `leads` says otherwise.

        Raises StoreUnavailable.
        """
        if not self.leads():
            try:
                self._leads = try_lock(self.writer(), self._name)
                if self._leads:
                    self.writer().one(_NAME_SESSION, _SESSION + gethostname())
            except psycopg.Error as error:
                raise unavailable(error, what="the leadership of a read model") from error
            self._seen_at = time.monotonic()
        return self._leads

    def leads(self) -> bool:
        """True if this process still has the lock."""
        if not self._leads or self._link is None:
            return False
        if time.monotonic() - self._seen_at >= _ALIVE_SECONDS:
            with suppress(psycopg.Error):
                self._link.execute(b"SELECT")
                self._seen_at = time.monotonic()
        if self._link.closed or self._link.epoch != self._connections.epoch:
            # Its server is gone, or another one has taken its place, which it may not know.
            self.release()
        return self._leads

    def writer(self) -> Link:
        """The session to commit by; a lost one is replaced only when this process leads no more.

        Raises StoreUnavailable.
        """
        if self._link is not None and self._link.closed:
            if self._leads:
                raise StoreUnavailable("this process leads no more: its connection was cut")
            self._link = None
        if self._link is None:
            self._link = self._connections.connect()
        return self._link

    def session(self) -> Link | None:
        """The session that has the leadership, None when this process does not lead.

        Raises StoreUnavailable when the session was cut and the leadership lost with it.
        """
        return self.writer() if self._leads else None

    def leader(self) -> str | None:
        """The name of the host that leads now, as its session has it; raises StoreUnavailable."""
        held = self._connections.ask(lambda link: link.one(_HOLDER, self._name))
        return None if held is None else str(held[0]).removeprefix(_SESSION)

    @contextmanager
    def held(self) -> Iterator[None]:
        """The leadership for a block; raises StoreUnavailable when another process has it."""
        if not self.take():
            raise StoreUnavailable("another process feeds the read model")
        try:
            yield
        finally:
            self.release()

    def release(self) -> None:
        """End the session, and with it the leadership."""
        link, self._link, self._leads = self._link, None, False
        if link is not None:
            link.close()
