"""The event store port on PostgreSQL."""

from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import islice
from typing import Any

import psycopg

from domain.errors import StoreUnavailable
from domain.event_store.appends import prepared
from domain.event_store.port import (
    Announcements,
    Claim,
    Problem,
    RecordedEvent,
    StoredRow,
    StreamSpan,
)
from domain.event_store.postgres import reading
from domain.event_store.postgres.address import Address, read_address
from domain.event_store.postgres.connections import Connections, unavailable
from domain.event_store.postgres.features import read_features, read_known
from domain.event_store.postgres.link import Link
from domain.event_store.postgres.listening import Listener
from domain.event_store.postgres.restoring import restore_rows
from domain.event_store.postgres.schema import check_version, migrate, read_version
from domain.event_store.postgres.snapshot import PostgresSnapshot
from domain.event_store.postgres.transactions import Transactions
from domain.event_store.recorded_log import RecordedLog
from domain.event_store.writes import Append, Expectations, Refusal, RememberedAnswer

_LOOK_SECONDS = 3.0
"""Longest time of the server to report its head for `/readyz` and the like."""
_ANSWER = (
    "SELECT actor, key, digest, entity_id, stream_version, outcome, at FROM answers"
    " WHERE actor = %b AND key = %b"
)
_HEAD = "SELECT coalesce(max(position), 0) FROM events"
_READ_ONLY = "SELECT current_setting('transaction_read_only')::boolean::integer"
_SIZE = "SELECT sum(pg_total_relation_size(t)) FROM unnest('{events,claims,answers}'::regclass[]) t"


class PostgresEventStore(RecordedLog):
    """An event store in one schema of a PostgreSQL database; made by `open_postgres_log`."""

    def __init__(self, url: str, address: Address, connections: Connections) -> None:
        super().__init__()
        self._url = url
        self._schema = address.schema
        self._connections = connections
        self._transactions = Transactions(connections, address.schema)
        self._synced = (0, 0)
        """An epoch, and a position up to which the log is known to survive power loss in it."""

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

    def append_unsynced(
        self,
        recorded: Sequence[RecordedEvent],
        *,
        expecting: Expectations,
        epoch: int | None = None,
    ) -> Callable[[], int]:
        """Leave the commit to the function; see `EventStore.append_unsynced`."""
        return self._transactions.begin(prepared(recorded, expecting=expecting, epoch=epoch))

    def read(
        self, after: int, limit: int, upto: int | None = None, *, newest_first: bool = False
    ) -> list[RecordedEvent]:
        """Read by one statement over positions; see `EventStore.read`."""
        last = reading.MAX_INTEGER if upto is None else upto

        def read(link: Link) -> list[StoredRow]:
            rows = reading.read_log(link, after, last, limit, newest_first=newest_first)
            if rows:
                self._sync(link, max(rows[0][4], rows[-1][4]))
            return rows

        return [self._recorded(row) for row in self._connections.ask(read)]

    def streams(
        self, spans: Sequence[StreamSpan], *, upto: int | None = None
    ) -> Iterator[RecordedEvent]:
        """Leaves out ids that PostgreSQL cannot store; see `EventStore.streams`."""
        return super().streams([each for each in spans if "\0" not in each.entity_id], upto=upto)

    def _read_spans(self, left: deque[StreamSpan], upto: int | None) -> deque[StoredRow]:
        last = reading.MAX_INTEGER if upto is None else upto

        def read(link: Link) -> tuple[int, deque[StreamSpan], deque[StoredRow]]:
            # Of a copy, as all is read again where the connection ends before it is synced.
            part = deque(islice(left, reading.SPANS))
            number = len(part)
            rows = reading.read_spans(link, part, last)
            self._sync(link, max((row[4] for row in rows), default=0))
            return number, part, rows

        number, unread, rows = self._connections.ask(read)
        for _ in range(number):
            left.popleft()
        left.extendleft(reversed(unread))
        return rows

    def head(self) -> int:
        """The greatest position of the events; see `EventStore.head`."""
        return self._number(_HEAD)

    def durable_head(self) -> int:
        """The head, and what makes it last; see `EventStore.durable_head`."""

        def read(link: Link) -> int:
            (head,) = link.one(_HEAD)
            self._sync(link, head)
            return int(head)

        return self._connections.ask(read)

    def is_read_only(self) -> bool:
        """The mode of a transaction that begins now; see `EventStore.is_read_only`."""
        return bool(self._number(_READ_ONLY))

    def identity(self) -> str:
        """The row of the table `identity`; see `EventStore.identity`."""
        row = self._connections.ask(lambda link: link.one("SELECT id FROM identity"))
        if row is None:
            raise StoreUnavailable("the log is damaged: it has no identity")
        return str(row[0])

    def features(self) -> dict[str, str]:
        """The rows of the table `features`; see `EventStore.features`."""
        return self._connections.ask(read_features, within=_LOOK_SECONDS)

    def epoch(self) -> int:
        """Number of servers, or starts of one, so far; see `EntityReads.epoch`."""
        return self._connections.epoch

    def announcements(self, appended: Callable[[], None]) -> Announcements:
        """Listen on a connection of its own, in a thread; see `EventStore.announcements`."""
        return Listener(self._connections, self._schema, appended)

    def _select_live(self, *, by_name: bool) -> tuple[int, bytes, int]:
        with self.snapshot() as snapshot:
            return snapshot.head, *snapshot.live(by_name=by_name)

    def claims(
        self,
        *,
        names: Collection[tuple[str, str]] = (),
        ids: Collection[str] = (),
        parents: Collection[str] = (),
        ends: Collection[str] = (),
    ) -> list[Claim]:
        """Read all claims by one statement; see `EventStore.claims`."""
        return self._connections.ask(
            lambda link: reading.claims_sought(link, names, ids, parents, ends)
        )

    def live_children(self, parent_id: str, kind: str, after: str, limit: int) -> list[Claim]:
        """Read a range of an index; see `EventStore.live_children`."""
        return self._connections.ask(
            lambda link: reading.live_children(link, parent_id, kind, after, limit)
        )

    def having_live(self, kind: str, parent_ids: Collection[str]) -> set[str]:
        """Read ranges of an index; see `EntityReads.having_live`."""
        return self._connections.ask(lambda link: reading.having_live(link, kind, parent_ids))

    def answer(self, actor: str, key: str) -> RememberedAnswer | None:
        """Read the table `answers`; see `EventStore.answer`."""

        def read(link: Link) -> Any:
            row = link.one(_ANSWER, actor, key)
            if row is not None:
                # No position tells of an answer without events.
                link.sync()
            return row

        row = self._connections.ask(read)
        if row is None:
            return None
        return RememberedAnswer(**dict(zip(RememberedAnswer.__struct_fields__, row, strict=True)))

    def _creations(self, text: str) -> list[tuple[str, str, bytes]]:
        return self._connections.ask(lambda link: reading.creations(link, text))

    @contextmanager
    def snapshot(self) -> Iterator[PostgresSnapshot]:
        """A read transaction on a connection of its own; see `EventStore.snapshot`."""
        while True:
            with closing(self._connections.connect()) as link:
                try:
                    snapshot = PostgresSnapshot(link)
                except psycopg.Error as error:
                    raise unavailable(error) from error
                if self._is_synced(link.epoch, snapshot.head):
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

    def size(self) -> int:
        """Bytes of the tables and their indexes; see `EventStore.size`."""
        return self._number(_SIZE)

    def close(self) -> None:
        """Close the pool."""
        self._connections.close()

    def _number(self, statement: str) -> int:
        """The number that a statement gives."""
        row = self._connections.ask(lambda link: link.one(statement), within=_LOOK_SECONDS)
        assert row is not None
        return int(row[0])

    def _sync(self, link: Link, position: int) -> None:
        """Wait until events that were read over a connection survive power loss.

        They are visible a moment before that, so that appends need not wait for each other's sync.
        Raises psycopg.Error.
        """
        epoch, synced = self._synced
        if epoch != link.epoch or position > synced:
            link.sync()
            self._synced = max(self._synced, (link.epoch, position))

    def _is_synced(self, epoch: int, position: int) -> bool:
        """Wait as `_sync` does; whether the log is still in the epoch in which it was read."""

        def sync(link: Link) -> int:
            self._sync(link, position)
            return link.epoch

        return self._connections.ask(sync) == epoch


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
