"""Rows of the kinds that messaging, dashboards, pipelines, models, stores and APIs hold."""

from functools import partial

from domain.kinds.bodies import assets, mlmodels
from domain.kinds.entity_kind import EntityKind
from domain.kinds.kind_options import Naming

_of_service = partial(EntityKind, parents=("service",), inherits=("serviceType",))

ROWS = (
    _of_service(
        name="topic",
        body=assets.Topic,
        large=("messageSchema", "topicConfig"),
        searched={
            "messageSchema.schemaFields.name": 2,
            "messageSchema.schemaFields.description": 0.5,
        },
    ),
    _of_service(
        name="chart",
        body=assets.Chart,
        large=("dashboards", "usageSummary"),
    ),
    _of_service(
        name="dashboardDataModel",
        collection="dashboard/datamodels",
        body=assets.DashboardDataModel,
        naming=Naming(scope=assets.DATA_MODELS),
        columns="columns",
        searched={
            "columns.name": 2,
            "columns.displayName": 2,
            "project": 1,
            "columns.description": 0.5,
        },
    ),
    _of_service(
        name="dashboard",
        body=assets.Dashboard,
        large=("charts", "dataModels", "usageSummary"),
        searched={"charts.name": 2, "charts.displayName": 2, "project": 1},
    ),
    _of_service(
        name="pipeline",
        body=assets.Pipeline,
        large=("tasks", "usageSummary"),
        searched={"tasks.name": 2, "tasks.displayName": 2, "tasks.description": 0.5},
    ),
    _of_service(
        name="mlmodel",
        body=mlmodels.Mlmodel,
        large=("mlFeatures", "mlHyperParameters", "dashboard", "usageSummary"),
        searched={"mlFeatures.name": 2, "algorithm": 1, "mlFeatures.description": 0.5},
    ),
    EntityKind(
        name="container",
        body=assets.Container,
        parents=("parent", "service"),
        inherits=("service", "serviceType"),
        large=("dataModel",),
        searched={
            "dataModel.columns.name": 2,
            "fullPath": 1,
            "dataModel.columns.description": 0.5,
        },
    ),
    _of_service(
        name="searchIndex",
        collection="searchIndexes",
        body=assets.SearchIndex,
        own_index="search_entity_search_index",
        large=("searchIndexSettings",),
        searched={"fields.name": 2, "fields.description": 0.5},
    ),
    _of_service(
        name="apiCollection",
        body=assets.ApiCollection,
        large=("apiEndpoints",),
        searched={"endpointURL": 1},
    ),
    EntityKind(
        name="apiEndpoint",
        body=assets.ApiEndpoint,
        parents=("apiCollection",),
        inherits=("service", "serviceType"),
        large=("requestSchema", "responseSchema"),
        searched={
            "endpointURL": 1,
            "requestSchema.schemaFields.name": 2,
            "responseSchema.schemaFields.name": 2,
            "requestSchema.schemaFields.description": 0.5,
            "responseSchema.schemaFields.description": 0.5,
        },
    ),
    EntityKind(
        name="metric",
        body=mlmodels.Metric,
        root=True,
        large=("relatedMetrics", "assets"),
        searched={"metricExpression.code": 0.5},
    ),
)
