"""Topics, pipelines, containers, search indexes, APIs and dashboards."""

from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Any, Literal

from msgspec import Meta, field

from domain.kinds.bodies.base import Asset
from domain.kinds.bodies.columns import Column, IndexField, NamedPart, SchemaField, name_parts
from domain.kinds.bodies.components import (
    MAX_INTEGER,
    UNKEPT,
    Integer,
    NestedReference,
    Part,
    Ref,
    Reference,
    Url,
    UsageSummary,
    refers_to,
    to_people,
)
from domain.kinds.bodies.enumerations import (
    ChartType,
    ContainerFileFormat,
    DashboardDataModelType,
    RequestMethod,
    SchemaType,
)
from domain.kinds.names import child, join, split


class MessageSchema(Part, kw_only=True):
    """The form of a topic's messages."""

    schema_type: SchemaType | None = None
    schema_text: str | None = None
    schema_fields: list[SchemaField] | None = None


class Topic(Asset, kw_only=True):
    """A stream of messages."""

    parts = ("messageSchema.schemaFields",)

    service: Annotated[Ref, refers_to("messagingService")]
    partitions: Annotated[int, Meta(ge=1, le=MAX_INTEGER)]
    message_schema: MessageSchema | None = None
    cleanup_policies: list[Literal["delete", "compact"]] | None = None
    replication_factor: Integer | None = None
    retention_time: float | None = None
    retention_size: float | None = None
    maximum_message_size: Integer | None = None
    minimum_in_sync_replicas: Integer | None = None
    topic_config: dict[str, Any] | None = None
    source_url: str | None = None


class Task(NamedPart, kw_only=True):
    """One step of a pipeline."""

    noun = "task"

    display_name: str | None = None
    source_url: str | None = None
    downstream_tasks: list[str] | None = None
    task_type: str | None = None
    task_sql: str | None = field(default=None, name="taskSQL")
    start_date: str | None = None
    end_date: str | None = None
    owners: list[Reference] | None = None


class Pipeline(Asset, kw_only=True):
    """Tasks that run one after another."""

    parts = ("tasks",)

    service: Annotated[Ref, refers_to("pipelineService")]
    tasks: list[Task] | None = None
    concurrency: Integer | None = None
    pipeline_location: str | None = None
    start_date: datetime | None = None
    schedule_interval: str | None = None
    state: Literal["Active", "Inactive"] | None = None
    source_url: str | None = None
    usage_summary: UsageSummary | None = None

    def nested_references(self) -> Iterator[NestedReference]:
        """Also the owners of the tasks."""
        yield from super().nested_references()
        for task in self.tasks or ():
            yield from to_people(task.owners)


class ContainerDataModel(Part, kw_only=True):
    """The columns of the files in a container."""

    columns: list[Column]
    is_partitioned: bool | None = None


class Container(Asset, kw_only=True):
    """A bucket of files, or a folder in one."""

    parts = ("dataModel.columns",)

    service: Annotated[Ref | None, refers_to("storageService")] = None
    parent: Annotated[Ref | None, refers_to("container")] = None
    data_model: ContainerDataModel | None = None
    prefix: str | None = None
    full_path: str | None = None
    number_of_objects: float | None = None
    size: float | None = None
    file_formats: list[ContainerFileFormat] | None = None
    source_url: str | None = None


class SearchIndex(Asset, kw_only=True):
    """An index of a search engine."""

    parts = ("fields",)

    service: Annotated[Ref, refers_to("searchService")]
    fields: list[IndexField] | None = None
    index_type: Literal["Index", "IndexTemplate"] | None = None
    search_index_settings: dict[str, Any] | None = None


class ApiCollection(Asset, kw_only=True):
    """Endpoints of an API that belong together, as under one tag of an OpenAPI document."""

    service: Annotated[Ref, refers_to("apiService")]
    endpoint_url: Url | None = field(default=None, name="endpointURL")
    api_endpoints: Annotated[list[Ref] | None, refers_to("apiEndpoint")] = None


class ApiSchema(Part, kw_only=True):
    """The form of the bodies that an endpoint takes, or of those that it answers with."""

    schema_type: SchemaType | None = None
    schema_fields: list[SchemaField] | None = None


class ApiEndpoint(Asset, kw_only=True):
    """An operation of an API.

    Requests of OpenMetadata's client may name a `sourceUrl`, which the client refuses in answers.
    """

    parts = ("requestSchema.schemaFields", "responseSchema.schemaFields")

    api_collection: Annotated[Ref, refers_to("apiCollection")]
    service: Annotated[Ref | None, refers_to("apiService")] = None
    endpoint_url: Url | None = field(default=None, name="endpointURL")
    request_method: RequestMethod | None = None
    request_schema: ApiSchema | None = None
    response_schema: ApiSchema | None = None
    source_url: Annotated[str | None, UNKEPT] = None

    def name_parts(self, fqn: str) -> None:
        """Give the fields qualified names below the key of the schema that they are in."""
        for schema, fields in self.part_lists():
            key = "requestSchema" if schema is self.request_schema else "responseSchema"
            name_parts(fields, child(fqn, key))


DATA_MODELS = "model"
"""Part of a data model's qualified name, between the service's and its own."""


class Chart(Asset, kw_only=True):
    """Data as a picture, to be put on dashboards."""

    service: Annotated[Ref, refers_to("dashboardService")]
    chart_type: ChartType | None = None
    dashboards: Annotated[list[Ref] | None, refers_to("dashboard")] = None
    source_url: str | None = None
    usage_summary: UsageSummary | None = None


class DashboardDataModel(Asset, kw_only=True):
    """Columns that a dashboard service makes for its charts out of tables."""

    parts = ("columns",)

    service: Annotated[Ref, refers_to("dashboardService")]
    data_model_type: DashboardDataModelType
    columns: list[Column] | None = None
    sql: str | None = None
    project: str | None = None
    source_url: str | None = None


class Dashboard(Asset, kw_only=True):
    """A page of charts.

    Charts and data models may be named that nobody has written here, as whoever fills the catalog
    may leave them out.
    """

    service: Annotated[Ref, refers_to("dashboardService")]
    dashboard_type: Literal["Dashboard", "Report"] | None = None
    project: str | None = None
    charts: Annotated[list[Ref] | None, refers_to("chart", or_outside=True)] = None
    data_models: Annotated[list[Ref] | None, refers_to("dashboardDataModel", or_outside=True)] = (
        None
    )
    source_url: str | None = None
    usage_summary: UsageSummary | None = None

    def name_references(self, fqn: str) -> None:
        """Charts and data models that are given by name are those of the dashboard's service."""
        service = join(split(fqn)[:-1])
        _name(self.charts, service)
        _name(self.data_models, child(service, DATA_MODELS))


def _name(references: list[Ref] | None, parent: str) -> None:
    """Give references by a bare name the qualified names that they have below a parent."""
    for one in references or ():
        if isinstance(one, Reference) and one.name and not one.fully_qualified_name:
            one.fully_qualified_name = child(parent, one.name)
