"""Settings of a profiler for a table, in the words of OpenMetadata's."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from msgspec import Meta

from domain.kinds.bodies.components import Integer, Part
from domain.kinds.bodies.enumerations import PartitionInterval
from domain.kinds.bodies.refused_values import converted

PROFILER_CONFIG = "tableProfilerConfig"
"""Key of a table's body that holds its profiler configuration."""

SampleType = Literal["PERCENTAGE", "ROWS"]
SamplingMethod = Literal["BERNOULLI", "SYSTEM"]
Sample = Annotated[float, Meta(ge=0)]
Natural = Annotated[int, Meta(ge=0, le=2**63 - 1)]


class ProfiledColumn(Part, kw_only=True):
    """A column to profile, and by which metrics."""

    column_name: str | None = None
    metrics: list[str] | None = None


class ProfiledPartitions(Part, kw_only=True):
    """The partitions of a table to profile."""

    enable_partitioning: bool | None = None
    partition_column_name: str | None = None
    partition_interval_type: PartitionInterval | None = None
    partition_interval: Integer | None = None
    partition_interval_unit: Literal["YEAR", "MONTH", "DAY", "HOUR"] | None = None
    partition_values: list[Any] | None = None
    partition_integer_range_start: Integer | None = None
    partition_integer_range_end: Integer | None = None


class Sampling(Part, kw_only=True):
    """The part of a table to read, and the way it is chosen."""

    profile_sample: Sample | None = None
    profile_sample_type: SampleType | None = None
    sampling_method_type: SamplingMethod | None = None


class SampleThreshold(Part, kw_only=True):
    """The part to read of tables from a number of rows on."""

    row_count_threshold: Annotated[int, Meta(ge=1, le=2**63 - 1)]
    profile_sample: Sample
    profile_sample_type: SampleType | None = None
    sampling_method_type: SamplingMethod | None = None


class SampleSizes(Sampling, kw_only=True):
    """The part of a table to read: one size, or sizes by the number of rows."""

    smart_sampling: bool | None = None
    thresholds: list[SampleThreshold] | None = None


class SampleChoice(Part, kw_only=True):
    """The way in which the size of a sample is chosen."""

    sample_config_type: Literal["STATIC", "DYNAMIC"] | None = None
    config: SampleSizes | None = None


class SparkPartitions(Part, kw_only=True):
    """By which column Spark divides a table, and between which bounds."""

    partition_column: str
    lower_bound: str | None = None
    upper_bound: str | None = None


class SparkConfig(Part, kw_only=True):
    """Settings by which Spark reads a large table."""

    partitioning: SparkPartitions | None = None


class ProfilerConfig(Sampling, kw_only=True):
    """All that OpenMetadata's client writes, of its releases from 1.x to 2.0."""

    profile_sample_config: SampleChoice | None = None
    sample_data_count: Natural | None = None
    randomized_sample: bool | None = None
    profile_query: str | None = None
    exclude_columns: list[str] | None = None
    include_columns: list[ProfiledColumn] | None = None
    partitioning: ProfiledPartitions | None = None
    compute_table_metrics: bool | None = None
    compute_column_metrics: bool | None = None
    spark_table_profiler_config: SparkConfig | None = None

    def columns(self) -> Iterator[str]:
        """The names of the columns that are given."""
        yield from self.exclude_columns or ()
        for column in self.include_columns or ():
            if column.column_name is not None:
                yield column.column_name


def read_profiler_config(values: Mapping[str, Any]) -> ProfilerConfig:
    """Read a configuration; raises InvalidInput naming the key that does not fit."""
    return converted(values, ProfilerConfig, PROFILER_CONFIG)
