"""Measurements in a SQLite file of their own, bounded in age, count and bytes.

What `write` has stored survives the end of the process and power loss. Several processes may use
the file at once.
"""

import sqlite3
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

import msgspec

from domain.errors import EntityOverLimit, InvalidInput, StoreUnavailable
from domain.measurements.costs import CostSums
from domain.measurements.reports import DAY_MS, SAMPLE, Point
from domain.measurements.sums import SUMMED_INDEX, query_costs, usage_ranks
from domain.write_turns import WriteTurns

FILE = "measurements.db"
POINT_BYTES = 256 * 1024
"""The most bytes of JSON of one point, of a sample excepted."""
SAMPLE_BYTES = 4_000_000
"""The most bytes of JSON of a sample."""
ENTITY_BYTES = 32_000_000
"""The most bytes of all points of an entity; beyond, its oldest points go."""
MOST_POINTS = 1_000
"""The most points of one part of a series; beyond, the oldest go."""
_MOST: Mapping[str, int] = MappingProxyType({SAMPLE: 1})
"""Series -> the most points of a part, where it is not MOST_POINTS."""
_OVERHEAD = 64
"""Bytes that a point is counted for beside its JSON and its part."""
SWEPT_AT_ONCE = 1_000
"""Points that one transaction of a sweep deletes."""
_AHEAD_MS = DAY_MS
"""How far in the future a measurement may be, for clocks and time zones that differ."""
_BUSY_MS = 5_000


def _size_of(row: str) -> str:
    """The SQL of the bytes that a row of the points is counted for."""
    return f"(length({row}.body) + length({row}.part) + {_OVERHEAD})"


_TABLES = f"""
CREATE TABLE IF NOT EXISTS points (
    entity TEXT NOT NULL, series TEXT NOT NULL, part TEXT NOT NULL, at INTEGER NOT NULL,
    body BLOB NOT NULL, PRIMARY KEY (entity, series, part, at)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS points_by_time ON points (at);
{SUMMED_INDEX}
CREATE TABLE IF NOT EXISTS sizes (entity TEXT PRIMARY KEY, bytes INTEGER NOT NULL) WITHOUT ROWID;
INSERT OR IGNORE INTO sizes VALUES ('', 0);
CREATE TRIGGER IF NOT EXISTS point_added AFTER INSERT ON points BEGIN
    INSERT OR IGNORE INTO sizes VALUES (new.entity, 0);
    UPDATE sizes SET bytes = bytes + {_size_of("new")} WHERE entity IN ('', new.entity);
END;
CREATE TRIGGER IF NOT EXISTS point_removed AFTER DELETE ON points BEGIN
    UPDATE sizes SET bytes = bytes - {_size_of("old")} WHERE entity IN ('', old.entity);
    DELETE FROM sizes WHERE entity = old.entity AND bytes = 0;
END;
"""
"""Sizes are kept by triggers; that of all points stands under no entity."""


_DELETE = "DELETE FROM points WHERE entity = ? AND series = ? AND part = ? AND at = ?"


_Key = tuple[str, str, int]
"""Series, part and time of a point of an entity."""


class Page(msgspec.Struct, frozen=True):
    """Points of one part of a series, the newest first."""

    total: int
    """How many points there are in the time asked for, before and after this page."""
    points: Sequence[tuple[int, bytes]]
    """Time and JSON of each point."""
    more: bool
    """Whether older points follow."""


class MeasurementStore:
    """The file, with one connection for each thread; nothing is opened before it is used."""

    def __init__(self, directory: Path, *, days: int, most_bytes: int) -> None:
        """Points older than `days` go; `most_bytes` bounds those of all entities together."""
        self._path = directory / FILE
        self._age_ms = days * DAY_MS
        self._days = days
        self._most_bytes = most_bytes
        self._turns = WriteTurns(self._path)
        self._local = threading.local()
        self._opened: list[sqlite3.Connection] = []
        self._lock = threading.Lock()

    def write(self, entity_id: str, points: Iterable[Point], now: int) -> None:
        """Store points of an entity; see `write_all`."""
        self.write_all({entity_id: points}, now)

    def write_all(self, points: Mapping[str, Iterable[Point]], now: int) -> None:
        """Store points of entities by their ids, each in place of one of its part at the same time.

        All of them are stored, or none. Raises InvalidInput for a time that is too old or in the
        future, EntityOverLimit for what takes too many bytes, and StoreUnavailable, also when all
        entities have too many.
        """
        bodies: dict[str, dict[_Key, bytes]] = {}
        for entity_id, given in points.items():
            for each in given:
                self._check(each, now)
                bodies.setdefault(entity_id, {})[each.series, each.part, each.at] = each.body
        with self._transaction() as connection:
            for entity_id, of_entity in bodies.items():
                self._replace(connection, entity_id, of_entity)
            if bodies and self._size(connection, "") > self._most_bytes:
                raise StoreUnavailable(
                    f"measurements of all entities take more than {self._most_bytes} bytes:"
                    " CATALOG_MEASUREMENT_BYTES, CATALOG_MEASUREMENT_DAYS"
                )

    def _replace(
        self, connection: sqlite3.Connection, entity_id: str, bodies: Mapping[_Key, bytes]
    ) -> None:
        # A REPLACE would decide on conflicts inside the triggers too.
        connection.executemany(_DELETE, [(entity_id, *key) for key in bodies])
        connection.executemany(
            "INSERT INTO points VALUES (?, ?, ?, ?, ?)",
            [(entity_id, *key, body) for key, body in bodies.items()],
        )
        for series, part in {key[:2] for key in bodies}:
            self._drop_oldest(connection, entity_id, series, part)
        self._fit(connection, entity_id, bodies.keys())

    def _check(self, point: Point, now: int) -> None:
        what = f"{point.series} measurement" + (f" of {point.part[:80]!r}" if point.part else "")
        most = SAMPLE_BYTES if point.series == SAMPLE else POINT_BYTES
        if len(point.body) > most:
            raise EntityOverLimit(f"a {what} may have {most} bytes, got {len(point.body)}")
        self._check_time(point.at, now, what)

    def _check_time(self, at: int, now: int, what: str) -> None:
        if not now - self._age_ms <= at <= now + _AHEAD_MS:
            raise InvalidInput(
                f"the time of a {what} must be of the last {self._days} days (milliseconds since"
                f" 1970), got {at}"
            )

    @staticmethod
    def _drop_oldest(
        connection: sqlite3.Connection, entity_id: str, series: str, part: str
    ) -> None:
        key = (entity_id, series, part)
        connection.execute(
            "DELETE FROM points WHERE entity = ? AND series = ? AND part = ? AND at <= ("
            " SELECT at FROM points WHERE entity = ? AND series = ? AND part = ?"
            " ORDER BY at DESC LIMIT 1 OFFSET ?)",
            (*key, *key, _MOST.get(series, MOST_POINTS)),
        )

    def _fit(
        self,
        connection: sqlite3.Connection,
        entity_id: str,
        written: Collection[_Key],
    ) -> None:
        """Delete the oldest points of an entity that has too many bytes, but for those written."""
        left = self._size(connection, entity_id) - ENTITY_BYTES
        if left <= 0:
            return
        oldest = connection.execute(
            f"SELECT series, part, at, {_size_of('points')} FROM points"
            " WHERE entity = ? ORDER BY at",
            (entity_id,),
        ).fetchall()
        for series, part, at, size in oldest:
            if left > 0 and (series, part, at) not in written:
                connection.execute(_DELETE, (entity_id, series, part, at))
                left -= size
        if left > 0:
            raise EntityOverLimit(f"the measurements of an entity may have {ENTITY_BYTES} bytes")

    @staticmethod
    def _size(connection: sqlite3.Connection, entity_id: str) -> int:
        row = connection.execute(
            "SELECT bytes FROM sizes WHERE entity = ?", (entity_id,)
        ).fetchone()
        return row[0] if row else 0

    def newest(self, entity_id: str, series: str) -> dict[str, bytes]:
        """Part -> JSON of its newest point, for all parts of a series."""
        with self._reading() as connection:
            rows = connection.execute(
                "SELECT part, body, max(at) FROM points WHERE entity = ? AND series = ?"
                " GROUP BY part",
                (entity_id, series),
            )
            return {part: body for part, body, _ in rows}

    def page(
        self,
        entity_id: str,
        series: str,
        part: str | None,
        *,
        since: int,
        until: int,
        before: int | None,
        limit: int,
        most_bytes: int,
    ) -> Page:
        """Points of a part of a series, or of all its parts, with times in [since, until].

        The newest come first, after the time `before` where it is given. The page ends with the
        point that reaches `most_bytes`, but never between two points of one time.
        """
        where = "entity = ? AND series = ? AND at BETWEEN ? AND ?"
        values: list[str | int] = [entity_id, series, since, until]
        if part is not None:
            where += " AND part = ?"
            values.append(part)
        with self._reading() as connection:
            (total,) = connection.execute(
                f"SELECT count(*) FROM points WHERE {where}", values
            ).fetchone()
            if before is not None:
                where += " AND at < ?"
                values.append(before)
            rows = connection.execute(
                f"SELECT at, body FROM points WHERE {where} ORDER BY at DESC, part", values
            )
            taken: list[tuple[int, bytes]] = []
            size = 0
            for at, body in rows:
                full = len(taken) >= limit or size >= most_bytes
                if full and taken[-1][0] != at:
                    return Page(total, taken, more=True)
                taken.append((at, body))
                size += len(body)
        return Page(total, taken, more=False)

    def delete(self, entity_id: str, series: str, at: int | None = None) -> int:
        """Delete the points of a series at a time, or all of them; returns how many there were."""
        with self._transaction() as connection:
            if at is None:
                found = connection.execute(
                    "DELETE FROM points WHERE entity = ? AND series = ?", (entity_id, series)
                )
            else:
                found = connection.execute(
                    "DELETE FROM points WHERE entity = ? AND series = ? AND at = ?",
                    (entity_id, series, at),
                )
            return found.rowcount

    def rank_usage(self, kind: str, day: int, now: int) -> None:
        """Store, of each entity of a kind that was used on a day, how it ranks among the others.

        The day is given by its first millisecond. Raises InvalidInput for a day that is too old or
        in the future, and StoreUnavailable, also when it takes too long: the ranks that were
        computed before are replaced some by some.
        """
        self._check_time(day, now, "ranking")
        with self._reading() as connection:
            for ranks in usage_ranks(connection, kind, day):
                self.write_all(ranks, now)

    def query_costs(self, service_id: str) -> list[CostSums]:
        """What the queries of a service have cost, all together first; none without records."""
        with self._reading() as connection:
            return query_costs(connection, service_id)

    def entities(self) -> list[str]:
        """The ids of all entities that have points; none where nothing was ever stored."""
        if not self._path.exists():
            return []
        with self._reading() as connection:
            rows = connection.execute("SELECT entity FROM sizes WHERE entity <> ''")
            return [entity_id for (entity_id,) in rows]

    def forget(self, entity_id: str) -> None:
        """Delete all points of an entity, so many in a transaction."""
        while self._swept("entity = ?", entity_id):
            pass

    def newest_time(self) -> int:
        """The time of the newest point, 0 when there is none; raises StoreUnavailable."""
        if not self._path.exists():
            return 0
        with self._reading() as connection:
            row = connection.execute("SELECT max(at) FROM points").fetchone()
        return int(row[0] or 0)

    def forget_older(self, now: int) -> None:
        """Delete the points of all entities that are too old, so many in a transaction."""
        while self._path.exists() and self._swept("at < ?", now - self._age_ms):
            pass

    def _swept(self, where: str, value: str | int) -> bool:
        """Delete some of the points that a condition holds for; whether there may be more."""
        with self._transaction() as connection:
            keys = connection.execute(
                f"SELECT entity, series, part, at FROM points WHERE {where} LIMIT {SWEPT_AT_ONCE}",
                (value,),
            ).fetchall()
            connection.executemany(_DELETE, keys)
        return len(keys) == SWEPT_AT_ONCE

    def close(self) -> None:
        """Close all connections; nothing may use the store afterwards."""
        with self._lock:
            for connection in self._opened:
                connection.close()
            self._opened.clear()
        self._turns.close()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """A transaction of this thread's connection, on disk when the block ends."""
        with self._turns.held(), self._reading() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        """This thread's connection; errors of SQLite are raised as StoreUnavailable."""
        try:
            yield self._connection()
        except sqlite3.Error as error:
            raise StoreUnavailable(f"measurements cannot be read or written: {error}") from error

    def _connection(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
            with self._lock:
                self._opened.append(connection)
            connection.execute(f"PRAGMA busy_timeout={_BUSY_MS}")
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=FULL")
            connection.execute("PRAGMA journal_size_limit=16000000")
            connection.executescript(_TABLES)
            self._local.connection = connection
        return connection
