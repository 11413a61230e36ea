"""Databases, schemas and tables, and the programs that run in them."""

from collections.abc import Iterator
from datetime import datetime
from hashlib import md5
from typing import Annotated, Any, Literal

from msgspec import field

from domain.errors import InvalidInput
from domain.kinds.bodies.base import Asset, Owned, Users
from domain.kinds.bodies.columns import Column
from domain.kinds.bodies.components import (
    UNKEPT,
    UNORDERED,
    Integer,
    NestedReference,
    Part,
    Ref,
    Reference,
    TagLabel,
    UsageSummary,
    Votes,
    refers_to,
    to_people,
)
from domain.kinds.bodies.enumerations import (
    ConstraintType,
    FileFormat,
    PartitionInterval,
    ProgramLanguage,
    RelationshipType,
    StoredProcedureType,
    TableType,
)
from domain.kinds.bodies.profiling import read_profiler_config
from domain.kinds.names import check_name


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
    """Division of a table into partitions."""

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
    table_constraints: Annotated[list[TableConstraint] | None, UNORDERED] = None
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


MAX_OF_QUERY = 10_000
"""The most users, programs or entities that a query may name, each for itself."""
_LISTS = {"users": "users", "used_by": "usedBy", "query_used_in": "queryUsedIn"}
"""Attributes of queries to which every run of the usage workflow adds -> their keys."""


class Program(Part, kw_only=True):
    """The text of a program, and the language that it is written in."""

    language: ProgramLanguage | None = None
    code: str | None = None


class StoredProcedure(Asset, kw_only=True):
    """A procedure or function that is kept in a schema; `code` is its older, plain form."""

    database_schema: Annotated[Ref, refers_to("databaseSchema")]
    database: Annotated[Ref | None, refers_to("database")] = None
    service: Annotated[Ref | None, refers_to("databaseService")] = None
    stored_procedure_code: Program | None = None
    stored_procedure_type: StoredProcedureType | None = None
    code: str | None = None
    processed_lineage: bool | None = None
    source_url: str | None = None


class Query(Owned, kw_only=True):
    """The text of a query that was run in a database service, and what it was run for.

    Without a name it is named by the checksum of its text, as OpenMetadata's client expects, so
    that a text that comes again is the same query. Requests of that client may name a `dialect`,
    which it refuses in answers.
    """

    name: str = ""
    query: str
    service: Annotated[Ref, refers_to("databaseService")]
    query_type: str | None = field(default=None, name="query_type")
    exclude_usage: bool | None = field(default=None, name="exclude_usage")
    duration: float | None = None
    query_date: Integer | None = None
    users: Users = None
    used_by: list[str] | None = None
    query_used_in: Annotated[list[Ref] | None, refers_to()] = None
    triggered_by: Annotated[Ref | None, refers_to()] = None
    processed_lineage: bool | None = None
    checksum: str | None = None
    dialect: Annotated[str | None, UNKEPT] = None
    tags: list[TagLabel] | None = None
    followers: Users = None
    votes: Votes | None = None

    def __post_init__(self) -> None:
        self.checksum = md5(self.query.encode(), usedforsecurity=False).hexdigest()
        self.name = self.name or self.checksum

    def check(self) -> None:
        """Also refuse lists that are too long, and programs without a fit name."""
        for attribute, key in _LISTS.items():
            if len(getattr(self, attribute) or ()) > MAX_OF_QUERY:
                raise InvalidInput(f"{key} of a query may have {MAX_OF_QUERY} elements")
        for place, name in enumerate(self.used_by or ()):
            check_name(name, f"usedBy[{place}]")
            if name != name.strip():
                raise InvalidInput(f"usedBy[{place}] must not begin or end with blanks")
