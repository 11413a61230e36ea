"""Whoever writes to a file has a turn, from before a transaction until its checkpoint is made."""

import fcntl
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from domain.errors import StoreUnavailable
from domain.event_store.opening import open_event_log
from domain.machine.write_turns import WriteTurns
from domain.measurements.bounds import Bounds
from domain.measurements.reports import Point
from domain.measurements.sqlite.store import SqliteMeasurements
from tests.contracts.recorded import created

_HOLD = """
import sys
from pathlib import Path
from domain.machine.write_turns import WriteTurns
with WriteTurns(Path(sys.argv[1])).held():
    print("held", flush=True)
    sys.stdin.readline()
"""


def is_held(lock: Path) -> bool:
    """True if anybody has the turn, as another process would see it."""
    with lock.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False


def test_turn_is_of_one_process(tmp_path: Path) -> None:
    turns = WriteTurns(tmp_path / "events.db")
    turns.wait_seconds = 0.05
    with subprocess.Popen(
        [sys.executable, "-c", _HOLD, str(tmp_path / "events.db")],
        cwd=Path(__file__).parents[3],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        with pytest.raises(StoreUnavailable, match=r"writing to events\.db for long"), turns.held():
            pass
        process.kill()
        process.wait()
        # With its process a turn ends.
        with turns.held():
            assert is_held(turns.path)
    assert not is_held(turns.path)
    turns.close()


def test_turn_is_of_one_thread(tmp_path: Path) -> None:
    turns = WriteTurns(tmp_path / "events.db")
    turns.wait_seconds = 0.05
    refused = []

    def wait() -> None:
        with pytest.raises(StoreUnavailable), turns.held():
            pass
        refused.append(True)

    with turns.held():
        waiting = threading.Thread(target=wait)
        waiting.start()
        waiting.join()
    turns.close()
    assert refused == [True]


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> dict[tuple[str, str], set[bool]]:
    """File and statement -> whether the turn of the file was held when the statement began, and
    when it had ended, which is after the checkpoint that SQLite makes with a commit."""
    seen: dict[tuple[str, str], set[bool]] = {}
    connect = sqlite3.connect

    class Watched(sqlite3.Connection):
        def execute(self, sql: str, *parameters: Any) -> sqlite3.Cursor:
            ((_, _, name),) = super().execute("PRAGMA database_list").fetchall()[:1]
            lock = Path(f"{name}.lock")
            before = lock.exists() and is_held(lock)
            cursor = super().execute(sql, *parameters)
            if sql in ("BEGIN IMMEDIATE", "COMMIT"):
                held = seen.setdefault((Path(name).name, sql), set())
                held |= {before, is_held(lock)}
            return cursor

    def watched(*args: Any, **values: Any) -> sqlite3.Connection:
        return connect(*args, **{"factory": Watched, **values})

    monkeypatch.setattr(sqlite3, "connect", watched)
    return seen


def test_log_and_measurements_are_written_in_turns(
    tmp_path: Path, seen: dict[tuple[str, str], set[bool]]
) -> None:
    with closing(open_event_log(tmp_path / "events.db")) as log:
        log.append([created("a")])
        assert not is_held(tmp_path / "events.db.lock")
    with closing(SqliteMeasurements(tmp_path, Bounds(days=9, most_bytes=10**6))) as measurements:
        measurements.write("a", [Point(series="s", part="p", at=1, body=b"{}")], now=2)

    assert seen == {
        (name, statement): {True}
        for name in ("events.db", "measurements.db")
        for statement in ("BEGIN IMMEDIATE", "COMMIT")
    }
