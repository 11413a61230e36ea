"""The systems that hold databases, topics, dashboards and the rest."""

from typing import Annotated, Any, ClassVar, cast

from msgspec import defstruct

from domain.kinds.bodies.base import Tagged, Users
from domain.kinds.bodies.components import UNKEPT, LifeCycle, Ref, Style, outside
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


def _service(name: str, service_type: Any, about: str) -> type[Service]:
    """The body of a kind of service, with the types that services of the kind have."""
    made = defstruct(
        name,
        [("service_type", service_type)],
        bases=(Service,),
        namespace={"__doc__": about},
        module=__name__,
        kw_only=True,
    )
    return cast("type[Service]", made)


DatabaseService = _service("DatabaseService", DatabaseServiceType, "Holds databases.")
MessagingService = _service("MessagingService", MessagingServiceType, "Holds topics.")
DashboardService = _service("DashboardService", DashboardServiceType, "Holds dashboards.")
MlmodelService = _service("MlmodelService", MlModelServiceType, "Holds models.")
StorageService = _service("StorageService", StorageServiceType, "Holds containers.")
SearchService = _service("SearchService", SearchServiceType, "Holds search indexes.")
ApiService = _service("ApiService", ApiServiceType, "Holds collections of API endpoints.")


class PipelineService(Service, kw_only=True):
    """Runs pipelines."""

    service_type: PipelineServiceType
    schedule_interval: Annotated[str | None, UNKEPT] = None
    life_cycle: Annotated[LifeCycle | None, UNKEPT] = None
