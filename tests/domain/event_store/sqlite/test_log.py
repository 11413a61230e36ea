"""Log in a file when the machine, or a process, ends at any time."""

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from domain.errors import InvalidInput, OutcomeUnknown, StoreUnavailable
from domain.event_store.opening import open_event_log
from tests.contracts.recorded import changed, created, unplaced

LOG, WAL = "events.db", "events.db-wal"
OLDER_INSERT = (
    "INSERT INTO stored_events (originator_id, originator_version, topic, state)"
    " VALUES ('z', 1, 'entity.created', '{}')"
)
"""As programs from before features store events."""


class Disk:
    """The files of a directory as power loss would leave them: as they were synced last."""

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Contents on disk now. Syncs of SQLite itself are not seen, only those of ours."""
        self.directory = directory
        self._synced = {path.name: path.read_bytes() for path in directory.iterdir()}
        self._sync = os.fsync
        monkeypatch.setattr(os, "fsync", self._fsync)

    def _fsync(self, descriptor: int) -> None:
        self._sync(descriptor)
        number = os.fstat(descriptor).st_ino
        for path in self.directory.iterdir():
            if path.stat().st_ino == number:
                self._synced[path.name] = path.read_bytes()

    def after_power_loss(self, directory: Path) -> Path:
        directory.mkdir()
        for name, content in self._synced.items():
            (directory / name).write_bytes(content)
        return directory / LOG


@pytest.fixture
def killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Disk]:
    """A log whose writer was killed between the write of a commit and its sync."""
    living, dead = tmp_path / "living", tmp_path / "dead"
    for directory in (living, dead):
        directory.mkdir()
    with closing(open_event_log(living / LOG)) as store:
        store.append([created("a")])
        for name in (LOG, WAL):
            shutil.copy(living / name, dead / name)
        disk = Disk(dead, monkeypatch)
        store.append([created("b")])
        shutil.copy(living / WAL, dead / WAL)
    # Somebody else has the file open, such as a backup: nobody is the last one to close it.
    with closing(sqlite3.connect(dead / LOG)) as backup:
        backup.execute("PRAGMA cache_size")
        yield disk


@pytest.mark.parametrize("writable", [True, False])
def test_what_is_found_of_a_killed_writer_survives_power_loss(
    killed: Disk, tmp_path: Path, writable: bool
) -> None:
    with closing(open_event_log(killed.directory / LOG, writable=writable)) as store:
        told = unplaced(store.read(0, 9))
        after = killed.after_power_loss(tmp_path / "after")

    with closing(open_event_log(after)) as store:
        assert unplaced(store.read(0, 9)) == told == [created("a"), created("b")]


def test_recovered_log_that_cannot_be_synced_is_not_opened(
    killed: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(descriptor: int) -> None:
        raise OSError("input/output error")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(StoreUnavailable, match=r"events\.db-wal cannot be synced"):
        open_event_log(killed.directory / LOG)


class FailingSync(sqlite3.Connection):
    """Connections whose commit is written, and then fails when it is to be synced."""

    code = sqlite3.SQLITE_IOERR_FSYNC
    failing = False

    def execute(self, sql: str, *parameters: Any) -> sqlite3.Cursor:
        cursor = super().execute(sql, *parameters)
        if sql == "COMMIT" and FailingSync.failing:
            error = sqlite3.OperationalError("disk I/O error")
            error.sqlite_errorcode = self.code
            raise error
        return cursor


@pytest.fixture
def failing_sync(monkeypatch: pytest.MonkeyPatch) -> None:
    connect = sqlite3.connect

    def connect_failing(*args: Any, **values: Any) -> sqlite3.Connection:
        return connect(*args, **{"factory": FailingSync, **values})

    monkeypatch.setattr(sqlite3, "connect", connect_failing)
    monkeypatch.setattr(FailingSync, "failing", False)


def test_commit_whose_sync_fails_may_be_stored(tmp_path: Path, failing_sync: None) -> None:
    with closing(open_event_log(tmp_path / LOG)) as store:
        FailingSync.failing = True
        with pytest.raises(OutcomeUnknown, match="This write may have been stored"):
            store.append([created("a")])
        FailingSync.failing = False

        assert unplaced(store.read(0, 9)) == [created("a")]
        # The turn and the connection are free again.
        assert store.append([created("b")]) == 2


def test_full_disk_stores_nothing(
    tmp_path: Path, failing_sync: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FailingSync, "code", sqlite3.SQLITE_FULL)
    with closing(open_event_log(tmp_path / LOG)) as store:
        FailingSync.failing = True
        with pytest.raises(StoreUnavailable) as caught:
            store.append([created("a")])

    assert type(caught.value) is StoreUnavailable


def test_program_from_before_features_stores_nothing_and_reads(tmp_path: Path) -> None:
    """Neither in a new log, nor in one of its own that a newer program has opened since."""
    path = tmp_path / LOG
    with closing(open_event_log(path)) as store:
        store.append([created("a")])
    with closing(sqlite3.connect(path, isolation_level=None)) as older:
        for stored in (1, 2):
            with pytest.raises(sqlite3.OperationalError, match="this_log_needs_release_0_2_0"):
                older.execute(OLDER_INSERT)
            assert older.execute("SELECT count(*) FROM stored_events").fetchone() == (stored,)
            # As it was made by an older program.
            older.execute("DROP TRIGGER stored_events_fence")
            older.execute("DROP TABLE features")
            with closing(open_event_log(path)) as store:
                store.append([changed("a", stored + 1)])
                assert store.damage() == []


def test_append_costs_no_more_the_longer_the_stream_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect, steps = sqlite3.connect, [0]

    def step() -> int:
        steps[0] += 1
        return 0

    def connect_counting(*args: Any, **values: Any) -> sqlite3.Connection:
        connection = connect(*args, **values)
        connection.set_progress_handler(step, 1)
        return connection

    monkeypatch.setattr(sqlite3, "connect", connect_counting)
    taken = []
    with closing(open_event_log(tmp_path / LOG)) as store:
        store.append([created("a")])
        for start in (2, 300):
            store.append([changed("a", version) for version in range(start, start + 297)])
            before = steps[0]
            store.append([changed("a", start + 297)])
            taken.append(steps[0] - before)

    assert taken[1] <= taken[0]


def schema(path: Path) -> set[tuple[str, str]]:
    with closing(sqlite3.connect(path)) as connection:
        return {*connection.execute("SELECT name, sql FROM sqlite_master")}


def test_restore_leaves_tables_and_triggers_as_they_were(tmp_path: Path) -> None:
    with closing(open_event_log(tmp_path / "source.db")) as source:
        source.append([created("a"), created("b"), changed("b", 2)])
        with source.snapshot() as snapshot:
            rows = [*snapshot.events()]
    with closing(open_event_log(tmp_path / LOG)) as store:
        made = schema(tmp_path / LOG)

        with pytest.raises(InvalidInput, match="has gaps"):
            [*store.restore(iter([rows[0], rows[2]]))]
        assert schema(tmp_path / LOG) == made

        assert [*store.restore(iter(rows))] == [3]
        assert schema(tmp_path / LOG) == made
