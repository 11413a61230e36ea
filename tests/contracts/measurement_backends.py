"""The backends of measurements that the suites of the port run over, and what their tables hold."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from benchmarks.postgres_server import PostgresServer, new_schema
from domain.event_store.opening import open_event_log
from domain.measurements.bounds import Bounds
from domain.measurements.opening import measurements_at
from domain.measurements.port import Measurements
from domain.measurements.reports import Point
from domain.measurements.sqlite.store import FILE

Row = tuple[str, str, str, int, bytes]
"""Entity, series, part, time and JSON of a point."""
Tables = Callable[[], tuple[list[tuple[str, int]], list[Row]]]
BOUNDS = Bounds(days=30, most_bytes=1_000_000)


class Backend:
    """One backend, opened anew at each call as another process would; an empty one at first."""

    def __init__(self, directory: Path, database: str | None, tables: Tables) -> None:
        self.directory = directory
        self.database = database
        self._tables = tables
        self._opened: list[Measurements] = []

    def open(self, bounds: Bounds = BOUNDS) -> Measurements:
        self._opened.append(measurements_at(self.directory, self.database, bounds))
        return self._opened[-1]

    def close(self) -> None:
        for each in self._opened:
            each.close()

    def sizes(self) -> tuple[dict[str, int], dict[str, int]]:
        """The sizes that the backend has, and those that follow from its points."""
        kept, rows = self._tables()
        summed: dict[str, int] = {"": 0}
        for entity, _, part, _, body in rows:
            size = len(body) + len(part) + 64
            summed[""] += size
            summed[entity] = summed.get(entity, 0) + size
        return dict(kept), summed

    def points(self) -> dict[str, list[Point]]:
        """Entity -> its points, in order of series, part and time."""
        _, rows = self._tables()
        points: dict[str, list[Point]] = {}
        for entity, *point in sorted(rows):
            points.setdefault(entity, []).append(Point(*point))
        return points


def file_backend(directory: Path) -> Backend:
    """The file of a data directory."""

    def tables() -> tuple[list[tuple[str, int]], list[Row]]:
        with closing(sqlite3.connect(directory / FILE)) as connection:
            kept = connection.execute("SELECT entity, bytes FROM sizes").fetchall()
            points = "SELECT entity, series, part, at, body FROM points"
            return kept, connection.execute(points).fetchall()

    return Backend(directory, None, tables)


def postgres_backend(server: PostgresServer, directory: Path) -> Backend:
    """Tables in a schema of their own."""
    schema = new_schema()
    open_event_log(server.url(schema)).close()

    def tables() -> tuple[list[tuple[str, int]], list[Row]]:
        with server.connect() as connection:
            kept = connection.execute(f"SELECT entity, bytes FROM {schema}.measurement_sizes")
            points = connection.execute(
                f"SELECT entity, series, part, at, body FROM {schema}.measurements"
            )
            rows = [
                (entity, series, part.decode(), *rest) for entity, series, part, *rest in points
            ]
            return kept.fetchall(), rows

    return Backend(directory, server.url(schema), tables)
