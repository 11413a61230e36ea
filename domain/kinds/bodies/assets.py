"""Topics, pipelines, containers and search indexes."""

from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Any, Literal

from msgspec import Meta, field

from domain.kinds.bodies.base import Asset
from domain.kinds.bodies.columns import Column, IndexField, NamedPart, SchemaField
from domain.kinds.bodies.components import (
    MAX_INTEGER,
    Integer,
    NestedReference,
    Part,
    Ref,
    Reference,
    UsageSummary,
    refers_to,
    to_people,
)
from domain.kinds.bodies.enumerations import ContainerFileFormat, SchemaType


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
