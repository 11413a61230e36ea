"""Measurements in tables beside those of the log, shared by all hosts.

A change is one statement, whose commit is visible before it is on disk: so those who write one
after the other wait for the disk together. It is acknowledged once it is there.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from hashlib import blake2b
from typing import Any, TypeVar

import msgspec
from psycopg.errors import QueryCanceled

from domain.errors import StoreUnavailable
from domain.event_store.postgres.address import read_address
from domain.event_store.postgres.clock import ClockGuard
from domain.event_store.postgres.connections import Connections, translated_errors
from domain.event_store.postgres.link import Link, spelled
from domain.measurements.bounds import MOST_QUERIES, OVERHEAD, Bounds, Key
from domain.measurements.costs import MAX_COST, MAX_DURATION, MAX_RUNS, CostSums
from domain.measurements.port import KeptBeside, Measurements, Page, PageRequest
from domain.measurements.reports import COST, DAY_MS, USAGE
from domain.measurements.usage import UseSums

T = TypeVar("T")

_WHAT = "the store of measurements"
_POOL_SIZE = 4
"""Connections for measurements that a process has at most, beside those of the log."""
_ALONE = "SELECT pg_advisory_xact_lock(hashtextextended(current_schema() || '.kept_beside', 0))"
_WRITE = f"CALL write_measurements_2({', '.join(['%b'] * 13)}, NULL)"
_DELETE = "SELECT delete_measurements_2(%b, %b, %b)"
_SWEEP = "SELECT sweep_measurements_2(%b, %b, %b)"
_SETTLE = (
    b"DELETE FROM measurements_written w USING unnest(%b::text[], %b::int8[]) AS s(entity, turn)"
    b" WHERE w.entity = s.entity AND w.turn = s.turn"
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


_ANSWER_SECONDS = 5.0
"""Time after which the server has to report that it has stopped summing up."""


class Numbers(msgspec.Struct, frozen=True):
    """The summed numbers of a point's row; null where the point has no such number."""

    count: Decimal | None = None
    """Number of uses of an entity, or of runs of a query."""
    cost: Decimal | None = None
    """Cost of one run."""
    duration: Decimal | None = msgspec.field(default=None, name="totalDuration")


_NONE = Numbers()


def numbers_of(series: str, body: bytes) -> Numbers:
    """The numbers in the JSON of a point, those of a record of costs bounded.

    They stand beside the JSON, since PostgreSQL reads none with the character 0 in any text.
    """
    if series not in (USAGE, COST):
        return _NONE
    numbers = msgspec.json.decode(body, type=Numbers)
    if series == USAGE:
        return Numbers(count=numbers.count)
    return Numbers(
        _bounded(numbers.count, MAX_RUNS),
        _bounded(numbers.cost, MAX_COST),
        _bounded(numbers.duration, MAX_DURATION),
    )


def _bounded(number: Decimal | None, most: float) -> Decimal:
    return min(max(number or Decimal(), Decimal()), Decimal(most))


_USED = f"""
SELECT entity, daily::int8, weekly::int8, monthly::int8
FROM (
    SELECT entity, sum(count) FILTER (WHERE at = %b) AS daily,
        sum(count) FILTER (WHERE at > %b) AS weekly, sum(count) AS monthly
    FROM measurements
    WHERE series = '{USAGE}' AND part_key = %b AND at > %b AND at <= %b GROUP BY entity) used
WHERE daily IS NOT NULL
"""
_COSTS = f"""
SELECT coalesce(entity, ''), round(sum(cost * count), 300)::float8, round(sum(count), 300)::float8,
    round(sum(duration), 300)::float8, min(cost)::float8, max(cost)::float8
FROM measurements WHERE series = '{COST}' AND part_key = %b
GROUP BY GROUPING SETS ((), (entity))
ORDER BY grouping(entity) DESC, sum(cost * count) DESC, entity LIMIT {MOST_QUERIES + 1}
"""
"""Sums are rounded to what a number of the answer can tell from 0."""


class PostgresMeasurements(Measurements):
    """The port on a database; nothing is connected to before it is used.

    Numbers are summed as decimals, without errors of rounding and in any order.
    """

    select_newest = """
SELECT newest.part, newest.body
FROM (SELECT DISTINCT entity, series, part_key
    FROM measurements WHERE entity = %b AND series = %b) parts
CROSS JOIN LATERAL (SELECT part, body FROM measurements m
    WHERE m.entity = parts.entity AND m.series = parts.series AND m.part_key = parts.part_key
    ORDER BY m.at DESC LIMIT 1) newest
"""
    select_latest = (
        "SELECT body FROM measurements WHERE entity = %b AND series = %b"
        f" AND part_key = '\\x{_part_key('').hex()}' ORDER BY at DESC LIMIT 1"
    )
    select_times = (
        "SELECT at FROM measurements WHERE entity = %b AND series = %b"
        f" AND part_key = '\\x{_part_key('').hex()}' ORDER BY at DESC"
    )
    select_entities = "SELECT entity FROM measurement_sizes WHERE entity <> ''"
    select_newest_time = "SELECT max(at) FROM measurements"

    def __init__(self, connections: Connections, bounds: Bounds) -> None:
        super().__init__(bounds)
        self._connections = connections
        self._clock = ClockGuard()

    def page(self, wanted: PageRequest) -> Page:
        """Read no bodies but those of the page; see `Measurements.page`."""
        part, last = wanted.part, wanted.until
        sought, keys = (_OF_SERIES, []) if part is None else (_OF_PART, [_part_key(part)])
        if wanted.before is not None:
            last = min(last, wanted.before - 1)

        def read(link: Link) -> Page:
            of = [wanted.entity_id, wanted.series, wanted.since]
            (total,) = link.one(f"SELECT count(*) {sought}", *of, wanted.until, *keys)
            left = [*of, last, *keys, *of, last, *keys, wanted.limit, wanted.most_bytes]
            rows = link.rows(_PAGE.format(sought), *left)
            more = bool(rows) and rows[0][2] > len(rows)
            return Page(total, [(at, body) for at, body, _ in rows], more=more)

        return self._connections.ask(read)

    def delete(self, entity_id: str, series: str, at: int | None = None) -> int:
        """Delete by one statement; see `Measurements.delete`."""
        return self._change(lambda link: int(link.one(_DELETE, entity_id, series, at)[0]))

    def settle(self, written: Sequence[tuple[str, int]]) -> None:
        """Forget by one statement; see `Measurements.settle`."""
        entities, turns = zip(*written, strict=True)
        with self._connections.use() as link, translated_errors(_WHAT):
            link.execute(_SETTLE, [[*entities], [*turns]])

    def _used(self, kind: str, day: int) -> list[UseSums]:
        times = day, day - 7 * DAY_MS, _part_key(kind), day - 30 * DAY_MS, day
        return [UseSums(*row) for row in self._sums(_USED, *times)]

    def query_costs(self, service_id: str) -> list[CostSums]:
        """Sum up by one statement; see `Measurements.query_costs`."""
        rows = self._sums(_COSTS, _part_key(service_id))
        return [CostSums(*row) for row in rows if row[4] is not None]

    def _sums(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """The rows of a statement; raises StoreUnavailable where it takes too long."""

        seconds = self._bounds.sum_seconds
        in_time = f"SET LOCAL statement_timeout = {seconds * 1_000:.0f}".encode()

        def read(link: Link) -> list[tuple[Any, ...]]:
            link.answers_within = seconds + _ANSWER_SECONDS
            try:
                with link.transaction():
                    link.execute(in_time)
                    return link.rows(statement, *values)
            except QueryCanceled:
                raise StoreUnavailable(f"the sums took more than {seconds:g} s") from None

        return self._connections.ask(read)

    def _rows(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        return self._connections.ask(lambda link: link.rows(statement, *values))

    def read_beside(self, statement: str, *values: Any) -> list[Any]:
        """Read by one statement; see `Measurements.read_beside`."""
        return self._rows(spelled(statement), *values)

    @contextmanager
    def beside(self) -> Iterator[KeptBeside]:
        """A transaction under a lock of the database; see `Measurements.beside`."""
        with self._connections.use() as link, translated_errors(_WHAT):
            self._clock.check(link)
            with link.transaction():
                link.rows(_ALONE)
                yield _Beside(link)
            link.sync()

    def close(self) -> None:
        """Close the connections; see `Measurements.close`."""
        self._connections.close()

    def _store(self, bodies: Mapping[str, Mapping[Key, bytes]]) -> None:
        self._change(lambda link: self._insert(link, bodies))

    def _insert(self, link: Link, bodies: Mapping[str, Mapping[Key, bytes]]) -> None:
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
            [len(body) + len(part) + OVERHEAD for _, _, part, _, body in points],
            _column(each.count for each in numbers),
            _column(each.cost for each in numbers),
            _column(each.duration for each in numbers),
            [*map(self._bounds.most_of, series)],
            self._bounds.entity_bytes,
            self._bounds.most_bytes,
        )
        if refusal == "entity":
            raise self._bounds.entity_full()
        if refusal == "all":
            raise self._bounds.all_full()

    def _sweep(self, entity_id: str | None, until: int | None) -> bool:
        most = self._bounds.at_once
        return self._change(lambda link: bool(link.one(_SWEEP, entity_id, until, most) == (most,)))

    def _change(self, work: Callable[[Link], T]) -> T:
        """The result of work that changes points, once it is on disk.

        A host whose clock is wrong would write to times that are not, and delete too early: it
        changes nothing. Raises StoreUnavailable, also for psycopg's errors, and what `work` does.
        """
        with self._connections.use() as link, translated_errors(_WHAT):
            self._clock.check(link)
            result = work(link)
            link.sync()
            return result


class _Beside(KeptBeside):
    """The port on a connection in a transaction."""

    def __init__(self, link: Link) -> None:
        self._link = link

    def rows(self, statement: str, *values: Any) -> list[Any]:
        return self._link.rows(spelled(statement), *values)

    def change(self, statement: str, runs: Sequence[Sequence[Any]]) -> None:
        for values in runs:
            self._link.execute(spelled(statement).encode(), values)


def open_postgres_measurements(url: str, bounds: Bounds) -> PostgresMeasurements:
    """The measurements beside the log at a URL; raises InvalidInput for a malformed URL."""
    address = read_address(url, writable=True)
    connections = Connections(address, what=_WHAT, size=_POOL_SIZE)
    return PostgresMeasurements(connections, bounds)
