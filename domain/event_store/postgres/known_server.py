"""The server that a process was connected to last, which all its connections to one place share."""

import threading
from weakref import WeakValueDictionary

import psycopg

from domain.event_store.postgres.address import Address

_PLACE = ("host", "hostaddr", "port", "dbname", "user", "application_name")
"""The parameters by which two connections have the same server."""


class KnownServer:
    """The server that was connected to last, and the epoch that began with it; for any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._reported = ("", "", "")
        self.epoch = 0
        """A number that differs once the server was started anew, or another took its place.

        So it differs after each loss of transactions that were not on disk.
        """

    def meet(self, timeline: str, started: str, recovered: str) -> int:
        """Register the server of a new connection by what it reports; returns its epoch.

        Raises psycopg.OperationalError for a server that was overtaken by another one.
        """
        with self._lock:
            newest, *_ = self._reported
            if timeline < newest:
                raise psycopg.OperationalError(
                    f"the server is on timeline {timeline}, and another was on {newest} already"
                )
            if self._reported != (timeline, started, recovered):
                self._reported = timeline, started, recovered
                self.epoch += 1
            return self.epoch


_known: WeakValueDictionary[tuple[str | None, ...], KnownServer] = WeakValueDictionary()
_lock = threading.Lock()


def known_server(address: Address) -> KnownServer:
    """The KnownServer of an address, one object for all connections of the process.

    If each store knew a server of its own, one would go on with a primary that another one knows to
    be overtaken.
    """
    place = tuple(address.parameters.get(name) for name in _PLACE)
    with _lock:
        server = _known.get(place)
        if server is None:
            server = _known[place] = KnownServer()
        return server
