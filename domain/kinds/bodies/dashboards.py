"""Dashboards, with the charts on them and the data models that these are made of."""

from typing import Annotated, Literal

from domain.kinds.bodies.base import Asset
from domain.kinds.bodies.columns import Column
from domain.kinds.bodies.components import Ref, Reference, UsageSummary, refers_to
from domain.kinds.bodies.enumerations import ChartType, DashboardDataModelType
from domain.kinds.names import child, join, split

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
