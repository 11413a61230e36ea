"""Rows of the kinds of services, which hold the assets below them."""

from domain.kinds.bodies import services
from domain.kinds.bodies.base import EntityBody
from domain.kinds.entity_kind import EntityKind


def _service(name: str, body: type[EntityBody]) -> EntityKind:
    """A kind of service; `name` ends in Service."""
    return EntityKind(
        name=name,
        collection="services/{}s",
        body=body,
        root=True,
        searched={"serviceType": 1},
    )


ROWS = (
    _service("databaseService", services.DatabaseService),
    _service("messagingService", services.MessagingService),
    _service("dashboardService", services.DashboardService),
    _service("pipelineService", services.PipelineService),
    _service("mlmodelService", services.MlmodelService),
    _service("storageService", services.StorageService),
    _service("searchService", services.SearchService),
    _service("apiService", services.ApiService),
)
