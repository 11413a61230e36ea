"""A copy takes the place of a log as a whole, whatever a crash has left there and cuts off."""

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from benchmarks.direct_catalog import DirectCatalog
from domain.errors import CatalogError, Conflict, InvalidInput, StoreUnavailable
from domain.event_store.opening import (
    address_in,
    database_note,
    open_event_log,
    restore_copy,
)
from domain.event_store.sqlite.log import SqliteEventStore
from domain.kinds.registry import KINDS
from domain.machine.write_turns import WriteTurns
from domain.write_context import WriteContext

ME = WriteContext(actor="me", request_id="request")
OLD, NEW = 12, 5
"""Events of the log that a crash has left, and of the copy made of it before."""


def append(log: Any, *numbers: int) -> None:
    for number in numbers:
        values = {"name": f"s{number}", "serviceType": "Mysql", "description": "x" * 20_000}
        DirectCatalog(log).create(KINDS["databaseService"], values, ME)


def back_up(source: Path, target: Path) -> None:
    """Do what `sqlite3 SOURCE ".backup TARGET"` does."""
    with closing(sqlite3.connect(source)) as one, closing(sqlite3.connect(target)) as other:
        one.backup(other)


def checkpoint(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory as a crash leaves it, `crashed`, and a copy of its log made before, `copy.db`.

    What the write-ahead log holds begins after the copy was made.
    """
    work = tmp_path_factory.mktemp("made")
    live = work / "live"
    live.mkdir()
    with closing(open_event_log(live / "events.db")) as log:
        append(log, *range(1, NEW + 1))
        back_up(live / "events.db", work / "copy.db")
        append(log, *range(NEW + 1, OLD))
        checkpoint(live / "events.db")
        append(log, OLD)
        # The files as they are while a process has them open, which is as a kill leaves them.
        shutil.copytree(live, work / "crashed")
    return work


@pytest.fixture
def work(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "work"))


@pytest.fixture
def crashed(work: Path) -> Path:
    return work / "crashed"


@pytest.fixture
def copy(work: Path) -> Path:
    return work / "copy.db"


def head(directory: Path) -> int:
    """The head of the log in a directory, all of which is read."""
    with closing(open_event_log(address_in(directory))) as log:
        assert log.damage() == []
        position = log.head()
        assert len(log.read(0, 1_000)) == position
        return position


def contents(directory: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file() and path.suffix not in (".db-shm", ".lock")
    }


def test_copy_put_in_place_by_hand_after_a_crash_is_destroyed(crashed: Path, copy: Path) -> None:
    """SQLite replays the write-ahead log that stayed onto the copy: hence the command."""
    shutil.copyfile(copy, crashed / "events.db")
    with closing(open_event_log(crashed / "events.db")) as log:
        assert "the file is damaged" in log.damage()[0].what


def test_copy_put_in_place_by_hand_before_the_first_checkpoint_does_nothing(tmp_path: Path) -> None:
    live, crashed, copy = tmp_path / "live", tmp_path / "crashed", tmp_path / "copy.db"
    live.mkdir()
    with closing(open_event_log(live / "events.db")) as log:
        append(log, 1, 2)
        back_up(live / "events.db", copy)
        append(log, 3)
        shutil.copytree(live, crashed)
    by_hand = Path(shutil.copytree(crashed, tmp_path / "by-hand"))
    shutil.copyfile(copy, by_hand / "events.db")
    restore_copy(copy, crashed)
    assert (head(by_hand), head(crashed)) == (3, 2)


def test_restored_copy_is_the_log_and_what_was_there_is_kept(crashed: Path, copy: Path) -> None:
    before = contents(crashed)

    done = restore_copy(copy, crashed)

    kept = crashed / "replaced-1"
    assert (done.count, done.head, done.kept) == (NEW, NEW, kept)
    assert contents(kept) == before
    assert contents(crashed)["events.db"] == copy.read_bytes()
    assert head(crashed) == NEW
    assert head(kept) == OLD


def test_log_that_a_copy_by_hand_destroyed_is_restored(crashed: Path, copy: Path) -> None:
    shutil.copyfile(copy, crashed / "events.db")
    restore_copy(copy, crashed)
    assert head(crashed) == NEW


def test_write_ahead_log_without_its_file_is_kept_and_not_replayed(
    crashed: Path, copy: Path
) -> None:
    (crashed / "events.db").unlink()
    wal = (crashed / "events.db-wal").read_bytes()
    assert restore_copy(copy, crashed).kept == crashed / "replaced-1"
    assert head(crashed) == NEW
    assert contents(crashed / "replaced-1") == {"events.db-wal": wal}


def test_copy_is_restored_where_there_is_no_log(copy: Path, tmp_path: Path) -> None:
    directory = tmp_path / "none"
    directory.mkdir()
    assert restore_copy(copy, directory).kept is None
    assert {path.name for path in directory.iterdir()} == {"events.db", "events.db.lock"}
    assert head(directory) == NEW


def test_each_log_that_is_replaced_has_a_number_of_its_own(crashed: Path, copy: Path) -> None:
    restore_copy(copy, crashed)
    newest = crashed.parent / "newest.db"
    back_up(crashed / "replaced-1" / "events.db", newest)

    assert restore_copy(newest, crashed).kept == crashed / "replaced-2"

    assert (head(crashed), head(crashed / "replaced-2")) == (OLD, NEW)


class Killed(BaseException):
    """Ends a restore as a kill does, as far as code can."""


STEPS = ["os.fsync", "os.replace", "os.rename", "os.link"]


def interrupted(monkeypatch: pytest.MonkeyPatch, run: Callable[[], object], after: int) -> bool:
    """Run something that is killed after so many steps; returns whether it came to its end."""
    left = after

    def step(real: Callable[..., Any]) -> Callable[..., Any]:
        def stepped(*arguments: Any, **options: Any) -> Any:
            nonlocal left
            if left == 0:
                raise Killed
            left -= 1
            return real(*arguments, **options)

        return stepped

    with monkeypatch.context() as patched:
        for name in STEPS:
            patched.setattr(name, step(getattr(os, name.removeprefix("os."))))
        try:
            run()
        except Killed:
            return False
    return True


def state(directory: Path) -> int | str:
    """The head of the log in a directory, or why it cannot be opened."""
    try:
        return head(directory)
    except StoreUnavailable as refusal:
        return refusal.message


def test_kill_after_each_step_leaves_one_log_whole_or_says_what_to_do(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    states: list[int | str] = []
    done = False
    while not done:
        after = len(states)
        work = Path(shutil.copytree(made, tmp_path / f"{after}"))
        crashed = work / "crashed"
        done = interrupted(monkeypatch, partial(restore_copy, work / "copy.db", crashed), after)
        found = state(crashed)
        if isinstance(found, str):
            found, _, command = found.partition(" was interrupted, or is under way. ")
            *_, incoming, _, directory = command.split()
            go_on = partial(restore_copy, Path(incoming), Path(directory))
            # What goes on may be killed as well.
            interrupted(monkeypatch, go_on, after % 4)
            if state(crashed) != NEW:
                go_on()
            assert (head(crashed), head(crashed / "replaced-1")) == (NEW, OLD)
            assert not (crashed / "replaced-2").exists()
            found = "refused"
        states.append(found)
    assert [key for key, _ in groupby(states)] == [OLD, "refused", NEW]


def test_unfinished_copy_of_a_killed_restore_is_in_nobodys_way(crashed: Path, copy: Path) -> None:
    aside = crashed / "replaced-1"
    aside.mkdir()
    (aside / "incoming.new").write_bytes(copy.read_bytes()[:10_000])
    before = contents(crashed)
    shutil.copytree(crashed, crashed.parent / "other")
    assert head(crashed.parent / "other") == OLD

    assert restore_copy(copy, crashed).kept == aside

    del before["replaced-1/incoming.new"]
    assert (contents(aside), head(crashed)) == (before, NEW)


def test_interrupted_restore_takes_another_copy_too(
    crashed: Path, copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = crashed.parent / "other.db"
    back_up(crashed / "events.db", other)
    assert not interrupted(monkeypatch, lambda: restore_copy(copy, crashed), 6)
    with pytest.raises(StoreUnavailable, match="interrupted"):
        head(crashed)
    restore_copy(other, crashed)
    assert (head(crashed), head(crashed / "replaced-1")) == (OLD, OLD)


# What is refused, and what then is as it was.


def another_catalog(copy: Path) -> None:
    copy.unlink()
    with closing(open_event_log(copy)) as log:
        append(log, 1)


def statement(text: str) -> Callable[[Path], None]:
    def change(copy: Path) -> None:
        with closing(sqlite3.connect(copy)) as connection, connection:
            connection.execute(text)

    return change


def cut(copy: Path) -> None:
    os.truncate(copy, copy.stat().st_size // 2)


def spoil(copy: Path) -> None:
    """Overwrites the pages of the events, but not the first ones."""
    with copy.open("r+b") as file:
        file.seek(copy.stat().st_size // 2)
        file.write(b"\xff" * 40_000)


def with_frames(copy: Path) -> None:
    shutil.copyfile(copy.parent / "crashed" / "events.db-wal", copy.with_name("copy.db-wal"))


def with_journal(copy: Path) -> None:
    copy.with_name("copy.db-journal").write_bytes(b"\xd9\xd5\x05\xf9")


REFUSED: dict[str, tuple[Callable[[Path], object], type[CatalogError], str]] = {
    "no file": (Path.unlink, InvalidInput, "is not a file"),
    "an empty file": (lambda copy: copy.write_bytes(b""), InvalidInput, "not a SQLite database"),
    "an export": (
        lambda copy: copy.write_bytes(b'{"format":"metadata-catalog-log"}\n'),
        InvalidInput,
        "is not a SQLite database; a file of `export` is read by `import`",
    ),
    "another database": (
        statement("ALTER TABLE stored_events RENAME TO events"),
        InvalidInput,
        "is not the log of a catalog: no such table: stored_events",
    ),
    "cut off": (cut, InvalidInput, "is damaged|is not a whole log"),
    "spoilt": (spoil, InvalidInput, "is damaged|is not a whole log"),
    "an event removed": (
        statement("DELETE FROM stored_events WHERE rowid = 3"),
        InvalidInput,
        "is not a whole log: no event at position 3",
    ),
    "another catalog": (another_catalog, Conflict, "is the log of another catalog"),
    "frames beside it": (
        with_frames,
        InvalidInput,
        "copy.db-wal lies beside .*copy.db, and may",
    ),
    "a journal beside it": (with_journal, InvalidInput, "copy.db-journal lies beside"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_does_not_fit_is_refused_and_changes_nothing(
    crashed: Path, copy: Path, what: str
) -> None:
    change, error, message = REFUSED[what]
    change(copy)
    before = contents(crashed)

    with pytest.raises(error, match=message):
        restore_copy(copy, crashed)

    assert contents(crashed) == before
    assert [*crashed.glob("replaced-*")] == []
    assert head(crashed) == OLD


def test_log_itself_is_no_copy(crashed: Path) -> None:
    with pytest.raises(InvalidInput, match="is the log itself"):
        restore_copy(crashed / "events.db", crashed)


def test_empty_write_ahead_log_beside_a_copy_is_in_nobodys_way(crashed: Path, copy: Path) -> None:
    copy.with_name("copy.db-wal").write_bytes(b"")
    restore_copy(copy, crashed)
    assert head(crashed) == NEW


def test_copy_of_a_catalog_whose_log_cannot_be_read_is_taken(crashed: Path, copy: Path) -> None:
    spoilt = b"no database" * 10_000
    (crashed / "events.db").write_bytes(spoilt)
    restore_copy(copy, crashed)
    assert (crashed / "replaced-1" / "events.db").read_bytes() == spoilt
    assert head(crashed) == NEW


def test_copy_that_changes_while_it_is_read_is_refused(
    crashed: Path, copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copyfile = shutil.copyfile

    def copied(source: Path, target: Path) -> None:
        copyfile(source, target)
        os.utime(source, ns=(1, 1))

    monkeypatch.setattr(shutil, "copyfile", copied)
    with pytest.raises(InvalidInput, match="was changed while it was read"):
        restore_copy(copy, crashed)


def test_log_in_a_database_is_not_restored_from_a_file(crashed: Path, copy: Path) -> None:
    (crashed / "events.db").unlink()
    database_note(crashed).touch()
    with pytest.raises(Conflict, match="is in a database, which has backups of its own"):
        restore_copy(copy, crashed)


_READER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute("SELECT count(*) FROM stored_events").fetchone()
print("open", flush=True)
sys.stdin.read()
"""


@contextmanager
def opened_elsewhere(file: Path) -> Iterator[None]:
    """Another process has a connection that has read once, and does nothing now."""
    with subprocess.Popen(
        [sys.executable, "-c", _READER, str(file)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        yield
        process.communicate()


def test_log_that_any_process_has_open_is_not_replaced(crashed: Path, copy: Path) -> None:
    with opened_elsewhere(crashed / "events.db"):
        before = contents(crashed)
        with pytest.raises(StoreUnavailable, match=r"another process has .*events.db open"):
            restore_copy(copy, crashed)
        assert contents(crashed) == before
    restore_copy(copy, crashed)
    assert head(crashed) == NEW


def test_log_that_a_process_is_about_to_open_is_not_replaced(
    crashed: Path, copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has found the file by its name, and would go on with the write-ahead log of the copy."""
    monkeypatch.setattr(WriteTurns, "wait_seconds", 0.05)
    select, refused = SqliteEventStore.identity, []

    def meanwhile(self: SqliteEventStore) -> str:
        with pytest.raises(StoreUnavailable, match="writing to"):
            restore_copy(copy, crashed)
        refused.append(True)
        return select(self)

    monkeypatch.setattr(SqliteEventStore, "identity", meanwhile)
    with closing(open_event_log(crashed / "events.db")) as log:
        assert (refused, log.head()) == ([True], OLD)
