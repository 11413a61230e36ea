"""The registry of entity kinds: one row each, parents before children.

Routes, permissions, `fields` and filter validation, index names, search fields, hierarchy and
test parameters all come from these rows; a new kind is a new row.
"""

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from domain.bodies import (
    apis,
    assets,
    contracts,
    dashboards,
    databases,
    domains,
    lineage,
    metrics,
    mlmodels,
    people,
    programs,
    quality,
    services,
    vocabularies,
)
from domain.edges import EDGE
from domain.kinds import EntityKind, NamePart

ROWS = (
    EntityKind(
        name="team",
        collection="teams",
        body=people.Team,
        index="team_search_index",
        search_defaults={"isBot": False},
        root=True,
        large=("profile", "defaultRoles", "policies"),
        filters={"parentTeam": "parents"},
        searched={"email": 5},
    ),
    EntityKind(
        name="user",
        collection="users",
        body=people.User,
        index="user_search_index",
        search_defaults={"isBot": False},
        root=True,
        large=("profile", "teams", "roles", "personas"),
        filters={"team": "teams"},
        searched={"email": 5},
    ),
    EntityKind(
        name="domain",
        collection="domains",
        body=domains.Domain,
        index="domain_search_index",
        root=True,
        parents=("parent",),
        filters={"parent": "parent"},
    ),
    EntityKind(
        name="dataProduct",
        collection="dataProducts",
        body=domains.DataProduct,
        index="data_product_search_index",
        parents=("domains",),
        large=("assets",),
        filters={"domain": "domains"},
    ),
    EntityKind(
        name="classification",
        collection="classifications",
        body=vocabularies.Classification,
        index="classification_search_index",
        root=True,
        large=("autoClassificationConfig",),
    ),
    EntityKind(
        name="tag",
        collection="tags",
        body=vocabularies.Tag,
        index="tag_search_index",
        parents=("parent", "classification"),
        inherits=("classification",),
        large=("recognizers",),
        filters={"classification": "classification", "parent": "parent"},
        searched={"classification.name": 1},
    ),
    EntityKind(
        name="glossary",
        collection="glossaries",
        body=vocabularies.Glossary,
        index="glossary_search_index",
        root=True,
    ),
    EntityKind(
        name="glossaryTerm",
        collection="glossaryTerms",
        body=vocabularies.GlossaryTerm,
        index="glossary_term_search_index",
        parents=("parent", "glossary"),
        inherits=("glossary",),
        large=("relatedTerms", "references", "conceptMappings"),
        filters={"glossary": "glossary", "parent": "parent"},
        searched={"synonyms": 5, "glossary.name": 1},
    ),
    EntityKind(
        name="databaseService",
        collection="services/databaseServices",
        body=services.DatabaseService,
        index="database_service_search_index",
        root=True,
        searched={"serviceType": 1},
    ),
    EntityKind(
        name="messagingService",
        collection="services/messagingServices",
        body=services.MessagingService,
        index="messaging_service_search_index",
        root=True,
        searched={"serviceType": 1},
    ),
    EntityKind(
        name="dashboardService",
        collection="services/dashboardServices",
        body=services.DashboardService,
        index="dashboard_service_search_index",
        root=True,
        searched={"serviceType": 1},
    ),
    EntityKind(
        name="pipelineService",
        collection="services/pipelineServices",
        body=services.PipelineService,
        index="pipeline_service_search_index",
        root=True,
        searched={"serviceType": 1},
    ),
    EntityKind(
        name="mlmodelService",
        collection="services/mlmodelServices",
        body=services.MlmodelService,
        index="mlmodel_service_search_index",
        root=True,
        searched={"serviceType": 1},
    ),
    EntityKind(
        name="storageService",
        collection="services/storageServices",
        body=services.StorageService,
        index="storage_service_search_index",
        root=True,
        searched={"serviceType": 1},
    ),
    EntityKind(
        name="searchService",
        collection="services/searchServices",
        body=services.SearchService,
        index="search_service_search_index",
        root=True,
        searched={"serviceType": 1},
    ),
    EntityKind(
        name="apiService",
        collection="services/apiServices",
        body=services.ApiService,
        index="api_service_search_index",
        root=True,
        searched={"serviceType": 1},
    ),
    EntityKind(
        name="database",
        collection="databases",
        body=databases.Database,
        index="database_search_index",
        parents=("service",),
        inherits=("serviceType",),
        large=("usageSummary",),
        filters={"service": "service"},
        name_filters={"databaseRegex": NamePart("name", 0)},
    ),
    EntityKind(
        name="databaseSchema",
        collection="databaseSchemas",
        body=databases.DatabaseSchema,
        index="database_schema_search_index",
        parents=("database",),
        inherits=("service", "serviceType"),
        large=("usageSummary",),
        filters={"database": "database", "service": "service"},
        name_filters={
            "databaseRegex": NamePart("database", 1),
            "databaseSchemaRegex": NamePart("name", 0),
        },
    ),
    EntityKind(
        name="table",
        collection="tables",
        body=databases.Table,
        index="table_search_index",
        parents=("databaseSchema",),
        inherits=("database", "service", "serviceType"),
        large=(
            "columns",
            "tableConstraints",
            "usageSummary",
            "schemaDefinition",
            "dataModel",
            "tableProfilerConfig",
        ),
        put_alone={"dataModel": ("rawSql", "sql")},
        shows_below={"testSuite": "testSuite"},
        field_aliases={"owner": "owners"},
        filters={"databaseSchema": "databaseSchema", "database": "database", "service": "service"},
        name_filters={
            "databaseRegex": NamePart("database", 2),
            "databaseSchemaRegex": NamePart("databaseSchema", 1),
            "tableRegex": NamePart("name", 0),
        },
        columns="columns",
        searched={
            "columns.name": 2,
            "columns.displayName": 2,
            "columns.description": 0.5,
        },
    ),
    EntityKind(
        name="storedProcedure",
        collection="storedProcedures",
        body=programs.StoredProcedure,
        index="stored_procedure_search_index",
        parents=("databaseSchema",),
        inherits=("database", "service", "serviceType"),
        filters={"databaseSchema": "databaseSchema", "database": "database", "service": "service"},
        searched={"storedProcedureCode.code": 0.5},
    ),
    EntityKind(
        name="query",
        collection="queries",
        body=programs.Query,
        index="query_search_index",
        parents=("service",),
        large=("users", "queryUsedIn"),
        filters={"service": "service", "entityId": "queryUsedIn"},
        filters_by_id=("entityId",),
        searched={"query": 2},
    ),
    EntityKind(
        name="topic",
        collection="topics",
        body=assets.Topic,
        index="topic_search_index",
        parents=("service",),
        inherits=("serviceType",),
        large=("messageSchema", "topicConfig"),
        filters={"service": "service"},
        searched={
            "messageSchema.schemaFields.name": 2,
            "messageSchema.schemaFields.description": 0.5,
        },
    ),
    EntityKind(
        name="chart",
        collection="charts",
        body=dashboards.Chart,
        index="chart_search_index",
        parents=("service",),
        inherits=("serviceType",),
        large=("dashboards", "usageSummary"),
        filters={"service": "service"},
    ),
    EntityKind(
        name="dashboardDataModel",
        collection="dashboard/datamodels",
        body=dashboards.DashboardDataModel,
        index="dashboard_data_model_search_index",
        parents=("service",),
        inherits=("serviceType",),
        name_scope=dashboards.DATA_MODELS,
        filters={"service": "service"},
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
        collection="dashboards",
        body=dashboards.Dashboard,
        index="dashboard_search_index",
        parents=("service",),
        inherits=("serviceType",),
        large=("charts", "dataModels", "usageSummary"),
        filters={"service": "service"},
        searched={"charts.name": 2, "charts.displayName": 2, "project": 1},
    ),
    EntityKind(
        name="pipeline",
        collection="pipelines",
        body=assets.Pipeline,
        index="pipeline_search_index",
        parents=("service",),
        inherits=("serviceType",),
        large=("tasks", "usageSummary"),
        filters={"service": "service"},
        searched={"tasks.name": 2, "tasks.displayName": 2, "tasks.description": 0.5},
    ),
    EntityKind(
        name="mlmodel",
        collection="mlmodels",
        body=mlmodels.Mlmodel,
        index="mlmodel_search_index",
        parents=("service",),
        inherits=("serviceType",),
        large=("mlFeatures", "mlHyperParameters", "dashboard", "usageSummary"),
        filters={"service": "service"},
        searched={"mlFeatures.name": 2, "algorithm": 1, "mlFeatures.description": 0.5},
    ),
    EntityKind(
        name="container",
        collection="containers",
        body=assets.Container,
        index="container_search_index",
        parents=("parent", "service"),
        inherits=("service", "serviceType"),
        large=("dataModel",),
        filters={"service": "service", "parent": "parent"},
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
        index="search_entity_search_index",
        parents=("service",),
        inherits=("serviceType",),
        large=("searchIndexSettings",),
        filters={"service": "service"},
        searched={"fields.name": 2, "fields.description": 0.5},
    ),
    EntityKind(
        name="apiCollection",
        collection="apiCollections",
        body=apis.ApiCollection,
        index="api_collection_search_index",
        parents=("service",),
        inherits=("serviceType",),
        large=("apiEndpoints",),
        filters={"service": "service"},
        searched={"endpointURL": 1},
    ),
    EntityKind(
        name="apiEndpoint",
        collection="apiEndpoints",
        body=apis.ApiEndpoint,
        index="api_endpoint_search_index",
        parents=("apiCollection",),
        inherits=("service", "serviceType"),
        large=("requestSchema", "responseSchema"),
        filters={"apiCollection": "apiCollection", "service": "service"},
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
        collection="metrics",
        body=metrics.Metric,
        index="metric_search_index",
        root=True,
        large=("relatedMetrics", "assets"),
        searched={"metricExpression.code": 0.5},
    ),
    EntityKind(
        name="testDefinition",
        collection="dataQuality/testDefinitions",
        body=quality.TestDefinition,
        index="test_definition_search_index",
        root=True,
        large=("parameterDefinition",),
    ),
    EntityKind(
        name="testSuite",
        collection="dataQuality/testSuites",
        body=quality.TestSuite,
        index="test_suite_search_index",
        root=True,
        parents=("basicEntityReference",),
        name_below=quality.SUITE,
        goes_along=True,
    ),
    EntityKind(
        name="testCase",
        collection="dataQuality/testCases",
        body=quality.TestCase,
        index="test_case_search_index",
        parents=("testSuite",),
        named_by=("entityLink",),
        brings_parent=quality.suite_to_bring,
        goes_along=True,
        filters={"testSuiteId": "testSuite"},
        filters_by_id=("testSuiteId",),
        searched={"entityFQN": 1},
    ),
    EntityKind(
        name="dataContract",
        collection="dataContracts",
        body=contracts.DataContract,
        index="data_contract_search_index",
        parents=("entity",),
        name_prefix="dataContract_",
        statuses=("Draft", "Active", "Deprecated"),
        attached_by="entity",
        describes="schema",
        filters={"entity": "entity"},
        filters_by_id=("entity",),
        list_limit=1_000_000,
        # Its names repeat those of its entity, which should come before it.
        searched={
            "name": 3,
            "displayName": 3,
            "fullyQualifiedName": 1.5,
            "description": 1,
            "entity.name": 1,
            "schema.name": 0.5,
        },
    ),
)

KINDS: Mapping[str, EntityKind] = MappingProxyType({row.name: row for row in ROWS})
"""Kind name -> its row, parents before children."""

LINEAGE_EDGE = EntityKind(
    name=EDGE,
    collection="",
    body=lineage.LineageEdge,
    index="",
    filters={"from": "fromEntity", "to": "toEntity", "pipeline": "pipeline"},
)
"""The edges of the lineage: recorded, audited and verified as entities are, without a collection
and an index. The filters have the sorted read model find an edge by its ends and its pipeline."""

ALL_KINDS: Mapping[str, EntityKind] = MappingProxyType({**KINDS, EDGE: LINEAGE_EDGE})
"""Kind name -> its row, of everything that the log holds and policies grant."""


ATTACHED = frozenset(kind.name for kind in ROWS if kind.attached_by is not None or kind.goes_along)
"""The kinds whose entities are attached to another entity, and are nothing without it."""


@cache
def kinds_right_below(kind: str) -> frozenset[str]:
    """The kinds that entities may have whose parent is of this kind."""
    return frozenset(
        row.name
        for row in KINDS.values()
        if any(kind in (row.refers_to[key] or KINDS) for key in row.parents)
    )


@cache
def kinds_above(kind: str) -> tuple[str, ...]:
    """The kinds that entities above one of this kind may have, in the order of the registry."""
    return tuple(above for above in KINDS if kind in kinds_below(above))


@cache
def kinds_below(kind: str) -> frozenset[str]:
    """The kinds that entities below one of this kind may have."""
    below: frozenset[str] = frozenset()
    above = frozenset((kind,))
    while above:
        above = frozenset().union(*map(kinds_right_below, above)) - below
        below |= above
    return below
