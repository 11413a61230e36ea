"""The recorder passes the library's own suites, and keeps positions and durability."""

import sqlite3
import threading
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest import TestCase
from uuid import uuid4

import pytest
from eventsourcing.persistence import StoredEvent
from eventsourcing.tests import persistence as library

from domain.event_store.sqlite.connections import Datastore
from domain.event_store.sqlite.recorder import Recorder


def event(originator_id: str, version: int = 1) -> StoredEvent:
    return StoredEvent(originator_id, version, "topic", b"state")


def shared_memory() -> str:
    return f"file:{uuid4()}?mode=memory&cache=shared"


def join_threads(before: set[threading.Thread]) -> None:
    """Wait for threads that a case left reading: a connection in use must not be closed."""
    for thread in set(threading.enumerate()) - before:
        thread.join(timeout=60)


class OnFile(TestCase):
    """Recorders of the library's cases on a file."""

    recorder_class: type[Recorder] = Recorder

    def new_originator_id(self) -> str:
        return str(uuid4())

    def database(self) -> str:
        directory = TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        return f"{directory.name}/events.db"

    def create_recorder(self) -> Any:
        # Writers of the library's races wait for each other on a slow disk.
        datastore = Datastore(self.database(), lock_timeout=60, pool_timeout=60)
        self.addCleanup(datastore.close)
        self.addCleanup(join_threads, set(threading.enumerate()))
        recorder = self.recorder_class(datastore)
        recorder.create_table()
        return recorder


class InMemory(OnFile):
    """Recorders of the library's cases in shared memory."""

    def database(self) -> str:
        return shared_memory()


class WithoutPositions(Recorder):
    """As the library's suite for stores of aggregates has it: inserting tells no positions."""

    def insert_events(self, stored_events: Sequence[StoredEvent], **kwargs: Any) -> None:
        super().insert_events(stored_events, **kwargs)


class TestAggregatesOnFile(OnFile, library.AggregateRecorderTestCase):
    recorder_class = WithoutPositions


class TestAggregatesInMemory(InMemory, library.AggregateRecorderTestCase):
    recorder_class = WithoutPositions


class TestApplicationOnFile(OnFile, library.ApplicationRecorderTestCase):  # type: ignore[type-arg]
    pass


class TestApplicationInMemory(InMemory, library.ApplicationRecorderTestCase):  # type: ignore[type-arg]
    pass


class TestNonInterleavingOnFile(OnFile, library.NonInterleavingNotificationIDsBaseCase):
    pass


class TestNonInterleavingInMemory(InMemory, library.NonInterleavingNotificationIDsBaseCase):
    pass


@pytest.fixture(params=["file", "memory"])
def recorder(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    name = str(tmp_path / "events.db") if request.param == "file" else shared_memory()
    datastore = Datastore(name)
    made = Recorder(datastore)
    made.create_table()
    yield made
    datastore.close()


def run(recorder: Recorder, statement: str) -> None:
    with recorder.datastore.get_connection(commit=True) as connection:
        connection.cursor().execute(statement)


def test_position_of_a_deleted_newest_row_is_not_reused(recorder: Recorder) -> None:
    assert recorder.insert_events([event("a"), event("b"), event("c")]) == [1, 2, 3]
    run(recorder, "DELETE FROM stored_events WHERE rowid = 3")
    assert recorder.insert_events([event("d")]) == [4]
    assert [(n.id, n.originator_id) for n in recorder.select_notifications(1, 9)] == [
        (1, "a"),
        (2, "b"),
        (4, "d"),
    ]


def test_positions_survive_vacuum(recorder: Recorder) -> None:
    recorder.insert_events([event(letter) for letter in "abcde"])
    run(recorder, "DELETE FROM stored_events WHERE originator_id IN ('a', 'c')")
    run(recorder, "VACUUM")
    assert [each.id for each in recorder.select_notifications(1, 9)] == [2, 4, 5]
    assert recorder.insert_events([event("f")]) == [6]


def test_refused_batch_leaves_nothing_and_later_positions_ascend(recorder: Recorder) -> None:
    recorder.insert_events([event("a")])
    with pytest.raises(library.IntegrityError):
        recorder.insert_events([event("b"), event("a")])
    assert [each.originator_id for each in recorder.select_notifications(1, 9)] == ["a"]
    (position,) = recorder.insert_events([event("c")])
    assert position > 1


def test_every_connection_to_a_file_is_durable(tmp_path: Path) -> None:
    datastore = Datastore(str(tmp_path / "events.db"))
    Recorder(datastore).create_table()
    pool = datastore.pool
    connections = [pool.get_connection() for _ in range(pool.pool_size + pool.max_overflow)]
    for connection in connections:
        modes = []
        for name in ("synchronous", "journal_mode"):
            cursor = connection.cursor()
            cursor.execute(f"PRAGMA {name}")
            modes.append(cursor.fetchone()[0])
        assert modes == [2, "wal"]
        pool.put_connection(connection)
    datastore.close()


def test_reopened_file_keeps_its_rows(tmp_path: Path) -> None:
    for version in (1, 2):
        datastore = Datastore(str(tmp_path / "events.db"))
        recorder = Recorder(datastore)
        recorder.create_table()
        assert recorder.insert_events([event("a", version)]) == [version]
        datastore.close()
    with sqlite3.connect(tmp_path / "events.db") as connection:
        rows = connection.execute("SELECT rowid, originator_version FROM stored_events").fetchall()
    connection.close()
    assert rows == [(1, 1), (2, 2)]
