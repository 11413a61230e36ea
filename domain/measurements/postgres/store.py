"""Measurements in tables beside those of the log, shared by all hosts.

A change is one statement, whose commit is visible before it is on disk: so those who write one
after the other wait for the disk together. It is acknowledged once it is there.
"""

from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from hashlib import blake2b
from typing import TypeVar

import psycopg

from domain.event_store.postgres.address import read_address
from domain.event_store.postgres.clock import ClockGuard
from domain.event_store.postgres.connections import Connections, unavailable
from domain.event_store.postgres.link import Link
from domain.measurements import bounds as limits
from domain.measurements.bounds import Bounds, Key, entity_full, most_points
from domain.measurements.costs import CostSums
from domain.measurements.port import Measurements, Page
from domain.measurements.postgres.sums import numbers_of, query_costs, use_sums
from domain.measurements.reports import Point
from domain.measurements.usage import UseSums

T = TypeVar("T")

_WHAT = "the store of measurements"
_POOL_SIZE = 4
"""Connections for measurements that a process has at most, beside those of the log."""
_WRITE = f"CALL write_measurements_2({', '.join(['%b'] * 13)}, NULL)"
_DELETE = "SELECT delete_measurements_2(%b, %b, %b)"
_SWEEP = "SELECT sweep_measurements_2(%b, %b, %b)"
_NEWEST = """
SELECT newest.part, newest.body
FROM (SELECT DISTINCT part_key FROM measurements WHERE entity = %b AND series = %b) parts
CROSS JOIN LATERAL (SELECT part, body FROM measurements m
    WHERE m.entity = %b AND m.series = %b AND m.part_key = parts.part_key
    ORDER BY m.at DESC LIMIT 1) newest
"""
_LATEST = (
    "SELECT body FROM measurements WHERE entity = %b AND series = %b AND part_key = %b"
    " ORDER BY at DESC LIMIT 1"
)
_OF_SERIES = "FROM measurements WHERE entity = %b AND series = %b AND at BETWEEN %b AND %b"
_OF_PART = f"{_OF_SERIES} AND part_key = %b"
_PAGE = """
SELECT at, body, (SELECT count(*) {0}) FROM (
    SELECT at, body, part, sum(length(body)) OVER (
        ORDER BY at DESC GROUPS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS newer_bytes
    FROM (SELECT at, body, part {0} ORDER BY at DESC FETCH FIRST (%b) ROWS WITH TIES) newest
) points WHERE coalesce(newer_bytes, 0) < %b ORDER BY at DESC, part
"""
"""A point is on the page unless the newer ones, without those of its own time, fill it."""


def _part_key(part: str) -> bytes:
    """The key of a part in the tables."""
    return blake2b(_utf8(part), digest_size=16).digest()


def _utf8(part: str) -> bytes:
    return part.encode("utf-8", "surrogatepass")


def _column(numbers: Iterable[Decimal | None]) -> list[Decimal | None] | None:
    """A column of numbers; null where it has none, because the type of such a list is unknown."""
    column = [*numbers]
    return column if any(number is not None for number in column) else None


class PostgresMeasurements(Measurements):
    """The port on a database; nothing is connected to before it is used."""

    def __init__(self, connections: Connections, bounds: Bounds) -> None:
        super().__init__(bounds)
        self._connections = connections
        self._clock = ClockGuard()

    def write_all(self, points: Mapping[str, Iterable[Point]], now: int) -> None:
        """Store points of entities by one statement; see `Measurements.write_all`."""
        bodies = self._bounds.checked(points, now)
        self._change(lambda link: self._store(link, bodies))

    def newest(self, entity_id: str, series: str) -> dict[str, bytes]:
        """Read the bodies of the newest points alone; see `Measurements.newest`."""
        rows = self._connections.ask(
            lambda link: link.rows(_NEWEST, entity_id, series, entity_id, series)
        )
        return {part.decode("utf-8", "surrogatepass"): body for part, body in rows}

    def latest(self, entity_id: str, series: str) -> bytes | None:
        """Read the end of a range of the index; see `Measurements.latest`."""
        row = self._connections.ask(
            lambda link: link.one(_LATEST, entity_id, series, _part_key(""))
        )
        return None if row is None else bytes(row[0])

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
        """Read no bodies but those of the page; see `Measurements.page`."""
        sought, keys = (_OF_SERIES, []) if part is None else (_OF_PART, [_part_key(part)])
        last = until if before is None else min(until, before - 1)

        def read(link: Link) -> Page:
            of = [entity_id, series, since]
            (total,) = link.one(f"SELECT count(*) {sought}", *of, until, *keys)
            left = [*of, last, *keys]
            rows = link.rows(_PAGE.format(sought), *left, *left, limit, most_bytes)
            more = bool(rows) and rows[0][2] > len(rows)
            return Page(total, [(at, body) for at, body, _ in rows], more=more)

        return self._connections.ask(read)

    def delete(self, entity_id: str, series: str, at: int | None = None) -> int:
        """Delete by one statement; see `Measurements.delete`."""
        return self._change(lambda link: int(link.one(_DELETE, entity_id, series, at)[0]))

    def _used(self, kind: str, day: int) -> list[UseSums]:
        return self._connections.ask(lambda link: use_sums(link, _part_key(kind), day))

    def query_costs(self, service_id: str) -> list[CostSums]:
        """Sum up by one statement; see `Measurements.query_costs`."""
        return self._connections.ask(lambda link: query_costs(link, _part_key(service_id)))

    def entities(self) -> list[str]:
        """Read the sizes; see `Measurements.entities`."""
        statement = "SELECT entity FROM measurement_sizes WHERE entity <> ''"
        rows = self._connections.ask(lambda link: link.rows(statement))
        return [entity_id for (entity_id,) in rows]

    def newest_time(self) -> int:
        """Read the end of an index; see `Measurements.newest_time`."""
        statement = "SELECT coalesce(max(at), 0) FROM measurements"
        return int(self._connections.ask(lambda link: link.one(statement))[0])

    def close(self) -> None:
        """Close the pool; see `Measurements.close`."""
        self._connections.close()

    def _store(self, link: Link, bodies: Mapping[str, Mapping[Key, bytes]]) -> None:
        """Store the points of entities; raises the errors of the bounds, and psycopg.Error."""
        points = [
            (entity_id, *key, body)
            for entity_id, of_entity in bodies.items()
            for key, body in of_entity.items()
        ]
        if not points:
            return
        entities, series, parts, times, given = zip(*points, strict=True)
        numbers = [numbers_of(of, body) for _, of, _, _, body in points]
        (refusal,) = link.one(
            _WRITE,
            [*entities],
            [*series],
            [_part_key(part) for part in parts],
            [*times],
            [_utf8(part) for part in parts],
            [*given],
            [len(body) + len(part) + limits.OVERHEAD for _, _, part, _, body in points],
            _column(each.count for each in numbers),
            _column(each.cost for each in numbers),
            _column(each.duration for each in numbers),
            [most_points(of) for of in series],
            limits.ENTITY_BYTES,
            self._bounds.most_bytes,
        )
        if refusal == "entity":
            raise entity_full()
        if refusal == "all":
            raise self._bounds.all_full()

    def _sweep(self, entity_id: str | None, until: int | None) -> bool:
        most = limits.SWEPT_AT_ONCE
        return self._change(lambda link: bool(link.one(_SWEEP, entity_id, until, most) == (most,)))

    def _change(self, work: Callable[[Link], T]) -> T:
        """The result of work that changes points, once it is on disk.

        A host whose clock is wrong would write to times that are not, and delete too early: it
        changes nothing. Raises StoreUnavailable, also for psycopg's errors, and what `work` does.
        """
        with self._connections.use() as link:
            try:
                self._clock.check(link)
                result = work(link)
                link.sync()
            except psycopg.Error as error:
                raise unavailable(error, what=_WHAT) from error
        return result


def open_postgres_measurements(url: str, bounds: Bounds) -> PostgresMeasurements:
    """The measurements beside the log at a URL; raises InvalidInput for a malformed URL."""
    address = read_address(url, writable=True)
    connections = Connections(address, what=_WHAT, size=_POOL_SIZE)
    connections.open()
    return PostgresMeasurements(connections, bounds)
