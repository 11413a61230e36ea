"""The event store port on PostgreSQL."""

import logging
import select
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager

import psycopg
from psycopg import sql

from domain.errors import ConcurrentChange, StoreUnavailable
from domain.event_store.port import Announcements
from domain.event_store.postgres.address import Address, read_address
from domain.event_store.postgres.appending import CHANGE_CLAIMS, claim_parameters, refusal_of
from domain.event_store.postgres.connections import Connections, translated_errors
from domain.event_store.postgres.features import NAME, columns, read_known
from domain.event_store.postgres.link import Link
from domain.event_store.postgres.reactions import PostgresReactionMemory
from domain.event_store.postgres.reading import PostgresReads
from domain.event_store.postgres.schema import check_version, migrate, read_version
from domain.event_store.postgres.snapshot import PostgresSnapshot
from domain.event_store.postgres.transactions import Transactions
from domain.event_store.stored import Problem, StoredRow
from domain.event_store.transfer import restore_rows
from domain.event_store.writes import Append, ClaimChange, Refusal

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
        """Begin to listen; `appended` is called by the thread."""
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
        # Events may have been appended before this connection listened.
        self._appended()
        while not self._closing.is_set():
            select.select([link.fileno(), self._end_signal.fileno()], [], [])
            if any([each.payload == APPENDED for each in link.notifies(timeout=0)]):
                self._appended()
                self._closing.wait(_GATHER_SECONDS)


class PostgresEventStore(PostgresReads):
    """An event store in one schema of a PostgreSQL database; made by `open_postgres_log`."""

    def __init__(self, url: str, address: Address, connections: Connections) -> None:
        super().__init__(connections)
        self._url = url
        self._schema = address.schema
        self._transactions = Transactions(connections, address.schema)

    @property
    def address(self) -> str:
        """The URL, which may hold a password: not to be shown."""
        return self._url

    def epoch(self) -> int:
        """Number of servers, or starts of one, and of names that changed, as this process knows.

        See `EntityReads.epoch`.
        """
        return self._transactions.epoch

    def append_group(self, appends: Sequence[Append]) -> list[int | Refusal]:
        """Append in one transaction and one round trip; see `EventStore.append_group`."""
        if not appends:
            return []
        epoch, results = self._transactions.append(appends)
        newest = max((result for result in results if isinstance(result, int)), default=0)
        self._synced = max(self._synced, (epoch, newest))
        return results

    def clock_fault(self) -> str | None:
        """Compare the clocks if that is due; see `EventStore.clock_fault`."""
        return self._connections.ask(self._transactions.clock_fault)

    def announcements(self, appended: Callable[[], None]) -> Announcements:
        """Listen on a connection of its own, in a thread; see `EventStore.announcements`."""
        return Listener(self._connections, self._schema, appended)

    @contextmanager
    def snapshot(self) -> Iterator[PostgresSnapshot]:
        """A read transaction on a connection of its own; see `EventStore.snapshot`."""
        while True:
            with closing(self._connections.connect()) as link:
                with translated_errors():
                    snapshot = PostgresSnapshot(link)
                if self._synced_epoch(snapshot.head) == link.epoch:
                    yield snapshot
                    return

    def damage(self) -> list[Problem]:
        """Look for lost events; see `EventStore.damage`. Pages are for the server to check."""
        with self.snapshot() as snapshot:
            return [*snapshot.lost()]

    def restore(self, rows: Iterator[StoredRow]) -> Iterator[int]:
        """Insert everything in one transaction; see `EventStore.restore`."""
        with closing(self._connections.connect()) as link, translated_errors():
            with link.transaction():
                self._transactions.order(link)
                yield from _restored(link, rows)
            link.sync()

    def reaction(self, name: str) -> PostgresReactionMemory:
        """The memory of a reaction, in the same schema; see `EventStore.reaction`."""
        return PostgresReactionMemory(name, self._connections)

    def close(self) -> None:
        """Close the connections."""
        self._connections.close()

    def _synced_epoch(self, position: int) -> int:
        """Wait as `_sync` does; returns the epoch of the log then."""

        def sync(link: Link) -> int:
            self._sync(link, position)
            return link.epoch

        return self._connections.ask(sync)


_COPY = (
    "COPY events (entity_id, stream_version, type, payload, position) FROM STDIN (FORMAT binary)"
)
_FINISH = (
    "INSERT INTO restored SELECT 1, max(position), count(*) FROM events HAVING count(*) > 0",
    "SELECT setval('positions', coalesce((SELECT max(position) FROM events), 0))",
    # The next statements should not be planned for empty tables.
    "ANALYZE events",
    "ANALYZE claims",
)


def _restored(link: Link, rows: Iterator[StoredRow]) -> Iterator[int]:
    """Insert events and the claims that follow from them.

    The transaction is the caller's, who holds the order lock. Raises what `restore_rows` raises,
    and psycopg's errors.
    """
    link.execute("SET LOCAL statement_timeout = 0")
    link.execute("SET LOCAL idle_in_transaction_session_timeout = 0")

    def insert(batch: list[StoredRow], changes: list[ClaimChange]) -> None:
        try:
            with link.cursor() as cursor, cursor.copy(_COPY) as copy:
                copy.set_types(["text", "int8", "text", "bytea", "int8"])
                for row in batch:
                    copy.write_row(row)
        except psycopg.errors.UniqueViolation as error:
            raise ConcurrentChange(str(error.diag.message_detail)) from error
        if not changes:
            return
        refusal, concerned = link.one(CHANGE_CLAIMS, *claim_parameters(changes))
        if refusal is not None:
            raise refusal_of(refusal, concerned, None)

    used = yield from restore_rows(rows, insert, link.one, "events")
    link.execute(NAME.encode(), columns(used))
    for statement in _FINISH:
        link.execute(statement)


def open_postgres_log(url: str, *, writable: bool, make: bool) -> PostgresEventStore:
    """The log in the database at a URL; with `make`, its tables are created if they are missing.

    Raises InvalidInput for a malformed URL, StoreUnavailable when the log cannot be opened, and
    LaterRelease for a log of a later release.
    """
    address = read_address(url, writable=writable)
    connections = Connections(address)
    with closing(connections.connect()) as link:
        version = read_version(link)
        if version == 0 and make:
            _, version = migrate(link, address.schema)
        check_version(version, address.schema)
        with translated_errors():
            read_known(link)
    return PostgresEventStore(url, address, connections)


def migrate_postgres_log(url: str) -> tuple[int, int]:
    """Make the tables of a log, or upgrade them; returns the versions before and after.

    Raises InvalidInput, StoreUnavailable, and Conflict where the database cannot hold a log.
    """
    address = read_address(url, writable=True)
    with closing(Connections(address).connect()) as link:
        return migrate(link, address.schema)
