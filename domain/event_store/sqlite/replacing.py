"""Puts a copy of a log in the place of the log of a data directory: all of it, or nothing.

A crash leaves a write-ahead log (`-wal`) beside the file of the log, which is a part of it. SQLite
would replay it onto whatever file it finds under the name, and so undo a copy or destroy it: the
file and its write-ahead log must be replaced together, which no single rename can do. The steps:

1. the copy is written into a new directory, `replaced-N`, under a name that means nothing;
2. once it is found to fit, it is named `incoming.db` there: it is to take the place;
3. the write-ahead log is moved into that directory, and the file of the log is linked into it;
4. `incoming.db` is renamed to be the file of the log.

A crash before step 2 leaves the old log, and one after step 4 the copy. Between them nobody may
open the log (`refuse_unfinished`) until the command is run again, which goes on in the same
directory. Each step is synced before the next one, so that a power loss cannot change their order.
"""

import fcntl
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

import msgspec

from domain.errors import Conflict, InvalidInput, StoreUnavailable
from domain.event_store.features import refuse_unknown
from domain.event_store.sqlite.features import read_features
from domain.event_store.sqlite.snapshot import connect, find_damage
from domain.machine import durable_files
from domain.machine.storage_errors import storage_errors
from domain.machine.write_turns import WriteTurns

_ASIDE = "replaced-"
_INCOMING, _UNCHECKED = "incoming.db", "incoming.new"
_MAGIC = b"SQLite format 3\0"
_WAL_HEADER = 32
"""Bytes of a write-ahead log that holds nothing yet."""
_COLUMNS = {
    "stored_events": "rowid, originator_id, originator_version, topic, state",
    "claims": "kind, fqn, id, name, parent_id, deleted",
    "answers": "actor, key, digest, entity_id, stream_version, outcome, at",
    "restored": "head, count",
    "identity": "id",
}
"""Table of a log -> the columns that are read of it."""
_LOCK_START, _LOCK_LENGTH = 0x40000000, 512
"""The bytes of its file that SQLite locks: https://www.sqlite.org/fileformat.html#the_lock_byte_page"""


class Replaced(msgspec.Struct, frozen=True):
    """The result of replacing a log by a copy."""

    count: int
    """Number of events in the copy."""
    head: int
    """Position of the last one."""
    kept: Path | None
    """The directory with the log that was there before; None when there was none."""


def refuse_unfinished(directory: Path) -> None:
    """Raise StoreUnavailable while a log in a directory is only half replaced by a copy."""
    incoming = next(directory.glob(f"{_ASIDE}*/{_INCOMING}"), None)
    if incoming is not None:
        raise StoreUnavailable(
            f"a restore of the log in {directory} was interrupted, or is under way. To go on with"
            f" it: catalog-replay restore {incoming} --data {directory}"
        )


def replace_log(copy: Path, file: Path) -> Replaced:
    """Put a copy of a log, one file that SQLite has made, in the place of the log in a file.

    What was there stays, as a log of its own, in a directory beside it. When this returns, the copy
    survives power loss. Raises InvalidInput for a file that is no whole log, Conflict for the log
    of another catalog, and StoreUnavailable when any process has the log open, or when the files
    cannot be written; before step 2 of the module's list nothing is changed by then.
    """
    if not copy.is_file():
        raise InvalidInput(f"{copy} is not a file")
    if file.exists() and copy.samefile(file):
        raise InvalidInput(f"{copy} is the log itself")
    known, turns = _identity(file), WriteTurns(file)
    # Who opens a log has a turn until it holds SQLite's lock on the file.
    with (
        storage_errors("the log cannot be replaced"),
        closing(turns),
        turns.held(),
        _alone(file),
    ):
        aside = _directory_aside(file)
        replaced = _bring(copy, aside, known or _identity(aside / _INCOMING))
        _move_aside(file, aside)
        os.replace(aside / _INCOMING, file)
        durable_files.sync(file.parent, aside)
        kept = any(aside.iterdir())
        if not kept:
            aside.rmdir()
    return msgspec.structs.replace(replaced, kept=aside if kept else None)


def _directory_aside(file: Path) -> Path:
    """The directory of a replacement that was interrupted, else a new one with the next number."""
    there = [*file.parent.glob(f"{_ASIDE}*")]
    for path in there:
        if (path / _INCOMING).exists() or (path / _UNCHECKED).exists():
            return path
    numbers = [int(end) for path in there if (end := path.name.removeprefix(_ASIDE)).isdecimal()]
    aside = file.parent / f"{_ASIDE}{max(numbers, default=0) + 1}"
    aside.mkdir(mode=0o700)
    return aside


def _bring(copy: Path, aside: Path, known: str | None) -> Replaced:
    """Take steps 1 and 2; leaves nothing behind when the copy is refused.

    `known` is the identity of the log that is there, None where there is none that can be read.
    """
    fresh = aside / _UNCHECKED
    try:
        _refuse_more_files(copy)
        before = copy.stat()
        shutil.copyfile(copy, fresh)
        # A file that a process writes to gets a write-ahead log, or changes.
        _refuse_more_files(copy)
        after = copy.stat()
        if (before.st_mtime_ns, before.st_size) != (after.st_mtime_ns, after.st_size):
            raise InvalidInput(f"{copy} was changed while it was read: let SQLite make a copy")
        brought = _checked(fresh, copy, known)
        durable_files.sync(fresh)
        os.replace(fresh, aside / _INCOMING)
    except BaseException:
        fresh.unlink(missing_ok=True)
        if not any(aside.iterdir()):
            aside.rmdir()
        raise
    durable_files.sync(aside, aside.parent)
    return brought


def _refuse_more_files(copy: Path) -> None:
    """Raise InvalidInput when a copy is not all in one file."""
    for end, most in (("-wal", _WAL_HEADER), ("-journal", 0)):
        beside = copy.with_name(copy.name + end)
        if beside.exists() and beside.stat().st_size > most:
            raise InvalidInput(
                f"{beside} lies beside {copy}, and may belong to it or not. If it does,"
                f' make one file of both: sqlite3 {copy} ".backup one-file.db"'
            )


def _checked(file: Path, copy: Path, known: str | None) -> Replaced:
    """The result of replacing a log by `file`, which was read from `copy`, once it is verified.

    Raises InvalidInput, Conflict, and LaterRelease for a copy that a later release has written.
    """
    with file.open("rb") as opened:
        if opened.read(len(_MAGIC)) != _MAGIC:
            raise InvalidInput(
                f"{copy} is not a SQLite database; a file of `export` is read by `import`"
            )
    # No other process has this file, and reading it leaves no files beside it.
    database = f"{_uri(file)}?mode=ro&immutable=1"
    try:
        with closing(connect(database)) as connection:
            for table, columns in _COLUMNS.items():
                connection.execute(f"SELECT {columns} FROM {table} LIMIT 0")
            ((identity,),) = connection.execute("SELECT id FROM identity")
            counted = "SELECT count(*), coalesce(max(rowid), 0) FROM stored_events"
            ((count, head),) = connection.execute(counted)
            refuse_unknown(read_features(connection), str(copy))
    except sqlite3.OperationalError as error:
        raise InvalidInput(f"{copy} is not the log of a catalog: {error}") from None
    except (sqlite3.DatabaseError, ValueError) as error:
        raise InvalidInput(f"{copy} is damaged: {error}") from None
    try:
        problems = find_damage(database)
    except StoreUnavailable as error:
        raise InvalidInput(f"{copy} is damaged: {error}") from None
    if problems:
        raise InvalidInput(f"{copy} is not a whole log: {problems[0].what}")
    if known not in (None, identity):
        raise Conflict(
            f"{copy} is the log of another catalog (its identity is {identity}, and that of the log"
            f" which is there is {known}): restore it into a directory of its own"
        )
    return Replaced(count, head, None)


def _identity(file: Path) -> str | None:
    """The identity of a log, with or without its write-ahead log; None when it cannot be read."""
    # A connection that only reads changes neither of them; it would make a write-ahead log.
    whole = ["mode=ro"] if file.with_name(f"{file.name}-wal").exists() else []
    for how in (*whole, "mode=ro&immutable=1"):
        try:
            with closing(connect(f"{_uri(file)}?{how}")) as connection:
                return str(connection.execute("SELECT id FROM identity").fetchone()[0])
        except (sqlite3.Error, TypeError):
            continue
    return None


@contextmanager
def _alone(file: Path) -> Iterator[None]:
    """Keep every connection of SQLite in other processes away from a file, if there is one.

    Raises StoreUnavailable when there is such a connection: each one to a log holds a lock on its
    file for as long as it is open. The lock is taken without SQLite, whose last connection to a
    file writes the write-ahead log into it when it is closed.
    """
    if not file.exists():
        yield
        return
    with file.open("r+b") as opened:
        try:
            fcntl.lockf(opened, fcntl.LOCK_EX | fcntl.LOCK_NB, _LOCK_LENGTH, _LOCK_START)
        except OSError:
            raise StoreUnavailable(f"another process has {file} open: end it first") from None
        yield


def _move_aside(file: Path, aside: Path) -> None:
    """Step 3; what an interrupted one has moved already is left where it is."""
    for end in ("-wal", "-shm"):
        beside, kept = file.with_name(file.name + end), aside / f"{file.name}{end}"
        if beside.exists():
            if kept.exists():
                raise Conflict(f"{beside} is there, and {kept} too: put one of them away")
            os.rename(beside, kept)
    # The name of the log stays there until the copy takes it: without it, a log would be made.
    if file.exists() and not (aside / file.name).exists():
        os.link(file, aside / file.name)
    durable_files.sync(aside, file.parent)


def _uri(file: Path) -> str:
    return f"file:{quote(str(file.absolute()))}"
