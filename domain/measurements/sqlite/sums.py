"""Sums over measurements of many entities: ranks of use, and costs of a service's queries.

The SQL reads the points of one part of a series, whichever entity they are of.
"""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager

from domain.errors import StoreUnavailable
from domain.measurements.bounds import MOST_QUERIES, RANKED_AT_ONCE, SUM_SECONDS
from domain.measurements.costs import MAX_COST, MAX_DURATION, MAX_RUNS, CostSums
from domain.measurements.reports import COST, DAY_MS, USAGE, Point, UsageRanks

_STEPS = 100_000
"""Instructions of SQLite between two looks at the clock."""
SUMMED_INDEX = f"""
CREATE INDEX IF NOT EXISTS points_summed ON points (series, part, at)
    WHERE series IN ('{USAGE}', '{COST}');
"""
_count = "json_extract(CAST(body AS TEXT), '$.count')"


def _bounded(key: str, most: float) -> str:
    """The SQL of a number in a record of costs: records from before the bounds may exceed them."""
    return f"min(max(coalesce(json_extract(CAST(body AS TEXT), '$.{key}'), 0), 0), {most!r})"


_cost, _runs = _bounded("cost", MAX_COST), _bounded("count", MAX_RUNS)
_duration = _bounded("totalDuration", MAX_DURATION)


def _share(of: str) -> str:
    """The SQL of the share of rows that have less of something, in percent to two places.

    It is rounded as an integer, so that each home of the measurements has the same.
    """
    less = f"rank() OVER (ORDER BY {of}) - 1"
    return f"(20000 * ({less}) + count(*) OVER ()) / (2 * count(*) OVER ()) / 100.0"


_RANKS = f"""
CREATE TEMP TABLE ranks AS WITH used AS (
    SELECT entity, sum(CASE WHEN at = :day THEN {_count} END) AS daily,
        sum(CASE WHEN at > :week THEN {_count} END) AS weekly, sum({_count}) AS monthly
    FROM points WHERE series = '{USAGE}' AND part = :kind AND at > :month AND at <= :day
    GROUP BY entity HAVING daily IS NOT NULL
)
SELECT entity,
    {_share("daily")} AS daily,
    {_share("weekly")} AS weekly,
    {_share("monthly")} AS monthly
FROM used
"""
_SUMS = f"total({_cost} * {_runs}), total({_runs}), total({_duration}), min({_cost}), max({_cost})"
_OF_SERVICE = f"FROM points WHERE series = '{COST}' AND part = ?"


def usage_ranks(
    connection: sqlite3.Connection, kind: str, day: int
) -> Iterator[dict[str, list[Point]]]:
    """Entity id -> the point with its ranks on a day, for those of a kind that were used, in parts.

    A rank is the share of them that were used less, in percent. Raises StoreUnavailable when it
    takes too long.
    """
    connection.execute("DROP TABLE IF EXISTS temp.ranks")
    with _in_time(connection):
        values = {"kind": kind, "day": day, "week": day - 7 * DAY_MS, "month": day - 30 * DAY_MS}
        connection.execute(_RANKS, values)
    try:
        ended = time.monotonic() + SUM_SECONDS
        last = 0
        while rows := connection.execute(
            "SELECT rowid, * FROM temp.ranks WHERE rowid > ? ORDER BY rowid LIMIT ?",
            (last, RANKED_AT_ONCE),
        ).fetchall():
            if time.monotonic() > ended:
                raise StoreUnavailable(f"storing the ranks took more than {SUM_SECONDS:g} s")
            last = rows[-1][0]
            yield {
                entity: [UsageRanks(daily=daily, weekly=weekly, monthly=monthly).point(day)]
                for _, entity, daily, weekly, monthly in rows
            }
    finally:
        connection.execute("DROP TABLE temp.ranks")


def query_costs(connection: sqlite3.Connection, service_id: str) -> list[CostSums]:
    """The costs of all queries of a service, then those of the dearest ones, one by one."""
    with _in_time(connection):
        whole = connection.execute(f"SELECT {_SUMS} {_OF_SERVICE}", (service_id,)).fetchone()
        if whole[3] is None:
            return []
        queries = connection.execute(
            f"SELECT entity, {_SUMS} {_OF_SERVICE} GROUP BY entity ORDER BY 2 DESC, 1"
            f" LIMIT {MOST_QUERIES}",
            (service_id,),
        )
        return [CostSums("", *whole), *(CostSums(*row) for row in queries)]


@contextmanager
def _in_time(connection: sqlite3.Connection) -> Iterator[None]:
    """Have what SQLite does in a block end after SUM_SECONDS, with StoreUnavailable."""
    ended = time.monotonic() + SUM_SECONDS
    connection.set_progress_handler(lambda: time.monotonic() > ended, _STEPS)
    try:
        yield
    except sqlite3.OperationalError:
        if time.monotonic() > ended:
            raise StoreUnavailable(f"the sums took more than {SUM_SECONDS:g} s") from None
        raise
    finally:
        connection.set_progress_handler(None, 0)
