"""Connections to a database: a pool of them, which notices when the server changes."""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import psycopg
from psycopg.errors import DiskFull, ReadOnlySqlTransaction
from psycopg.types.numeric import Int8BinaryDumper
from psycopg_pool import ConnectionPool, PoolTimeout

from domain.errors import StoreUnavailable
from domain.event_store.postgres.address import Address
from domain.event_store.postgres.link import Link

T = TypeVar("T")

LOG = "the event log"
POOL_SIZE = 8
"""Most connections of a process to the log, beside one for each snapshot and restore."""
_IDLE_SECONDS = 60.0
_TRUSTED_SECONDS = 1.0
"""Time after its last use for which a connection is taken to be alive without a check."""
_ATTEMPT_SECONDS = 0.2
"""Longest time of the pool's own attempt to connect, before another one is requested."""

_NO_WRITES = "its database takes no writes"
_GREETING = """
SELECT CASE WHEN NOT pg_is_in_recovery()
        THEN substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) END,
    pg_postmaster_start_time()::text,
    (SELECT stats_reset::text FROM pg_stat_bgwriter),
    CASE current_setting('synchronous_commit')
        WHEN 'off' THEN set_config('synchronous_commit', 'on', false) END
"""
"""Timeline of the server, null while it is a standby, and what differs after each of its starts.

When one of its processes crashes, a server recovers from its log without a new start, but its
statistics begin anew, as they do after every end that was not clean. What is acknowledged survives
power loss, whatever is set.
"""

_PLACE = ("host", "hostaddr", "port", "dbname", "user", "application_name")
"""The parameters by which two connections have the same server."""

log = logging.getLogger("catalog.log")
# The pool warns of each attempt that fails; that the database is away is told here, and once.
logging.getLogger("psycopg.pool").setLevel(logging.ERROR)
# psycopg warns of what fails behind the first error of a pipeline, which is raised.
logging.getLogger("psycopg").setLevel(logging.ERROR)


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

    If each pool knew a server of its own, one would go on with a primary that another one knows to
    be overtaken.
    """
    place = tuple(address.parameters.get(name) for name in _PLACE)
    with _lock:
        server = _known.get(place)
        if server is None:
            server = _known[place] = KnownServer()
        return server


class Standby(psycopg.OperationalError):
    """The server is a standby, which takes no writes."""


class Connections:
    """A pool of connections, each with the settings of the address and to the newest timeline."""

    wait_seconds = 2.0
    """Longest time to wait for a connection of the pool."""
    read_seconds, append_seconds = 30.0, 62.0
    """Longest time of the server for a read of the log, and for anything else.

    Its own `statement_timeout` is of no use where it hangs.
    """
    check_seconds = 2.0
    """Longest time of the server for the check that a connection is alive."""
    settle_seconds = 10.0
    """Longest time to find out the fate of an append whose connection broke."""

    def __init__(self, address: Address, *, what: str = LOG, size: int = POOL_SIZE) -> None:
        """`what` names, in errors, the store behind the `size` connections.

        Only the connections of the log write to the log file that the database is out of reach.
        """
        self._what = what
        self._size = size
        self._parameters: dict[str, Any] = {**address.parameters, "autocommit": True}
        self._lock = threading.Lock()
        self._server = known_server(address)
        self._is_lost = False
        """True if the database was out of reach at the last look, which is logged once."""
        self._pool = ConnectionPool(
            kwargs=self._parameters,
            connection_class=Link,
            min_size=0,
            max_size=self._size,
            open=False,
            configure=self._greet,
            max_idle=_IDLE_SECONDS,
            # The pool tries again when somebody asks, and not later and later.
            reconnect_timeout=_ATTEMPT_SECONDS,
            num_workers=2,
            name=what.replace(" ", "-"),
        )

    @property
    def epoch(self) -> int:
        """The epoch of the server, as all connections of the process know it; see `KnownServer`."""
        return self._server.epoch

    def open(self) -> None:
        """Start the pool; it connects when a connection is needed."""
        self._pool.open()

    def close(self) -> None:
        """Close all unused connections; none may be taken afterwards."""
        self._pool.close()

    @contextmanager
    def use(self) -> Iterator[Link]:
        """A connection for a block; a transaction that is left open is rolled back.

        Raises StoreUnavailable when none is to be had in time, and psycopg's errors of the block.
        """
        connection = self.take()
        try:
            yield connection
        finally:
            self.give_back(connection)

    def take(self) -> Link:
        """A connection of this epoch, which the caller gives back; raises StoreUnavailable."""
        ends = time.monotonic() + self.wait_seconds
        while True:
            try:
                connection = self._pool.getconn(timeout=_ATTEMPT_SECONDS)
            except PoolTimeout:
                if time.monotonic() >= ends:
                    raise self._unavailable() from None
                continue
            if self.is_usable(connection):
                connection.answers_within = self.append_seconds
                connection.sync_was_cut = False
                return connection
            connection.close()
            self.give_back(connection)
            if time.monotonic() >= ends:
                raise self._unavailable()

    def is_usable(self, connection: Link) -> bool:
        """True if a connection answers, and its server was not overtaken, as it may not know."""
        return connection.epoch == self.epoch and _is_alive(connection, self.check_seconds)

    def give_back(self, connection: Link) -> None:
        """Return a connection of `take`, in whatever state it is."""
        connection.used_at = time.monotonic()
        lost = connection.closed
        self._pool.putconn(connection)
        if lost:
            # What has ended this connection has most likely ended the others.
            self._pool.drain()

    def ask(self, work: Callable[[Link], T], *, within: float | None = None) -> T:
        """The result of work that changes nothing; it is repeated on a new connection.

        `within`: seconds that the server may take for a statement, `read_seconds` if not said.
        Raises StoreUnavailable, also for psycopg's errors.
        """
        ends = time.monotonic() + self.wait_seconds
        while True:
            with self.use() as connection:
                connection.answers_within = self.read_seconds if within is None else within
                try:
                    return work(connection)
                except psycopg.Error as error:
                    if not connection.closed or time.monotonic() >= ends:
                        raise unavailable(error, what=self._what) from error

    def connect(self) -> Link:
        """A connection outside the pool, for long use; raises StoreUnavailable."""
        try:
            connection = Link.connect(**self._parameters)
            self._greet(connection)
        except psycopg.Error as error:
            why = str(error).strip().partition("\n")[0]
            raise unavailable(error, why, self._what) from error
        return connection

    def _greet(self, connection: Link) -> None:
        """Register the server of a new connection; closes one that is of no use, and raises."""
        try:
            connection.adapters.register_dumper(int, Int8BinaryDumper)
            connection.add_notice_handler(connection.note_cut_sync)
            connection.session = connection.info.backend_pid
            timeline, started, recovered, _ = connection.one(_GREETING)
            if timeline is None:
                raise Standby("the server is a standby, which takes no writes")
            connection.epoch = self._server.meet(timeline, started, recovered)
        except BaseException:
            # The pool only lets go of it, and the server has so many places.
            connection.close()
            raise
        with self._lock:
            if self._is_lost:
                self._is_lost = False
                log.warning("the database of the log answers again")

    def _unavailable(self) -> StoreUnavailable:
        """The reason why the pool has no connection to give."""
        try:
            self.connect().close()
        except StoreUnavailable as error:
            with self._lock:
                was_lost, self._is_lost = self._is_lost, self._what == LOG
            if self._is_lost and not was_lost:
                log.error("the database of the log is out of reach", extra={"error": error.message})
            why = "is a standby" if isinstance(error.__cause__, Standby) else "is away"
            return StoreUnavailable(f"{self._what} cannot be used now: its database {why}")
        return StoreUnavailable(
            f"{self._what} cannot be used now: all {self._size} connections are in use"
        )


def unavailable(error: psycopg.Error, why: str = "", what: str = LOG) -> StoreUnavailable:
    """The catalog's error for one of the driver; `why` is for operators, and names addresses."""
    if isinstance(error, ReadOnlySqlTransaction):
        why = f"{_NO_WRITES} ({error.sqlstate})"
    if isinstance(error, DiskFull):
        # Its own message names a file of the server.
        why = f"the disk of its database is full ({error.sqlstate})"
    if not why and error.sqlstate is not None:
        why = f"{error.diag.message_primary} ({error.sqlstate})"
    return StoreUnavailable(f"{what} cannot be used now: {why or 'its database is away'}")


@contextmanager
def translated_errors(what: str = LOG) -> Iterator[None]:
    """Raise the errors of the driver in a block as those of the catalog."""
    try:
        yield
    except psycopg.Error as error:
        raise unavailable(error, what=what) from error


def _is_alive(connection: Link, seconds: float) -> bool:
    """True if a connection answers; one that was used a moment ago is not checked."""
    if time.monotonic() - connection.used_at < _TRUSTED_SECONDS:
        return not connection.closed
    connection.answers_within = seconds
    try:
        ConnectionPool.check_connection(connection)
    except psycopg.Error:
        return False
    return True
