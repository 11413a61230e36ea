"""What messaging, dashboards, pipelines, models, stores and APIs hold; and metrics."""

from domain.kinds.bodies import apis, assets, dashboards, metrics, mlmodels
from domain.kinds.capabilities import Naming
from domain.kinds.entity_kind import EntityKind

ROWS = (
    EntityKind(
        name="topic",
        body=assets.Topic,
        parents=("service",),
        inherits=("serviceType",),
        large=("messageSchema", "topicConfig"),
        searched={
            "messageSchema.schemaFields.name": 2,
            "messageSchema.schemaFields.description": 0.5,
        },
    ),
    EntityKind(
        name="chart",
        body=dashboards.Chart,
        parents=("service",),
        inherits=("serviceType",),
        large=("dashboards", "usageSummary"),
    ),
    EntityKind(
        name="dashboardDataModel",
        collection="dashboard/datamodels",
        body=dashboards.DashboardDataModel,
        parents=("service",),
        inherits=("serviceType",),
        naming=Naming(scope=dashboards.DATA_MODELS),
        columns="columns",
        searched={
            "columns.name": 2,
            "columns.displayName": 2,
            "project": 1,
            "columns.description": 0.5,
        },
    ),
    EntityKind(
        name="dashboard",
        body=dashboards.Dashboard,
        parents=("service",),
        inherits=("serviceType",),
        large=("charts", "dataModels", "usageSummary"),
        searched={"charts.name": 2, "charts.displayName": 2, "project": 1},
    ),
    EntityKind(
        name="pipeline",
        body=assets.Pipeline,
        parents=("service",),
        inherits=("serviceType",),
        large=("tasks", "usageSummary"),
        searched={"tasks.name": 2, "tasks.displayName": 2, "tasks.description": 0.5},
    ),
    EntityKind(
        name="mlmodel",
        body=mlmodels.Mlmodel,
        parents=("service",),
        inherits=("serviceType",),
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
    EntityKind(
        name="searchIndex",
        collection="searchIndexes",
        body=assets.SearchIndex,
        own_index="search_entity_search_index",
        parents=("service",),
        inherits=("serviceType",),
        large=("searchIndexSettings",),
        searched={"fields.name": 2, "fields.description": 0.5},
    ),
    EntityKind(
        name="apiCollection",
        body=apis.ApiCollection,
        parents=("service",),
        inherits=("serviceType",),
        large=("apiEndpoints",),
        searched={"endpointURL": 1},
    ),
    EntityKind(
        name="apiEndpoint",
        body=apis.ApiEndpoint,
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
        body=metrics.Metric,
        root=True,
        large=("relatedMetrics", "assets"),
        searched={"metricExpression.code": 0.5},
    ),
)
