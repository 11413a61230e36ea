"""The memory between events, beside the measurements and for all processes.

Runs that are under way, what was said of which edge, and statements about datasets that the catalog
does not have. All of it is bounded; the oldest goes first.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any

from msgspec import Struct

from domain.measurements.port import KeptBeside, Measurements

LATE = "openlineage"
"""The name of the reaction that draws what waits."""
_IDS = 500
"""Ids in one statement."""
_TRIMMED_EVERY = 500
"""Rows of a sort that are written between two looks at its bounds."""
_TRIMMED = 0.95
"""The part of a bound to which rows are deleted."""


class Sort(Struct, frozen=True):
    """A sort of rows with its bounds."""

    name: str
    rows: int
    bytes: int
    parts: str = ""
    """The sort of the rows that are parts of these, and go with the oldest of them."""


RUNS = Sort("openlineage run", 100_000, 64_000_000)
EDGES = Sort("openlineage edge", 1_000_000, 256_000_000)
JOBS = Sort("openlineage job", 1_000_000, 256_000_000)
MISSING = Sort("openlineage missing", 250_000, 96_000_000)
"""The datasets that waiting statements miss: two of an edge at most."""
WAITING = Sort("openlineage waiting", 100_000, 64_000_000, MISSING.name)


class Row(Struct, frozen=True):
    """A row as it is kept."""

    id: str
    at: int
    """Milliseconds since 1970."""
    body: bytes
    label: str = ""
    """A text by which rows are found beside their ids."""


def key_of(*texts: str) -> str:
    """An id made of texts of any length."""
    digest = blake2b(digest_size=16)
    for text in texts:
        encoded = text.encode("utf-8", "surrogatepass")
        digest.update(b"%d:" % len(encoded))
        digest.update(encoded)
    return digest.hexdigest()


class Keeping:
    """Reads and writes of the rows; any thread may use it."""

    def __init__(self, measurements: Measurements) -> None:
        self._measurements = measurements
        self._written: dict[str, int] = {}

    def read(self, sort: Sort, ids: Collection[str]) -> dict[str, bytes]:
        """Id -> body of those that are kept."""
        return _read(self._measurements.read_beside, sort, ids)

    def labelled(self, sort: Sort, label: str, limit: int) -> list[str]:
        """The ids of at most `limit` rows of a label."""
        rows = self._measurements.read_beside(
            "SELECT id FROM kept_beside WHERE sort = ? AND label = ? ORDER BY id LIMIT ?",
            sort.name,
            label,
            limit,
        )
        return [id_ for (id_,) in rows]

    def after(self, sort: Sort, last: str, limit: int) -> list[tuple[str, bytes]]:
        """Id and body of at most `limit` rows whose ids come after one."""
        rows = self._measurements.read_beside(
            "SELECT id, body FROM kept_beside WHERE sort = ? AND id > ? ORDER BY id LIMIT ?",
            sort.name,
            last,
            limit,
        )
        return [(id_, bytes(body)) for id_, body in rows]

    def counted(self, sort: Sort) -> list[tuple[bytes, int, int]]:
        """Each body with the number of its rows, and the newest of their times."""
        rows = self._measurements.read_beside(
            "SELECT body, count(*), max(at) FROM kept_beside WHERE sort = ? GROUP BY body",
            sort.name,
        )
        return [(body, number, at) for body, number, at in rows]

    def change(self, work: "Work") -> None:
        """Do changes in one transaction."""
        if not work:
            return
        with self._measurements.beside() as kept:
            work.do(kept)
            for sort, rows in work.put.items():
                self._trim(kept, sort, len(rows))

    def merge(
        self, sort: Sort, ids: Sequence[str], merged: Callable[[Mapping[str, bytes]], list[Row]]
    ) -> None:
        """Replace rows by what `merged` makes of those that are kept, in one transaction."""
        with self._measurements.beside() as kept:
            rows = merged(_read(kept.rows, sort, ids))
            _put(kept, sort, rows)
            self._trim(kept, sort, len(rows))

    def _trim(self, kept: KeptBeside, sort: Sort, written: int) -> None:
        """Delete the oldest rows of a sort that has too many, or too many bytes."""
        count = self._written.get(sort.name, _TRIMMED_EVERY) + written
        if count < _TRIMMED_EVERY:
            self._written[sort.name] = count
            return
        self._written[sort.name] = 0
        ((rows, size),) = kept.rows(
            "SELECT count(*), CAST(coalesce(sum(size), 0) AS bigint) FROM kept_beside"
            " WHERE sort = ?",
            sort.name,
        )
        if rows <= sort.rows and size <= sort.bytes:
            return
        share = max(1 - sort.rows * _TRIMMED / rows, 1 - sort.bytes * _TRIMMED / size)
        kept.change(
            "DELETE FROM kept_beside WHERE sort = ? AND id IN (SELECT id FROM kept_beside"
            " WHERE sort = ? ORDER BY at, id LIMIT ?)",
            [(sort.name, sort.name, int(rows * share) + 1)],
        )
        if sort.parts:
            kept.change(
                "DELETE FROM kept_beside WHERE sort = ? AND at < coalesce("
                "(SELECT min(at) FROM kept_beside WHERE sort = ?), 0)",
                [(sort.parts, sort.name)],
            )


class Work:
    """Rows to be put and deleted together."""

    def __init__(self) -> None:
        self.put: dict[Sort, dict[str, Row]] = {}
        self.deleted: dict[Sort, dict[str, None]] = {}

    def __bool__(self) -> bool:
        return bool(self.put or self.deleted)

    def add(self, sort: Sort, row: Row) -> None:
        """Put a row in place of the one of its id."""
        self.put.setdefault(sort, {})[row.id] = row
        self.deleted.get(sort, {}).pop(row.id, None)

    def delete(self, sort: Sort, id_: str) -> None:
        """Delete the row of an id, if there is one."""
        self.deleted.setdefault(sort, {})[id_] = None

    def include(self, other: "Work") -> None:
        """Do what another work does, too, after this."""
        for sort, ids in other.deleted.items():
            for id_ in ids:
                self.delete(sort, id_)
                self.put.get(sort, {}).pop(id_, None)
        for sort, rows in other.put.items():
            for row in rows.values():
                self.add(sort, row)

    def do(self, kept: KeptBeside) -> None:
        """Do it in a transaction."""
        for sort, ids in self.deleted.items():
            kept.change(
                "DELETE FROM kept_beside WHERE sort = ? AND id = ?",
                [(sort.name, id_) for id_ in ids],
            )
        for sort, rows in self.put.items():
            _put(kept, sort, [*rows.values()])


def _read(ask: Any, sort: Sort, ids: Collection[str]) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for some in _parts([*dict.fromkeys(ids)]):
        marks = ", ".join("?" * len(some))
        statement = f"SELECT id, body FROM kept_beside WHERE sort = ? AND id IN ({marks})"
        found.update((id_, bytes(body)) for id_, body in ask(statement, sort.name, *some))
    return found


def _put(kept: KeptBeside, sort: Sort, rows: Sequence[Row]) -> None:
    kept.change(
        "INSERT INTO kept_beside (sort, id, at, size, label, body) VALUES (?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (sort, id) DO UPDATE SET at = excluded.at, size = excluded.size,"
        " label = excluded.label, body = excluded.body",
        [
            (sort.name, row.id, row.at, len(row.body) + len(row.id) + 64, row.label, row.body)
            for row in rows
        ],
    )


def _parts(ids: list[str]) -> Iterator[list[str]]:
    for start in range(0, len(ids), _IDS):
        yield ids[start : start + _IDS]
