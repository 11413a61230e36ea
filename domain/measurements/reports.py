"""Reports of profilers and test runs, and the points of time series that they become.

A point belongs to an entity by its id, to a series, and within the series to a part: a column, an
operation, or nothing. Points are kept as the JSON in which they are shown.
"""

from collections.abc import Iterator
from datetime import UTC, date, datetime
from typing import Annotated, Any, Literal
from uuid import UUID, uuid5

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from domain.errors import InvalidInput
from domain.kinds.bodies.components import Integer, Part
from domain.kinds.names import split

FOREVER = 2**53 - 1
"""The last moment that a time of a measurement may be, in milliseconds since 1970."""
Timestamp = Annotated[int, Meta(ge=1, le=FOREVER)]
"""Milliseconds since 1970."""
MAX_COUNT = 2**53 - 1
Count = Annotated[int, Meta(ge=0, le=MAX_COUNT)]
DAY_MS = 86_400_000
MAX_COLUMNS = 20_000
"""Columns, of profiles and of samples, in one report."""
MAX_ROWS = 10_000
"""Rows, or messages, of a sample."""

TABLE, COLUMN, SYSTEM, SAMPLE = "table", "column", "system", "sample"
USAGE, RANK, JOIN, COST, RESULT = "usage", "rank", "join", "cost", "result"
TESTED, MANIFEST = "tested", "dbtManifest"
"""The names of the series."""


class Point(msgspec.Struct, frozen=True):
    """One measurement, as the store keeps it."""

    series: str
    part: str
    at: int
    """Milliseconds since 1970."""
    body: bytes
    """JSON."""


class MetricValue(Part, kw_only=True):
    """The value of a metric that an organisation defined."""

    name: str | None = None
    value: float | None = None


class TableProfile(Part, kw_only=True):
    """A table as a profiler found it at a time."""

    timestamp: Timestamp
    column_count: float | None = None
    row_count: float | None = None
    size_in_byte: float | None = None
    create_date_time: datetime | None = None
    custom_metrics: list[MetricValue] | None = None
    profile_sample: float | None = None
    profile_sample_type: Literal["PERCENTAGE", "ROWS"] | None = None


class Histogram(Part, kw_only=True):
    """The distribution of a column's values."""

    boundaries: list[Any] | None = None
    frequencies: list[Any] | None = None


class CardinalityDistribution(Part, kw_only=True):
    """The frequencies of a column's most frequent values."""

    categories: list[str] | None = None
    counts: list[Integer] | None = None
    percentages: list[float] | None = None
    all_values_unique: bool | None = None


class ColumnProfile(Part, kw_only=True):
    """A column as a profiler found it at a time."""

    name: Annotated[str, Meta(min_length=1, max_length=3_072)]
    timestamp: Timestamp
    values_count: float | None = None
    values_percentage: float | None = None
    valid_count: float | None = None
    duplicate_count: float | None = None
    null_count: float | None = None
    null_proportion: float | None = None
    missing_percentage: float | None = None
    missing_count: float | None = None
    unique_count: float | None = None
    unique_proportion: float | None = None
    distinct_count: float | None = None
    distinct_proportion: float | None = None
    min: float | str | None = None
    max: float | str | None = None
    min_length: float | None = None
    max_length: float | None = None
    mean: float | None = None
    sum: float | None = None
    stddev: float | None = None
    variance: float | None = None
    median: float | None = None
    first_quartile: float | None = None
    third_quartile: float | None = None
    inter_quartile_range: float | None = None
    non_parametric_skew: float | None = None
    histogram: Histogram | None = None
    custom_metrics: list[MetricValue] | None = None
    cardinality_distribution: CardinalityDistribution | None = None


class SystemProfile(Part, kw_only=True):
    """An operation that changed rows of a table, as the database recorded it."""

    timestamp: Timestamp
    operation: Literal["UPDATE", "INSERT", "DELETE", "WRITE"] | None = None
    rows_affected: Integer | None = None

    def points(self) -> Iterator[Point]:
        """The only point of the operation."""
        yield Point(SYSTEM, self.operation or "", self.timestamp, msgspec.json.encode(self))


class TableProfileReport(Part, kw_only=True):
    """The report of a run of a profiler on a table."""

    table_profile: TableProfile
    column_profile: Annotated[list[ColumnProfile], Meta(max_length=MAX_COLUMNS)] | None = None
    system_profile: Annotated[list[SystemProfile], Meta(max_length=MAX_COLUMNS)] | None = None

    def points(self) -> Iterator[Point]:
        """The points of the table, its columns and the operations on it."""
        profile = self.table_profile
        yield Point(TABLE, "", profile.timestamp, msgspec.json.encode(profile))
        for column in self.column_profile or ():
            part = column_part(column.name)
            yield Point(COLUMN, part, column.timestamp, msgspec.json.encode(column))
        for system in self.system_profile or ():
            yield from system.points()


class TableSample(Part, kw_only=True):
    """Rows of a table, under the names of columns."""

    columns: Annotated[list[str], Meta(max_length=MAX_COLUMNS)]
    rows: Annotated[list[list[Any]], Meta(max_length=MAX_ROWS)]

    def points(self, now: int) -> Iterator[Point]:
        """The only point of the sample; raises InvalidInput for a row of another length."""
        for number, row in enumerate(self.rows, 1):
            if len(row) != len(self.columns):
                raise InvalidInput(
                    f"rows: row {number} has {len(row)} values for {len(self.columns)} columns"
                )
        yield Point(SAMPLE, "", now, msgspec.json.encode(self))


class TopicSample(Part, kw_only=True):
    """Messages of a topic, as texts."""

    messages: Annotated[list[str], Meta(max_length=MAX_ROWS)]

    def points(self, now: int) -> Iterator[Point]:
        """The only point of the sample."""
        yield Point(SAMPLE, "", now, msgspec.json.encode(self))


class DailyUse(Part, kw_only=True):
    """The number of uses of an entity on a day."""

    date: date
    count: Count

    def points(self, kind: str) -> Iterator[Point]:
        """The point of the day, of an entity of a kind, by which entities are ranked."""
        yield Point(USAGE, kind, moment_of(self.date), msgspec.json.encode(self))


class UsageRanks(Part, kw_only=True):
    """The percentage of its kind that an entity was used more than, in the days up to one."""

    daily: float
    weekly: float
    monthly: float

    def point(self, at: int) -> Point:
        """The point of the day that begins at a time."""
        return Point(RANK, "", at, msgspec.json.encode(self))


def moment_of(day: date) -> int:
    """The beginning of a day, in milliseconds since 1970 (UTC)."""
    return int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()) * 1_000


def column_part(name: str) -> str:
    """The name of a column, or of one inside it, without the quotes of qualified names."""
    try:
        return ".".join(split(name))
    except InvalidInput:
        return name  # a column may be named in ways that no qualified name is spelled


class ResultValue(Part, kw_only=True):
    """A number that a test computed."""

    name: str | None = None
    value: str | None = None
    predicted_value: str | None = None


class TestResult(Part, kw_only=True):
    """The result of a run of a test.

    OpenMetadata's client also sends keys that the server knows (`id`, `testCaseFQN`, references,
    incidents): they may be there, and are empty or set here.
    """

    timestamp: Timestamp
    test_case_status: Literal["Success", "Failed", "Aborted", "Queued"] | None = None
    result: str | None = None
    sample_data: str | None = None
    test_result_value: list[ResultValue] | None = None
    passed_rows: Integer | None = None
    failed_rows: Integer | None = None
    passed_rows_percentage: float | None = None
    failed_rows_percentage: float | None = None
    max_bound: float | None = None
    min_bound: float | None = None
    id: str | None = None
    test_case_fqn: str | None = msgspec.field(default=None, name="testCaseFQN")
    incident_id: None = None
    test_case: None = None
    test_definition: None = None
    dimension_results: list[dict[str, Any]] | None = None

    def of(self, entity_id: str, fqn: str) -> "TestResult":
        """The result as it is kept of a test; its id follows from the test and the time.

        Raises InvalidInput where it says that it is of another test.
        """
        if self.test_case_fqn not in (None, fqn):
            raise InvalidInput(f"testCaseFQN is not that of the path, {fqn!r}")
        result_id = str(uuid5(UUID(entity_id), str(self.timestamp)))
        return replace(self, id=result_id, test_case_fqn=fqn)

    def points(self) -> Iterator[Point]:
        """The only point of the result."""
        yield Point(RESULT, "", self.timestamp, msgspec.json.encode(self))
