"""Sums over measurements of many entities, computed by PostgreSQL.

Numbers are summed as decimals, without errors of rounding and in any order.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal

import msgspec
from psycopg.errors import QueryCanceled

from domain.errors import StoreUnavailable
from domain.event_store.postgres.link import Link
from domain.measurements.bounds import MOST_QUERIES, SUM_SECONDS
from domain.measurements.costs import MAX_COST, MAX_DURATION, MAX_RUNS, CostSums
from domain.measurements.reports import COST, DAY_MS, USAGE
from domain.measurements.usage import UseSums

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


def use_sums(link: Link, kind_key: bytes, day: int) -> list[UseSums]:
    """The entities of a kind that were used on a day; see `Measurements.rank_usage`.

    Raises StoreUnavailable when it takes too long, and psycopg.Error.
    """
    with _in_time(link):
        rows = link.rows(_USED, day, day - 7 * DAY_MS, kind_key, day - 30 * DAY_MS, day)
    return [UseSums(*row) for row in rows]


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
