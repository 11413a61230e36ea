"""The memory between events, beside the measurements and for all processes.

Runs that are under way, what was said of which edge, and statements about datasets that the catalog
does not have. All of it is bounded; the oldest goes first.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from domain.measurements.port import KeptBeside, Measurements
from domain.openlineage.kept_rows import Row, Sort, delete_rows, put_rows, read_after, read_rows
from domain.openlineage.missing_datasets import MISSING, count_changes, count_gone

LATE = "openlineage"
"""The name of the reaction that draws what waits."""
_TRIMMED_EVERY = 500
"""Rows of a sort that are written between two looks at its bounds."""
_TRIMMED = 0.95
"""The share of a bound that is left once the oldest rows are deleted."""
_OLDEST = "sort = ? AND id IN (SELECT id FROM kept_beside WHERE sort = ? ORDER BY at, id LIMIT ?)"
_OLDER = "sort = ? AND at < coalesce((SELECT min(at) FROM kept_beside WHERE sort = ?), 0)"

RUNS = Sort("openlineage run", 100_000, 64_000_000)
EDGES = Sort("openlineage edge", 1_000_000, 256_000_000)
JOBS = Sort("openlineage job", 1_000_000, 256_000_000)
WAITING = Sort("openlineage waiting", 100_000, 64_000_000, MISSING.name)


class Keeping:
    """Reads and writes of the rows; any thread may use it."""

    def __init__(self, measurements: Measurements) -> None:
        self._measurements = measurements
        self._written: dict[str, int] = {}

    def read(self, sort: Sort, ids: Collection[str]) -> dict[str, bytes]:
        """Id -> body of the rows of a sort that are kept, among these ids."""
        return read_rows(self._measurements.read_beside, sort, ids)

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
        return read_after(self._measurements.read_beside, sort, last, limit)

    def change(self, work: "Work") -> None:
        """Put and delete rows in one transaction."""
        if not work:
            return
        with self._measurements.beside() as kept:
            put, deleted = work.put.get(MISSING, {}), work.deleted.get(MISSING, {})
            count_changes(kept, put.values(), deleted)
            work.do(kept)
            for sort, rows in work.put.items():
                self._trim(kept, sort, len(rows))

    def merge(
        self, sort: Sort, ids: Sequence[str], merged: Callable[[Mapping[str, bytes]], list[Row]]
    ) -> None:
        """Replace kept rows by what `merged` makes of them (id -> body), in one transaction."""
        with self._measurements.beside() as kept:
            rows = merged(read_rows(kept.rows, sort, ids))
            put_rows(kept, sort, rows)
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
        _delete(kept, sort.name, _OLDEST, sort.name, int(rows * share) + 1)
        if sort.parts:
            _delete(kept, sort.parts, _OLDER, sort.name)


def _delete(kept: KeptBeside, sort: str, where: str, *values: Any) -> None:
    """Delete the rows for which a condition holds, whose first value is the sort."""
    if sort == MISSING.name:
        rows = kept.rows(
            f"SELECT body, count(*) FROM kept_beside WHERE {where} GROUP BY body", sort, *values
        )
        count_gone(kept, rows)
    kept.change(f"DELETE FROM kept_beside WHERE {where}", [(sort, *values)])


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
        """Add what another `Work` puts and deletes, which counts where both have a row."""
        for sort, ids in other.deleted.items():
            for id_ in ids:
                self.delete(sort, id_)
                self.put.get(sort, {}).pop(id_, None)
        for sort, rows in other.put.items():
            for row in rows.values():
                self.add(sort, row)

    def do(self, kept: KeptBeside) -> None:
        """Put and delete the rows in the transaction of `kept`."""
        for sort, ids in self.deleted.items():
            delete_rows(kept, sort, ids)
        for sort, rows in self.put.items():
            put_rows(kept, sort, [*rows.values()])
