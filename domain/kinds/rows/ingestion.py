"""The row of the ingestion pipelines, which stand below all services and below suites of tests."""

from domain.kinds.bodies import ingestion
from domain.kinds.entity_kind import EntityKind

ROWS = (
    EntityKind(
        name="ingestionPipeline",
        collection="services/{}s",
        since="0.3.0",
        body=ingestion.IngestionPipeline,
        parents=("service",),
        attached=True,
        searched={"pipelineType": 1},
    ),
)
