"""Sums over measurements of many entities, computed by PostgreSQL; see `sqlite/sums.py`.

Numbers are summed as decimals, without errors of rounding and in any order.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal

import msgspec
from psycopg.errors import QueryCanceled

from domain.errors import StoreUnavailable
from domain.event_store.postgres.link import Link
from domain.measurements.bounds import MOST_QUERIES, RANKED_AT_ONCE, SUM_SECONDS
from domain.measurements.costs import MAX_COST, MAX_DURATION, MAX_RUNS, CostSums
from domain.measurements.reports import COST, DAY_MS, USAGE, Point, UsageRanks

_ANSWER_SECONDS = 5.0
"""Time after SUM_SECONDS for the server to report that it has stopped."""
IN_TIME = f"SET LOCAL statement_timeout = {SUM_SECONDS * 1_000:.0f}"
"""Has the server give up the statements of a transaction that take longer."""


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


def _share(of: str) -> str:
    """The SQL of the share of rows that have less of something; see `sqlite/sums.py`."""
    less = f"rank() OVER (ORDER BY {of}) - 1"
    share = f"(20000 * ({less}) + count(*) OVER ()) / (2 * count(*) OVER ())"
    return f"({share})::float8 / 100"


_MAKE = """
CREATE TEMP TABLE ranks (
    n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    entity text, daily float8, weekly float8, monthly float8
)
"""
"""Makes a table of the connection: there may be more rows than fit into memory."""
_DROP = "DROP TABLE IF EXISTS pg_temp.ranks"
_RANK = f"""
INSERT INTO pg_temp.ranks (entity, daily, weekly, monthly)
SELECT entity, {_share("daily")}, {_share("weekly")}, {_share("monthly")}
FROM (
    SELECT entity, sum(count) FILTER (WHERE at = %b) AS daily,
        sum(count) FILTER (WHERE at > %b) AS weekly, sum(count) AS monthly
    FROM measurements
    WHERE series = '{USAGE}' AND part_key = %b AND at > %b AND at <= %b GROUP BY entity) used
WHERE daily IS NOT NULL
"""
_RANKED = "SELECT * FROM pg_temp.ranks WHERE n > %b ORDER BY n LIMIT %b"
_COSTS = f"""
SELECT coalesce(entity, ''), round(sum(cost * count), 300)::float8, round(sum(count), 300)::float8,
    round(sum(duration), 300)::float8, min(cost)::float8, max(cost)::float8
FROM measurements WHERE series = '{COST}' AND part_key = %b
GROUP BY GROUPING SETS ((), (entity))
ORDER BY grouping(entity) DESC, sum(cost * count) DESC, entity LIMIT {MOST_QUERIES + 1}
"""
"""Sums are rounded to what a number of the answer can tell from 0."""


def usage_ranks(link: Link, kind_key: bytes, day: int) -> Iterator[dict[str, list[Point]]]:
    """Entity id -> the point with its ranks on a day, for those of a kind that were used, in parts.

    A rank is the share of them that were used less, in percent. Between two parts the connection
    may be used. Raises StoreUnavailable when it takes too long, and psycopg.Error.
    """
    with _in_time(link):
        link.execute(_DROP)
        link.execute(_MAKE)
        link.execute(_RANK.encode(), [day, day - 7 * DAY_MS, kind_key, day - 30 * DAY_MS, day])
    ended = time.monotonic() + SUM_SECONDS
    last = 0
    while rows := link.rows(_RANKED, last, RANKED_AT_ONCE):
        if time.monotonic() > ended:
            raise StoreUnavailable(f"storing the ranks took more than {SUM_SECONDS:g} s")
        last = rows[-1][0]
        yield {
            entity: [UsageRanks(daily=daily, weekly=weekly, monthly=monthly).point(day)]
            for _, entity, daily, weekly, monthly in rows
        }
    link.execute(_DROP)


def query_costs(link: Link, service_key: bytes) -> list[CostSums]:
    """The costs of all queries of a service, then those of the dearest ones, one by one.

    Raises StoreUnavailable when it takes too long, and psycopg.Error.
    """
    with _in_time(link):
        rows = link.rows(_COSTS, service_key)
    return [CostSums(*row) for row in rows if row[4] is not None]


@contextmanager
def _in_time(link: Link) -> Iterator[None]:
    """A transaction whose statements end after SUM_SECONDS, with StoreUnavailable."""
    link.answers_within = SUM_SECONDS + _ANSWER_SECONDS
    try:
        with link.transaction():
            link.execute(IN_TIME.encode())
            yield
    except QueryCanceled:
        raise StoreUnavailable(f"the sums took more than {SUM_SECONDS:g} s") from None
