"""Notices damage of the sorted read model without reading the log.

When it is closed a stamp with the file's size and times is left beside it. A file that fits its
stamp was not touched since, and is trusted; any other (after a crash, or when somebody wrote to
it) is checked: SQLite's own check of its structure, the digest of every row against what the row
holds and against the sums kept for its kind, and lists and totals against the rows.
"""

from collections.abc import Callable
from pathlib import Path

from projections.entities.rows import row_digest
from projections.entities.store import EntityStore, read_digests
from projections.entities.verification_source import EntityRows
from projections.feeding.port import Damaged
from projections.verification.report import Differences

_ROWS = (
    "SELECT kind, deleted, name, id, fqn, status, scopes, position, core, optional, digest"
    " FROM entities"
)
_MODULUS = 1 << 128


def check(store: EntityStore, go_on: Callable[[], None]) -> None:
    """Read everything in one consistent state; raises Damaged saying what is wrong.

    Calls `go_on` now and then; what that raises ends the check.
    """
    with store.snapshot() as connection:
        found = connection.execute("PRAGMA integrity_check(1)").fetchone()
        if found != ("ok",):
            raise Damaged(f"the sorted read model is damaged: {found and found[0]}")
        sums: dict[str, tuple[int, int]] = {}
        for number, (*columns, digest) in enumerate(connection.execute(_ROWS)):
            if number % 1_000 == 0:
                go_on()
            if row_digest(tuple(columns)) != digest:
                raise Damaged(f"the sorted read model is damaged: {columns[0]} {columns[3]}")
            n, total = sums.get(columns[0], (0, 0))
            sums[columns[0]] = (n + 1, (total + int.from_bytes(digest, "big")) % _MODULUS)
        if sums != read_digests(connection):
            raise Damaged("the sorted read model is damaged: rows are missing, or too many")
        differences = Differences(1)
        EntityRows(store, connection, 0).model([]).inner(differences)
        for difference in differences.shown:
            raise Damaged(f"the sorted read model is damaged: {difference.sort} {difference.name}")


def shut(store: EntityStore) -> None:
    """Close a store that nothing else writes to, and say that its file is whole."""
    try:
        store.settle()
    finally:
        store.close()
    _stamp_path(store.path).write_text(_stamp(store.path))


def take_stamp(path: Path) -> bool:
    """Whether the file is as it was left, told once: the stamp is removed. Raises OSError."""
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
    """What changes when somebody writes to the file: nothing may wait in its write-ahead log."""
    status = path.stat()
    waiting = path.with_name(path.name + "-wal")
    pending = waiting.stat().st_size if waiting.exists() else 0
    return f"{status.st_ino} {status.st_size} {status.st_mtime_ns} {pending}"
