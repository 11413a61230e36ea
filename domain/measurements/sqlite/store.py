"""Measurements in a SQLite file of their own, which several processes of a machine may use."""

import sqlite3
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from domain.measurements import bounds
from domain.measurements.bounds import Bounds, Key, entity_full, most_points
from domain.measurements.costs import CostSums
from domain.measurements.port import Page
from domain.measurements.reports import Point
from domain.measurements.sqlite.connections import Connections, size_of
from domain.measurements.sqlite.sums import query_costs, usage_ranks

FILE = "measurements.db"
_DELETE = "DELETE FROM points WHERE entity = ? AND series = ? AND part = ? AND at = ?"


class SqliteMeasurements:
    """The port on a file; nothing is opened before it is used."""

    def __init__(self, directory: Path, bounds: Bounds) -> None:
        self._path = directory / FILE
        self._bounds = bounds
        self._connections = Connections(self._path)

    def write(self, entity_id: str, points: Iterable[Point], now: int) -> None:
        """Store points of an entity; see `Measurements.write`."""
        self.write_all({entity_id: points}, now)

    def write_all(self, points: Mapping[str, Iterable[Point]], now: int) -> None:
        """Store points of entities in one transaction; see `Measurements.write_all`."""
        bodies = self._bounds.checked(points, now)
        with self._connections.transaction() as connection:
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
        for series, part in {key[:2] for key in bodies}:
            self._drop_oldest(connection, entity_id, series, part)
        self._fit(connection, entity_id, bodies.keys())

    @staticmethod
    def _drop_oldest(
        connection: sqlite3.Connection, entity_id: str, series: str, part: str
    ) -> None:
        key = (entity_id, series, part)
        connection.execute(
            "DELETE FROM points WHERE entity = ? AND series = ? AND part = ? AND at <= ("
            " SELECT at FROM points WHERE entity = ? AND series = ? AND part = ?"
            " ORDER BY at DESC LIMIT 1 OFFSET ?)",
            (*key, *key, most_points(series)),
        )

    def _fit(
        self,
        connection: sqlite3.Connection,
        entity_id: str,
        written: Collection[Key],
    ) -> None:
        """Delete the oldest points of an entity that has too many bytes, but for those written."""
        left = self._size(connection, entity_id) - bounds.ENTITY_BYTES
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
            raise entity_full()

    @staticmethod
    def _size(connection: sqlite3.Connection, entity_id: str) -> int:
        row = connection.execute(
            "SELECT bytes FROM sizes WHERE entity = ?", (entity_id,)
        ).fetchone()
        return row[0] if row else 0

    def newest(self, entity_id: str, series: str) -> dict[str, bytes]:
        """Read all points of the series; see `Measurements.newest`."""
        with self._connections.reading() as connection:
            rows = connection.execute(
                "SELECT part, body, max(at) FROM points WHERE entity = ? AND series = ?"
                " GROUP BY part",
                (entity_id, series),
            )
            return {part: body for part, body, _ in rows}

    def latest(self, entity_id: str, series: str) -> bytes | None:
        """Read the last point of a range of the table; see `Measurements.latest`."""
        with self._connections.reading() as connection:
            row = connection.execute(
                "SELECT body FROM points WHERE entity = ? AND series = ? AND part = ''"
                " ORDER BY at DESC LIMIT 1",
                (entity_id, series),
            ).fetchone()
        return row[0] if row else None

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
        """Read no more points than the page has; see `Measurements.page`."""
        where = "entity = ? AND series = ? AND at BETWEEN ? AND ?"
        values: list[str | int] = [entity_id, series, since, until]
        if part is not None:
            where += " AND part = ?"
            values.append(part)
        with self._connections.reading() as connection:
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
        """Delete in one transaction; see `Measurements.delete`."""
        with self._connections.transaction() as connection:
            if at is None:
                deleted = connection.execute(
                    "DELETE FROM points WHERE entity = ? AND series = ?", (entity_id, series)
                )
            else:
                deleted = connection.execute(
                    "DELETE FROM points WHERE entity = ? AND series = ? AND at = ?",
                    (entity_id, series, at),
                )
            return deleted.rowcount

    def rank_usage(self, kind: str, day: int, now: int) -> None:
        """Rank by one statement, and store the ranks in parts; see `Measurements.rank_usage`."""
        self._bounds.check_time(day, now, "ranking")
        with self._connections.reading() as connection:
            for ranks in usage_ranks(connection, kind, day):
                self.write_all(ranks, now)

    def query_costs(self, service_id: str) -> list[CostSums]:
        """Sum up by two statements; see `Measurements.query_costs`."""
        with self._connections.reading() as connection:
            return query_costs(connection, service_id)

    def entities(self) -> list[str]:
        """Read the sizes, and make no file; see `Measurements.entities`."""
        if not self._path.exists():
            return []
        with self._connections.reading() as connection:
            rows = connection.execute("SELECT entity FROM sizes WHERE entity <> ''")
            return [entity_id for (entity_id,) in rows]

    def forget(self, entity_id: str) -> None:
        """Delete in parts; see `Measurements.forget`."""
        while self._swept("entity = ?", entity_id):
            pass

    def newest_time(self) -> int:
        """Read the end of an index, and make no file; see `Measurements.newest_time`."""
        if not self._path.exists():
            return 0
        with self._connections.reading() as connection:
            row = connection.execute("SELECT max(at) FROM points").fetchone()
        return int(row[0] or 0)

    def forget_older(self, now: int) -> None:
        """Delete in parts, and make no file; see `Measurements.forget_older`."""
        while self._path.exists() and self._swept("at < ?", self._bounds.oldest(now)):
            pass

    def _swept(self, where: str, value: str | int) -> bool:
        """Delete some of the points that a condition holds for; whether there may be more."""
        with self._connections.transaction() as connection:
            keys = connection.execute(
                f"SELECT entity, series, part, at FROM points WHERE {where} LIMIT ?",
                (value, bounds.SWEPT_AT_ONCE),
            ).fetchall()
            connection.executemany(_DELETE, keys)
        return len(keys) == bounds.SWEPT_AT_ONCE

    def close(self) -> None:
        """Close all connections; see `Measurements.close`."""
        self._connections.close()
