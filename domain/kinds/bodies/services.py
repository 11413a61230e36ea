"""The systems that hold databases, topics, dashboards and the rest."""

from typing import Annotated, Any, ClassVar

from domain.kinds.bodies.base import Tagged, Users
from domain.kinds.bodies.components import LifeCycle, Ref, Style, outside
from domain.kinds.bodies.connections import without_secrets
from domain.kinds.bodies.enumerations import (
    ApiServiceType,
    DashboardServiceType,
    DatabaseServiceType,
    MessagingServiceType,
    MlModelServiceType,
    PipelineServiceType,
    SearchServiceType,
    StorageServiceType,
)


class Service(Tagged, kw_only=True):
    """The keys of all services.

    A connection is recorded without its secrets, because a log never forgets.
    """

    unsearched: ClassVar[tuple[str, ...]] = ("connection",)

    service_type: str
    connection: dict[str, Any] | None = None
    followers: Users = None
    ingestion_runner: Annotated[Ref | None, outside("ingestionRunner")] = None
    style: Style | None = None

    def complete(self, fqn: str) -> None:
        """Bring the payload into the form that is recorded; a second call changes nothing."""
        super().complete(fqn)
        if self.connection is not None:
            self.connection = without_secrets(self.service_type, self.connection)


class DatabaseService(Service, kw_only=True):
    """Holds databases."""

    service_type: DatabaseServiceType


class MessagingService(Service, kw_only=True):
    """Holds topics."""

    service_type: MessagingServiceType


class DashboardService(Service, kw_only=True):
    """Holds dashboards."""

    service_type: DashboardServiceType


class PipelineService(Service, kw_only=True):
    """Runs pipelines."""

    unkept: ClassVar[tuple[str, ...]] = ("schedule_interval", "life_cycle")

    service_type: PipelineServiceType
    schedule_interval: str | None = None
    life_cycle: LifeCycle | None = None


class MlmodelService(Service, kw_only=True):
    """Holds models."""

    service_type: MlModelServiceType


class StorageService(Service, kw_only=True):
    """Holds containers."""

    service_type: StorageServiceType


class SearchService(Service, kw_only=True):
    """Holds search indexes."""

    service_type: SearchServiceType


class ApiService(Service, kw_only=True):
    """Holds collections of API endpoints."""

    service_type: ApiServiceType
