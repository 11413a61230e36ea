"""The event store port on PostgreSQL."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager

import psycopg

from domain.event_store.port import Announcements
from domain.event_store.postgres.address import Address, read_address
from domain.event_store.postgres.connections import Connections, unavailable
from domain.event_store.postgres.features import read_known
from domain.event_store.postgres.link import Link
from domain.event_store.postgres.listening import Listener
from domain.event_store.postgres.reading import PostgresReads
from domain.event_store.postgres.restoring import restore_rows
from domain.event_store.postgres.schema import check_version, migrate, read_version
from domain.event_store.postgres.snapshot import PostgresSnapshot
from domain.event_store.postgres.transactions import Transactions
from domain.event_store.stored import Problem, StoredRow
from domain.event_store.writes import Append, Refusal


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

    def append_group(self, appends: Sequence[Append]) -> list[int | Refusal]:
        """Append in one transaction and one round trip; see `EventStore.append_group`."""
        if not appends:
            return []
        epoch, results = self._transactions.append(appends)
        newest = max((result for result in results if isinstance(result, int)), default=0)
        self._synced = max(self._synced, (epoch, newest))
        return results

    def _append_unsynced(self, append: Append) -> Callable[[], int]:
        return self._transactions.begin(append)

    def announcements(self, appended: Callable[[], None]) -> Announcements:
        """Listen on a connection of its own, in a thread; see `EventStore.announcements`."""
        return Listener(self._connections, self._schema, appended)

    def _select_live(self, *, by_name: bool) -> tuple[int, bytes, int]:
        with self.snapshot() as snapshot:
            return snapshot.head, *snapshot.live(by_name=by_name)

    @contextmanager
    def snapshot(self) -> Iterator[PostgresSnapshot]:
        """A read transaction on a connection of its own; see `EventStore.snapshot`."""
        while True:
            with closing(self._connections.connect()) as link:
                try:
                    snapshot = PostgresSnapshot(link)
                except psycopg.Error as error:
                    raise unavailable(error) from error
                if self._synced_epoch(snapshot.head) == link.epoch:
                    yield snapshot
                    return

    def damage(self) -> list[Problem]:
        """Look for lost events; see `EventStore.damage`. Pages are for the server to check."""
        with self.snapshot() as snapshot:
            return [*snapshot.lost()]

    def restore(self, rows: Iterator[StoredRow]) -> Iterator[int]:
        """Insert everything in one transaction; see `EventStore.restore`."""
        with closing(self._connections.connect()) as link:
            try:
                with link.transaction():
                    self._transactions.order(link)
                    yield from restore_rows(link, rows)
                link.sync()
            except psycopg.Error as error:
                raise unavailable(error) from error

    def close(self) -> None:
        """Close the pool."""
        self._connections.close()

    def _synced_epoch(self, position: int) -> int:
        """Wait as `_sync` does; returns the epoch of the log then."""

        def sync(link: Link) -> int:
            self._sync(link, position)
            return link.epoch

        return self._connections.ask(sync)


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
        try:
            read_known(link)
        except psycopg.Error as error:
            raise unavailable(error) from error
    connections.open()
    return PostgresEventStore(url, address, connections)


def migrate_postgres_log(url: str) -> tuple[int, int]:
    """Make the tables of a log, or upgrade them; returns the versions before and after.

    Raises InvalidInput, StoreUnavailable, and Conflict where the database cannot hold a log.
    """
    address = read_address(url, writable=True)
    with closing(Connections(address).connect()) as link:
        return migrate(link, address.schema)
