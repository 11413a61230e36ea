"""Measurements in a SQLite file of their own, which several processes of a machine may use."""

import sqlite3
import threading
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from domain.errors import StoreUnavailable
from domain.machine.storage_errors import is_of_damage
from domain.machine.write_turns import WriteTurns, writing
from domain.measurements.bounds import MOST_QUERIES, OVERHEAD, Bounds, Key
from domain.measurements.costs import MAX_COST, MAX_DURATION, MAX_RUNS, CostSums
from domain.measurements.port import KeptBeside, Measurements, Page, PageRequest
from domain.measurements.reports import COLUMN, COST, DAY_MS, RESULT, SYSTEM, USAGE
from domain.measurements.usage import UseSums

FILE = "measurements.db"
_STEPS = 100_000
"""Instructions of SQLite between two looks at the clock."""
_DELETE = "DELETE FROM points WHERE entity = ? AND series = ? AND part = ? AND at = ?"
_DROP_OLDEST = (
    "DELETE FROM points WHERE entity = ? AND series = ? AND part = ? AND at <= ("
    " SELECT at FROM points WHERE entity = ? AND series = ? AND part = ?"
    " ORDER BY at DESC LIMIT 1 OFFSET ?)"
)
_count = "json_extract(CAST(body AS TEXT), '$.count')"


_BUSY_MS = 5_000


def size_of(row: str) -> str:
    """The SQL of the bytes that a row of the points is counted for."""
    return f"(length({row}.body) + length({row}.part) + {OVERHEAD})"


def _note(name: str, change: str, row: str) -> str:
    """The SQL of a trigger that notes of which entity contracts may have to be judged again."""
    return (
        f"CREATE TRIGGER IF NOT EXISTS {name} AFTER {change} ON points"
        f" WHEN {row}.series IN ('{RESULT}', '{SYSTEM}', '{COLUMN}') BEGIN"
        f" INSERT INTO measurements_written VALUES ({row}.entity, abs(random()))"
        " ON CONFLICT (entity) DO UPDATE SET turn = excluded.turn; END;"
    )


KEPT_BESIDE = """
CREATE TABLE IF NOT EXISTS kept_beside (
    sort TEXT NOT NULL, id TEXT NOT NULL, at INTEGER NOT NULL, size INTEGER NOT NULL,
    label TEXT NOT NULL, body BLOB NOT NULL, PRIMARY KEY (sort, id)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS kept_beside_by_time ON kept_beside (sort, at, size);
CREATE INDEX IF NOT EXISTS kept_beside_by_label ON kept_beside (sort, label);
"""

_TABLES = f"""
CREATE TABLE IF NOT EXISTS points (
    entity TEXT NOT NULL, series TEXT NOT NULL, part TEXT NOT NULL, at INTEGER NOT NULL,
    body BLOB NOT NULL, PRIMARY KEY (entity, series, part, at)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS points_by_time ON points (at);
CREATE INDEX IF NOT EXISTS points_summed ON points (series, part, at)
    WHERE series IN ('{USAGE}', '{COST}');
CREATE TABLE IF NOT EXISTS sizes (entity TEXT PRIMARY KEY, bytes INTEGER NOT NULL) WITHOUT ROWID;
INSERT OR IGNORE INTO sizes VALUES ('', 0);
CREATE TABLE IF NOT EXISTS measurements_written (
    entity TEXT PRIMARY KEY, turn INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS written_by_turn ON measurements_written (turn);
{KEPT_BESIDE}
{_note("point_noted", "INSERT", "new")}
{_note("point_forgotten", "DELETE", "old")}
CREATE TRIGGER IF NOT EXISTS point_added AFTER INSERT ON points BEGIN
    INSERT OR IGNORE INTO sizes VALUES (new.entity, 0);
    UPDATE sizes SET bytes = bytes + {size_of("new")} WHERE entity IN ('', new.entity);
END;
CREATE TRIGGER IF NOT EXISTS point_removed AFTER DELETE ON points BEGIN
    UPDATE sizes SET bytes = bytes - {size_of("old")} WHERE entity IN ('', old.entity);
    DELETE FROM sizes WHERE entity = old.entity AND bytes = 0;
END;
"""
"""Triggers keep the sizes; the size of all points together is under no entity."""


def _bounded(key: str, most: float) -> str:
    """The SQL of a number in a record of costs: records from before the bounds may exceed them."""
    return f"min(max(coalesce(json_extract(CAST(body AS TEXT), '$.{key}'), 0), 0), {most!r})"


_cost, _runs = _bounded("cost", MAX_COST), _bounded("count", MAX_RUNS)
_duration = _bounded("totalDuration", MAX_DURATION)
_USED = f"""
SELECT entity, sum(CASE WHEN at = :day THEN {_count} END) AS daily,
    sum(CASE WHEN at > :week THEN {_count} END), sum({_count})
FROM points WHERE series = '{USAGE}' AND part = :kind AND at > :month AND at <= :day
GROUP BY entity HAVING daily IS NOT NULL
"""
_SUMS = f"total({_cost} * {_runs}), total({_runs}), total({_duration}), min({_cost}), max({_cost})"
_OF_SERVICE = f"FROM points WHERE series = '{COST}' AND part = ?"


class SqliteMeasurements(Measurements):
    """The port on a file, with a connection for each thread; none is made before it is used."""

    select_newest = (
        "SELECT part, body, max(at) FROM points WHERE entity = ? AND series = ? GROUP BY part"
    )
    select_latest = (
        "SELECT body FROM points WHERE entity = ? AND series = ? AND part = ''"
        " ORDER BY at DESC LIMIT 1"
    )
    select_times = (
        "SELECT at FROM points WHERE entity = ? AND series = ? AND part = '' ORDER BY at DESC"
    )
    select_entities = "SELECT entity FROM sizes WHERE entity <> ''"
    select_newest_time = "SELECT max(at) FROM points"

    def __init__(self, directory: Path, bounds: Bounds) -> None:
        super().__init__(bounds)
        self._path = directory / FILE
        self._turns = WriteTurns(self._path)
        self._local = threading.local()
        """Has the connection of each thread that has one."""
        self._opened: list[sqlite3.Connection] = []
        self._lock = threading.Lock()
        self._damage: str | None = None

    def _store(self, bodies: Mapping[str, Mapping[Key, bytes]]) -> None:
        with self._transaction() as connection:
            for entity_id, of_entity in bodies.items():
                self._replace(connection, entity_id, of_entity)
            if bodies and self._size(connection, "") > self._bounds.most_bytes:
                raise self._bounds.all_full()

    def _replace(
        self, connection: sqlite3.Connection, entity_id: str, bodies: Mapping[Key, bytes]
    ) -> None:
        # A REPLACE would decide on conflicts inside the triggers too.
        connection.executemany(_DELETE, [(entity_id, *key) for key in bodies])
        connection.executemany(
            "INSERT INTO points VALUES (?, ?, ?, ?, ?)",
            [(entity_id, *key, body) for key, body in bodies.items()],
        )
        for part in {(entity_id, *key[:2]) for key in bodies}:
            connection.execute(_DROP_OLDEST, (*part, *part, self._bounds.most_of(part[1])))
        self._fit(connection, entity_id, bodies.keys())

    def _fit(
        self, connection: sqlite3.Connection, entity_id: str, written: Collection[Key]
    ) -> None:
        """Delete the oldest points of an entity that has too many bytes, but none just written.

        Raises EntityOverLimit when the written points alone have too many.
        """
        left = self._size(connection, entity_id) - self._bounds.entity_bytes
        if left <= 0:
            return
        oldest = connection.execute(
            f"SELECT series, part, at, {size_of('points')} FROM points"
            " WHERE entity = ? ORDER BY at, series, part",
            (entity_id,),
        ).fetchall()
        for series, part, at, size in oldest:
            if left > 0 and (series, part, at) not in written:
                connection.execute(_DELETE, (entity_id, series, part, at))
                left -= size
        if left > 0:
            raise self._bounds.entity_full()

    @staticmethod
    def _size(connection: sqlite3.Connection, entity_id: str) -> int:
        row = connection.execute(
            "SELECT bytes FROM sizes WHERE entity = ?", (entity_id,)
        ).fetchone()
        return row[0] if row else 0

    def page(self, wanted: PageRequest) -> Page:
        """Read no more points than the page has; see `Measurements.page`."""
        where = "entity = ? AND series = ? AND at BETWEEN ? AND ?"
        values: list[str | int] = [wanted.entity_id, wanted.series, wanted.since, wanted.until]
        if wanted.part is not None:
            where += " AND part = ?"
            values.append(wanted.part)
        with self._reading() as connection:
            (total,) = connection.execute(
                f"SELECT count(*) FROM points WHERE {where}", values
            ).fetchone()
            if wanted.before is not None:
                where += " AND at < ?"
                values.append(wanted.before)
            rows = connection.execute(
                f"SELECT at, body FROM points WHERE {where} ORDER BY at DESC, part", values
            )
            taken: list[tuple[int, bytes]] = []
            size = 0
            for at, body in rows:
                full = len(taken) >= wanted.limit or size >= wanted.most_bytes
                if full and taken[-1][0] != at:
                    return Page(total, taken, more=True)
                taken.append((at, body))
                size += len(body)
        return Page(total, taken, more=False)

    def delete(self, entity_id: str, series: str, at: int | None = None) -> int:
        """Delete in one transaction; see `Measurements.delete`."""
        with self._transaction() as connection:
            deleted = connection.execute(
                "DELETE FROM points WHERE entity = ? AND series = ? AND at = ifnull(?, at)",
                (entity_id, series, at),
            )
            return deleted.rowcount

    def settle(self, written: Sequence[tuple[str, int]]) -> None:
        """Forget by entity and turn; see `Measurements.settle`."""
        with self._transaction() as connection:
            connection.executemany(
                "DELETE FROM measurements_written WHERE entity = ? AND turn = ?", written
            )

    def _used(self, kind: str, day: int) -> list[UseSums]:
        values = {"kind": kind, "day": day, "week": day - 7 * DAY_MS, "month": day - 30 * DAY_MS}
        with self._reading() as connection, _in_time(connection, self._bounds.sum_seconds):
            return [UseSums(*row) for row in connection.execute(_USED, values)]

    def query_costs(self, service_id: str) -> list[CostSums]:
        """Sum up by two statements; see `Measurements.query_costs`."""
        with self._reading() as connection, _in_time(connection, self._bounds.sum_seconds):
            whole = connection.execute(f"SELECT {_SUMS} {_OF_SERVICE}", (service_id,)).fetchone()
            if whole[3] is None:
                return []
            queries = connection.execute(
                f"SELECT entity, {_SUMS} {_OF_SERVICE} GROUP BY entity ORDER BY 2 DESC, 1"
                f" LIMIT {MOST_QUERIES}",
                (service_id,),
            )
            return [CostSums("", *whole), *(CostSums(*row) for row in queries)]

    def _sweep(self, entity_id: str | None, until: int | None) -> bool:
        if not self._path.exists():
            return False
        where, value = ("at < ?", until) if entity_id is None else ("entity = ?", entity_id)
        with self._transaction() as connection:
            keys = connection.execute(
                f"SELECT entity, series, part, at FROM points WHERE {where} LIMIT ?",
                (value, self._bounds.at_once),
            ).fetchall()
            connection.executemany(_DELETE, keys)
        return len(keys) == self._bounds.at_once

    def read_beside(self, statement: str, *values: Any) -> list[Any]:
        """Read without a turn; see `Measurements.read_beside`."""
        return self._rows(statement, *values)

    @contextmanager
    def beside(self) -> Iterator[KeptBeside]:
        """A turn of a writer; see `Measurements.beside`."""
        with self._transaction() as connection:
            yield _Beside(connection)

    def damage(self) -> str | None:
        """Look for the newest time, as a file may be damaged that nobody reads.

        See `Measurements.damage`. A damaged file stays open until the process ends.
        """
        with suppress(StoreUnavailable):
            self._rows(self.select_newest_time)
        return self._damage

    def close(self) -> None:
        """Close all connections; see `Measurements.close`."""
        with self._lock:
            for connection in self._opened:
                connection.close()
            self._opened.clear()
        self._turns.close()

    def _rows(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        if not self._path.exists():
            return []
        with self._reading() as connection:
            return connection.execute(statement, values).fetchall()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """A transaction of this thread's connection, on disk when the block ends."""
        with self._turns.held(), self._reading() as connection, writing(connection):
            yield connection

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        """Lend this thread's connection; errors of SQLite in the block become StoreUnavailable."""
        try:
            yield self._connection()
        except sqlite3.Error as error:
            if is_of_damage(error):
                self._damage = f"{self._path.name} is damaged: {error}"
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


class _Beside(KeptBeside):
    """The port on a connection in a transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def rows(self, statement: str, *values: Any) -> list[Any]:
        return self._connection.execute(statement, values).fetchall()

    def change(self, statement: str, runs: Sequence[Sequence[Any]]) -> None:
        self._connection.executemany(statement, runs)


@contextmanager
def _in_time(connection: sqlite3.Connection, seconds: float) -> Iterator[None]:
    """Have what SQLite does in a block end after so many seconds, with StoreUnavailable."""
    ended = time.monotonic() + seconds
    connection.set_progress_handler(lambda: time.monotonic() > ended, _STEPS)
    try:
        yield
    except sqlite3.OperationalError:
        if time.monotonic() > ended:
            raise StoreUnavailable(f"the sums took more than {seconds:g} s") from None
        raise
    finally:
        connection.set_progress_handler(None, 0)
