"""Notices damage of the sorted read model without reading the log.

When it is closed a stamp with the file's size and times is left beside it. A file that fits its
stamp was not touched since, and is trusted; any other (after a crash, or when somebody wrote to
it) is checked: SQLite's own check of its structure, the digest of every row against what the row
holds and against the sums kept for its kind, and lists and totals against the rows.
"""

from collections.abc import Callable
from pathlib import Path

from projections.entities.sqlite.model import SqliteReadModel
from projections.entities.sqlite.snapshot import READ_ENTITIES, SqliteEntitySnapshot
from projections.entities.stored_entity import add_digests, columns_digest
from projections.feeding.port import Damaged


def check(model: SqliteReadModel, go_on: Callable[[], None]) -> None:
    """Read everything in one consistent state; raises Damaged, which says what is wrong.

    Calls `go_on` after every thousand rows; what `go_on` raises ends the check.
    """
    with model.database.snapshot() as connection:
        (verdict,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
        if verdict != "ok":
            raise Damaged(f"the sorted read model is damaged: {verdict}")
        sums: dict[str, tuple[int, int]] = {}
        for number, (*columns, digest) in enumerate(connection.execute(READ_ENTITIES)):
            if number % 1_000 == 0:
                go_on()
            if columns_digest(tuple(columns)) != digest:
                raise Damaged(f"the sorted read model is damaged: {columns[0]} {columns[3]}")
            add_digests(sums, [(columns[0], 1, digest)])
        snapshot = SqliteEntitySnapshot(connection)
        if sums != snapshot.digests():
            raise Damaged("the sorted read model is damaged: rows are missing, or too many")
        for difference in snapshot.list_differences():
            raise Damaged(f"the sorted read model is damaged: {difference.sort} {difference.name}")


def shut(model: SqliteReadModel) -> None:
    """Close a read model that nothing else writes to, and leave a stamp beside its file."""
    try:
        model.database.settle()
    finally:
        model.close()
    path = model.database.path
    _stamp_path(path).write_text(_stamp(path))


def take_stamp(path: Path) -> bool:
    """Remove the stamp, and return True if the file is as `shut` left it. Raises OSError."""
    stamp = _stamp_path(path)
    try:
        trusted = stamp.read_text() == _stamp(path)
    except FileNotFoundError:
        return False
    stamp.unlink()
    return trusted


def _stamp_path(path: Path) -> Path:
    return path.with_name(path.name + "-stamp")


def _stamp(path: Path) -> str:
    """Inode, size and time of a file, and the size of its write-ahead log: writing changes one."""
    status = path.stat()
    waiting = path.with_name(path.name + "-wal")
    pending = waiting.stat().st_size if waiting.exists() else 0
    return f"{status.st_ino} {status.st_size} {status.st_mtime_ns} {pending}"
