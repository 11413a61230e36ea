"""The event store port on one SQLite database."""

import sqlite3
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from urllib.parse import quote

from eventsourcing.persistence import IntegrityError, PersistenceError

from domain.errors import ConcurrentChange, StoreUnavailable
from domain.event_store.appends import joined, outdated, position_of, prepared, without
from domain.event_store.features import refuse_unknown
from domain.event_store.port import (
    Claim,
    Problem,
    RecordedEvent,
    StoredRow,
    StreamSpan,
)
from domain.event_store.recorded_log import RecordedLog
from domain.event_store.sqlite.clock import ClockGuard
from domain.event_store.sqlite.connections import Datastore
from domain.event_store.sqlite.recorder import Recorder
from domain.event_store.sqlite.restoring import restore_rows
from domain.event_store.sqlite.snapshot import SqliteSnapshot, connect, find_damage, open_snapshot
from domain.event_store.writes import (
    Append,
    Expectations,
    Refusal,
    RememberedAnswer,
)
from domain.machine import durable_files

_URI = "file:"


class SqliteEventStore(RecordedLog):
    """An event store in one SQLite database; made by `open_sqlite_log`."""

    def __init__(self, address: str, database: str, recorder: Recorder) -> None:
        super().__init__()
        self._address = address
        self._database = database
        self._recorder = recorder
        self._clock = ClockGuard()

    @property
    def address(self) -> str:
        """The absolute path of the file, or the SQLite URI."""
        return self._address

    def append_group(self, appends: Sequence[Append]) -> list[int | Refusal]:
        """Append in one transaction of the recorder; see `EventStore.append_group`."""
        results, commit = self._begin(appends)
        with _translated_errors():
            commit()
        return results

    def append_unsynced(
        self,
        recorded: Sequence[RecordedEvent],
        *,
        expecting: Expectations,
        epoch: int | None = None,
    ) -> Callable[[], int]:
        """Leave the commit to the function; see `EventStore.append_unsynced`."""
        (result,), commit = self._begin([prepared(recorded, expecting=expecting, epoch=epoch)])

        def finish() -> int:
            with _translated_errors():
                commit()
            return position_of(result)

        if not isinstance(result, int):
            finish()
        return finish

    def _begin(self, appends: Sequence[Append]) -> tuple[list[int | Refusal], Callable[[], None]]:
        self._clock.check()
        refused = outdated(appends, self.epoch())
        with _translated_errors():
            results, commit = self._recorder.begin_group(without(appends, refused))
        return joined(refused, results), commit

    def read(
        self, after: int, limit: int, upto: int | None = None, *, newest_first: bool = False
    ) -> list[RecordedEvent]:
        """Read by one statement over positions; see `EventStore.read`."""
        with _translated_errors():
            rows = self._recorder.read_log(after, upto, limit, newest_first)
        return [self._recorded(row) for row in rows]

    def _read_spans(self, left: deque[StreamSpan], upto: int | None) -> deque[StoredRow]:
        with _translated_errors():
            return self._recorder.read_spans(left, upto)

    def head(self) -> int:
        """The greatest rowid of the events; see `EventStore.head`."""
        with _translated_errors():
            return self._recorder.max_notification_id() or 0

    def identity(self) -> str:
        """The row of the table `identity`; see `EventStore.identity`."""
        with _translated_errors():
            return self._recorder.select_identity()

    def features(self) -> dict[str, str]:
        """The rows of the table `features`; see `EventStore.features`."""
        with _translated_errors():
            return self._recorder.select_features()

    def _select_live(self, *, by_name: bool) -> tuple[int, bytes, int]:
        with _translated_errors():
            return self._recorder.select_live(by_name)

    def claims(
        self,
        *,
        names: Collection[tuple[str, str]] = (),
        ids: Collection[str] = (),
        parents: Collection[str] = (),
        ends: Collection[str] = (),
    ) -> list[Claim]:
        """Read all claims in one transaction; see `EventStore.claims`."""
        with _translated_errors():
            return self._recorder.select_claims(names, ids, parents, ends)

    def live_children(self, parent_id: str, kind: str, after: str, limit: int) -> list[Claim]:
        """Read a range of an index; see `EventStore.live_children`."""
        with _translated_errors():
            return self._recorder.select_live_children(parent_id, kind, after, limit)

    def having_live(self, kind: str, parent_ids: Collection[str]) -> set[str]:
        """Read ranges of an index; see `EntityReads.having_live`."""
        with _translated_errors():
            return self._recorder.select_having_live(kind, parent_ids)

    def answer(self, actor: str, key: str) -> RememberedAnswer | None:
        """Read the table `answers`; see `EventStore.answer`."""
        with _translated_errors():
            return self._recorder.select_answer(actor, key)

    def _creations(self, text: str) -> list[tuple[str, str, bytes]]:
        with self.snapshot() as snapshot:
            return [*snapshot.creations(text)]

    @contextmanager
    def snapshot(self) -> Iterator[SqliteSnapshot]:
        """A read transaction on a connection of its own; see `EventStore.snapshot`."""
        with _translated_errors():
            opened = open_snapshot(self._database)
        with closing(opened) as snapshot:
            yield snapshot

    def damage(self) -> list[Problem]:
        """Let SQLite check its file, and look for lost events; see `EventStore.damage`."""
        return find_damage(self._database)

    def restore(self, rows: Iterator[StoredRow]) -> Iterator[int]:
        """Insert everything in one transaction; see `EventStore.restore`."""
        with (
            _translated_errors(),
            self._recorder.turn(),
            closing(connect(self._database)) as connection,
        ):
            yield from restore_rows(connection, rows)

    def size(self) -> int:
        """Bytes of the database, its write-ahead log and shared memory; see `EventStore.size`."""
        if self._address.startswith(_URI):
            with _translated_errors(), closing(connect(self._database)) as connection:
                pages = connection.execute("PRAGMA page_count").fetchone()[0]
                return int(pages * connection.execute("PRAGMA page_size").fetchone()[0])
        file = Path(self._address)
        sizes = (_size(file.with_name(f"{file.name}{end}")) for end in ("", "-wal", "-shm"))
        return sum(sizes)

    def close(self) -> None:
        """Close all connections of the recorder."""
        self._recorder.datastore.close()


def open_sqlite_log(address: str, *, writable: bool) -> SqliteEventStore:
    """The log in the SQLite file at a path or `file:` URI; made when missing and `writable`.

    Raises StoreUnavailable when it cannot be opened, LaterRelease where a later one has written it.
    """
    database = address
    if not address.startswith(_URI):
        address = str(Path(address).absolute())
        database = address if writable else f"{_URI}{quote(address)}?mode=ro"
    with _translated_errors(), ExitStack() as opened:
        recorder = Recorder(Datastore(database, writable=writable))
        opened.callback(recorder.datastore.close)
        # From the first look at the name of the file until SQLite holds its lock on it, no other
        # process may put a copy in its place.
        with recorder.turn():
            if writable:
                recorder.create_table()
            recorder.select_identity()
            refuse_unknown(recorder.select_features(), "the log")
        opened.pop_all()
    if not address.startswith(_URI):
        _sync_recovered(Path(f"{address}-wal"))
    return SqliteEventStore(address, database, recorder)


def _sync_recovered(write_ahead_log: Path) -> None:
    """Sync the recovered part of a write-ahead log, so that it survives power loss.

    A process that was killed between writing a commit and waiting for the disk leaves a commit that
    the next process reads, and answers by. Raises StoreUnavailable.
    """
    try:
        durable_files.sync(write_ahead_log)
    except FileNotFoundError:
        return
    except OSError as error:
        raise StoreUnavailable(f"{write_ahead_log} cannot be synced: {error}") from error


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except FileNotFoundError:
        return 0


@contextmanager
def _translated_errors() -> Iterator[None]:
    """The one place where the errors of SQLite and of the library become the catalog's."""
    try:
        yield
    except (IntegrityError, sqlite3.IntegrityError) as error:
        raise ConcurrentChange("another writer was first; try again") from error
    except (PersistenceError, sqlite3.Error) as error:
        raise StoreUnavailable(f"the event log cannot be used now: {error}") from error
