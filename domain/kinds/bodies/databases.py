"""Databases, schemas and tables."""

from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Any, Literal

from domain.kinds.bodies.base import Asset
from domain.kinds.bodies.columns import Column
from domain.kinds.bodies.components import (
    NestedReference,
    Part,
    Ref,
    Reference,
    TagLabel,
    UsageSummary,
    refers_to,
    to_people,
)
from domain.kinds.bodies.enumerations import (
    ConstraintType,
    FileFormat,
    PartitionInterval,
    RelationshipType,
    TableType,
)
from domain.kinds.bodies.profiling import read_profiler_config


class Database(Asset, kw_only=True):
    """A database of a service."""

    service: Annotated[Ref, refers_to("databaseService")]
    default: bool | None = None
    retention_period: str | None = None
    source_url: str | None = None
    usage_summary: UsageSummary | None = None


class DatabaseSchema(Asset, kw_only=True):
    """A schema of a database."""

    database: Annotated[Ref, refers_to("database")]
    service: Annotated[Ref | None, refers_to("databaseService")] = None
    retention_period: str | None = None
    source_url: str | None = None
    usage_summary: UsageSummary | None = None


class TableConstraint(Part, kw_only=True):
    """A constraint over columns of a table, or between them and those of another."""

    constraint_type: ConstraintType | None = None
    columns: list[str] | None = None
    referred_columns: list[str] | None = None
    relationship_type: RelationshipType | None = None


class PartitionColumn(Part, kw_only=True):
    """A column whose values divide a table."""

    column_name: str | None = None
    interval_type: PartitionInterval | None = None
    interval: str | None = None


class TablePartition(Part, kw_only=True):
    """How a table is divided."""

    columns: list[PartitionColumn] | None = None


class DataModel(Part, kw_only=True):
    """The code that makes a table, such as a dbt model."""

    model_type: Literal["DBT", "DDL"]
    resource_type: str | None = None
    dbt_source_project: str | None = None
    description: str | None = None
    path: str | None = None
    raw_sql: str | None = None
    sql: str | None = None
    upstream: list[str] | None = None
    owners: list[Reference] | None = None
    tags: list[TagLabel] | None = None
    columns: list[Column] | None = None
    generated_at: datetime | None = None


class Table(Asset, kw_only=True):
    """A table with its columns."""

    parts = ("columns",)

    database_schema: Annotated[Ref, refers_to("databaseSchema")]
    database: Annotated[Ref | None, refers_to("database")] = None
    service: Annotated[Ref | None, refers_to("databaseService")] = None
    table_type: TableType | None = None
    columns: list[Column] | None = None
    table_constraints: list[TableConstraint] | None = None
    table_partition: TablePartition | None = None
    table_profiler_config: dict[str, Any] | None = None
    data_model: DataModel | None = None
    schema_definition: str | None = None
    location_path: str | None = None
    processed_lineage: bool | None = None
    aliases: list[str] | None = None
    file_format: FileFormat | None = None
    retention_period: str | None = None
    source_url: str | None = None
    usage_summary: UsageSummary | None = None

    def check(self) -> None:
        """Also refuse a profiler configuration with keys or values that profilers do not know."""
        if self.table_profiler_config is not None:
            read_profiler_config(self.table_profiler_config)

    def nested_references(self) -> Iterator[NestedReference]:
        """Also the owners of the data model."""
        yield from super().nested_references()
        if self.data_model is not None:
            yield from to_people(self.data_model.owners)
