"""Frequencies of joins of columns and tables: counted by day, shown as sums of a month.

A join is of both of its sides: what is reported of one table is shown of the other too. Each side
has a point a day for what it is joined with, so that the same report again changes nothing.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from datetime import date, timedelta
from typing import Annotated

import msgspec
from msgspec import Meta

from domain.errors import InvalidInput
from domain.kinds import names
from domain.kinds.bodies.columns import MAX_PART_FQN
from domain.kinds.bodies.components import Part
from domain.measurements.reports import JOIN, MAX_COUNT, Count, Point, moment_of

DAYS = 30
"""Days that shown joins cover, today included, and the greatest age of a report."""
MAX_JOINS = 1_000
"""Joins of one report."""

Name = Annotated[str, Meta(min_length=1, max_length=MAX_PART_FQN)]


class JoinedWith(Part, kw_only=True):
    """A column or table at the other side of joins, and how many joins there were."""

    fully_qualified_name: Name
    join_count: Count


class ColumnJoins(Part, kw_only=True):
    """The joins of a column of a table."""

    column_name: Name
    joined_with: list[JoinedWith] | None = None


class TableJoins(Part, kw_only=True):
    """The joins of a table and its columns on a day, or over the days that are shown."""

    start_date: date
    day_count: int = msgspec.field(default_factory=lambda: 1)
    column_joins: list[ColumnJoins] | None = None
    direct_table_joins: list[JoinedWith] | None = None


class JoinPoint(Part, kw_only=True):
    """The joins of a day of one column, or of a whole table, with another."""

    column_name: str | None = None
    fully_qualified_name: str
    join_count: Count


class Side(msgspec.Struct, frozen=True):
    """A column, or a table without a column, that is joined."""

    table_id: str
    fqn: str
    """Its qualified name."""
    column: str | None = None
    """The name of the column below the table."""


Named = Callable[[str, bool], Side]
"""Finds the column (True), or the table, with a qualified name; raises errors of the catalog."""


def joined_points(
    report: TableJoins, table: Side, named: Named, today: date
) -> dict[str, list[Point]]:
    """Table id -> the points of a report about a table, and of the tables on the other sides.

    Joins of one pair are added up where the report has it several times: OpenMetadata's client
    writes a column once for each spelling in queries. Raises InvalidInput for a report of several
    days, of a day that is too old or in the future, or with too many joins, and the errors of
    `named`.
    """
    if report.day_count != 1:
        raise InvalidInput("dayCount must be 1: report each day by itself")
    if not today - timedelta(days=DAYS) <= report.start_date <= today + timedelta(days=1):
        raise InvalidInput(f"startDate must be of the last {DAYS} days, got {report.start_date}")
    at = moment_of(report.start_date)
    counts: Counter[tuple[Side, Side]] = Counter()
    for here, there, count in _pairs(report, table, named):
        counts[here, there] += count
        if counts[here, there] > MAX_COUNT:
            raise InvalidInput(f"a pair may have {MAX_COUNT} joins a day")
    points: defaultdict[str, list[Point]] = defaultdict(list)
    for (here, there), count in counts.items():
        # Columns of one table may be told from both sides.
        most = max(count, counts.get((there, here), 0))
        for one, other in ((here, there), (there, here)):
            body = msgspec.json.encode(
                JoinPoint(column_name=one.column, fully_qualified_name=other.fqn, join_count=most)
            )
            points[one.table_id].append(Point(JOIN, f"{one.column or ''}\n{other.fqn}", at, body))
    return points


def _pairs(report: TableJoins, table: Side, named: Named) -> Iterator[tuple[Side, Side, int]]:
    number = 0
    columns = [(each.column_name, each.joined_with or ()) for each in report.column_joins or ()]
    for column, joined in (*columns, (None, report.direct_table_joins or ())):
        here = table if column is None else named(names.child(table.fqn, column), True)
        for each in joined:
            number += 1
            if number > MAX_JOINS:
                raise InvalidInput(f"a report may have {MAX_JOINS} joins")
            there = named(each.fully_qualified_name, column is not None)
            yield here, there, each.join_count


def first_day(today: date) -> date:
    """The first of the days whose joins are shown; the last is `today`."""
    return today - timedelta(days=DAYS - 1)


def summed(bodies: Iterable[bytes], today: date) -> TableJoins:
    """The sums of a table's points, the most frequent joins first."""
    counts: defaultdict[str | None, Counter[str]] = defaultdict(Counter)
    for body in bodies:
        point = msgspec.json.decode(body, type=JoinPoint)
        counts[point.column_name][point.fully_qualified_name] += point.join_count
    direct = counts.pop(None, Counter())
    return TableJoins(
        start_date=first_day(today),
        day_count=DAYS,
        column_joins=[
            ColumnJoins(column_name=name or "", joined_with=_ranked(counts[name]))
            for name in sorted(counts, key=str)
        ],
        direct_table_joins=_ranked(direct),
    )


def _ranked(counts: Counter[str]) -> list[JoinedWith]:
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [JoinedWith(fully_qualified_name=name, join_count=count) for name, count in ranked]
