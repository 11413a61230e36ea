"""Connections to a database: a stack of them, which notices when the server changes."""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from typing import Any, NoReturn, TypeVar

import psycopg
from psycopg.errors import DiskFull, ReadOnlySqlTransaction
from psycopg.pq import TransactionStatus
from psycopg.types.numeric import Int8BinaryDumper

from domain.errors import StoreUnavailable
from domain.event_store.postgres.address import Address
from domain.event_store.postgres.known_server import known_server
from domain.event_store.postgres.link import Link

T = TypeVar("T")

LOG = "the event log"
POOL_SIZE = 8
"""Most connections of a process to the log, beside one for each snapshot and restore."""
_TRUSTED_SECONDS = 1.0
"""Time after its last use for which a connection is taken to be alive without a check."""
_PAUSE_SECONDS = 0.1
"""Time between two attempts to connect."""
_OPEN = {TransactionStatus.INTRANS, TransactionStatus.INERROR}
"""States of a connection that has a transaction open."""

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
statistics begin anew, as they do after every end that was not clean. The last column sees to it
that acknowledged commits survive power loss, whatever is set.
"""

log = logging.getLogger("catalog.log")
# psycopg warns of what fails behind the first error of a pipeline, which is raised.
logging.getLogger("psycopg").setLevel(logging.ERROR)


class Standby(psycopg.OperationalError):
    """The server is a standby, which takes no writes."""


class Connections:
    """Lends connections, each with the settings of the address and to the newest timeline.

    They are a stack: the one that was given back last is taken first, so it is seldom too old to be
    trusted. One is made when none is idle. A pool that looks after its connections in threads of
    its own would take a tenth of the time of an append.
    """

    wait_seconds = 2.0
    """Longest time to wait for a connection."""
    read_seconds, append_seconds = 30.0, 62.0
    """Longest time of the server for a read of the log, and for anything else.

    Its own `statement_timeout` is of no use where it hangs.
    """
    check_seconds = 2.0
    """Longest time of the server for the check that a connection is alive."""
    idle_seconds = 60.0
    """Time for which a connection is kept that nobody uses, while others are used."""
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
        self._answered_at = float("-inf")
        """Time at which the newest connection was made, by `time.monotonic`."""
        self._places: SimpleQueue[None] = SimpleQueue()
        """An element for each connection that may be taken; quicker than a semaphore."""
        for _ in range(size):
            self._places.put(None)
        self._idle: deque[Link] = deque()
        self._is_closed = False

    @property
    def epoch(self) -> int:
        """The epoch of the server, as all connections of the process know it; see `KnownServer`."""
        return self._server.epoch

    def close(self) -> None:
        """Close the connections: those in use, once they are given back."""
        self._is_closed = True
        self._close_idle()

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
        try:
            self._places.get(timeout=self.wait_seconds)
        except Empty:
            raise StoreUnavailable(
                f"{self._what} cannot be used now: all {self._size} connections are in use"
            ) from None
        try:
            connection = self._idle_one() or self._connect(ends)
        except BaseException:
            self._places.put(None)
            raise
        connection.answers_within = self.append_seconds
        connection.sync_was_cut = False
        return connection

    def is_usable(self, connection: Link) -> bool:
        """True if a connection answers, and its server was not overtaken, as it may not know."""
        return connection.epoch == self.epoch and _is_alive(connection, self.check_seconds)

    def give_back(self, connection: Link) -> None:
        """Return a connection of `take`, in whatever state it is."""
        connection.used_at = time.monotonic()
        try:
            _end_transaction(connection)
            if connection.closed:
                # What has ended this connection has most likely ended the others.
                self._close_idle()
            else:
                self._idle.append(connection)
                self._close_idle(connection.used_at - self.idle_seconds)
                if self._is_closed:
                    # Looked at last: who closed meanwhile may have found all connections in use.
                    self._close_idle()
        finally:
            self._places.put(None)

    def ask(self, work: Callable[[Link], T], *, within: float | None = None) -> T:
        """The result of work that changes nothing; it is repeated on a new connection.

        `within`: seconds that the server may take for a statement, `read_seconds` if not said.
        Raises StoreUnavailable, also for psycopg's errors.
        """
        ends = time.monotonic() + self.wait_seconds
        while True:
            connection = self.take()
            try:
                connection.answers_within = self.read_seconds if within is None else within
                return work(connection)
            except psycopg.Error as error:
                if not connection.closed or time.monotonic() >= ends:
                    self.refuse(error)
            finally:
                self.give_back(connection)

    def refuse(self, error: psycopg.Error) -> NoReturn:
        """Raise an error of the driver as one of the catalog."""
        raise unavailable(error, what=self._what) from error

    def connect(self) -> Link:
        """A connection beside those that are lent, for long use; raises StoreUnavailable."""
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
            connection.answers_within = self.read_seconds
            timeline, started, recovered, _ = connection.one(_GREETING)
            if timeline is None:
                raise Standby("the server is a standby, which takes no writes")
            connection.epoch = self._server.meet(timeline, started, recovered)
            connection.answers_within = None
        except BaseException:
            # The server takes a limited number of connections.
            connection.close()
            raise
        with self._lock:
            self._answered_at = time.monotonic()
            if self._is_lost:
                self._is_lost = False
                log.warning("the database of the log answers again")

    def _idle_one(self) -> Link | None:
        """An idle connection that is usable; None without one."""
        with suppress(IndexError):
            while True:
                connection = self._idle.pop()
                if self.is_usable(connection):
                    return connection
                connection.close()
                # To ask each of the others would take as long again.
                self._close_idle()
        return None

    def _close_idle(self, until: float = float("inf")) -> None:
        """Close the connections that nobody has used since a time, by `time.monotonic`."""
        with suppress(IndexError):
            while self._idle[0].used_at < until:
                self._idle.popleft().close()

    def _connect(self, ends: float) -> Link:
        """A new connection, for which the database is asked until a time."""
        while True:
            began = time.monotonic()
            try:
                return self.connect()
            except StoreUnavailable as error:
                if time.monotonic() >= ends:
                    raise self._out_of_reach(error, began) from error
            time.sleep(_PAUSE_SECONDS)

    def _out_of_reach(self, error: StoreUnavailable, began: float) -> StoreUnavailable:
        """The error for callers, in place of one whose message is for operators.

        `began` is when the database was asked in vain: it may have answered others since.
        """
        with self._lock:
            was_lost = self._is_lost
            if self._what == LOG and self._answered_at < began:
                self._is_lost = True
            is_told = self._is_lost and not was_lost
        if is_told:
            log.error("the database of the log is out of reach", extra={"error": error.message})
        why = "is a standby" if isinstance(error.__cause__, Standby) else "is away"
        return StoreUnavailable(f"{self._what} cannot be used now: its database {why}")


def _end_transaction(connection: Link) -> None:
    """Roll back what is open on a connection; it is closed where that is not to be done."""
    status = connection.pgconn.transaction_status
    if status == TransactionStatus.IDLE:
        return
    try:
        if status in _OPEN:
            connection.rollback()
            return
    except psycopg.Error:
        pass
    connection.close()


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
        connection.execute("")
    except psycopg.Error:
        return False
    return True
