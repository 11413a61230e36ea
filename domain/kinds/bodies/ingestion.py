"""Ingestion pipelines: the runs of connectors that are set up for a service."""

from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal

from domain.kinds.bodies.base import Owned, Users
from domain.kinds.bodies.components import Email, Integer, Part, Ref, outside, refers_to
from domain.kinds.bodies.enumerations import Provider
from domain.kinds.bodies.source_configs import without_secrets

IngestionType = Literal[
    "metadata", "usage", "lineage", "profiler", "autoClassification", "TestSuite", "dataInsight",
    "elasticSearchReindex", "dbt", "application", "policyAgent",
]  # fmt: skip


class AirflowConfig(Part, kw_only=True):
    """When and how often a scheduler runs the pipeline; this catalog runs none."""

    pause_pipeline: bool | None = None
    concurrency: Integer | None = None
    start_date: datetime | None = None
    end_date: datetime | None = None
    pipeline_timezone: str | None = None
    retries: Integer | None = None
    retry_delay: Integer | None = None
    pipeline_catchup: bool | None = None
    schedule_interval: str | None = None
    max_active_runs: Integer | None = None
    workflow_timeout: Integer | None = None
    workflow_default_view: str | None = None
    workflow_default_view_orientation: str | None = None
    email: Email | None = None


class IngestionPipeline(Owned, kw_only=True):
    """What a connector does for a service or for the tests of a table.

    Of `sourceConfig` as much is recorded as of the connection of a service, and no secret.
    """

    unsearched: ClassVar[tuple[str, ...]] = ("sourceConfig",)

    service: Annotated[
        Ref,
        refers_to(
            *("databaseService", "messagingService", "dashboardService", "pipelineService"),
            *("mlmodelService", "storageService", "searchService", "apiService", "testSuite"),
        ),
    ]
    pipeline_type: IngestionType
    source_config: dict[str, Any]
    airflow_config: AirflowConfig | None = None
    logger_level: Literal["DEBUG", "INFO", "WARN", "ERROR"] | None = None
    raise_on_error: bool | None = None
    enable_streamable_logs: bool | None = None
    provider: Provider | None = None
    processing_engine: Annotated[Ref | None, outside("processingEngine")] = None
    followers: Users = None

    def complete(self, fqn: str) -> None:
        """Bring the payload into the form that is recorded; a second call changes nothing."""
        super().complete(fqn)
        self.source_config = without_secrets(self.source_config)
