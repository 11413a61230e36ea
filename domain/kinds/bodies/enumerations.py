"""The closed sets of values that keys may take, as OpenMetadata spells them."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

# fmt: off
DatabaseServiceType = Literal[
    "BigQuery", "BigTable", "Mysql", "Redshift", "Snowflake", "Postgres", "Timescale", "Mssql",
    "MicrosoftAccess", "Oracle", "Athena", "Hive", "Impala", "Presto", "Trino", "Vertica", "Glue",
    "MariaDB", "Druid", "Db2", "Clickhouse", "Databricks", "AzureSQL", "DynamoDB", "SingleStore",
    "SQLite", "DeltaLake", "Salesforce", "PinotDB", "Datalake", "DomoDatabase", "QueryLog",
    "CustomDatabase", "Dbt", "SapHana", "SapSuccessFactors", "MongoDB", "Cassandra", "Couchbase",
    "Greenplum", "Doris", "StarRocks", "UnityCatalog", "SAS", "Teradata", "SapErp", "Synapse",
    "Exasol", "Cockroach", "SSAS", "Epic", "ServiceNow", "Dremio", "MicrosoftFabric", "BurstIQ",
    "Informix", "Iomete", "QuestDB", "SapBw4Hana",
]
MessagingServiceType = Literal["Kafka", "Redpanda", "Kinesis", "PubSub", "CustomMessaging"]
DashboardServiceType = Literal[
    "Superset", "Looker", "Tableau", "Redash", "Metabase", "PowerBI", "PowerBIReportServer", "Mode",
    "CustomDashboard", "DomoDashboard", "QuickSight", "QlikSense", "Lightdash", "MicroStrategy",
    "QlikCloud", "Sigma", "ThoughtSpot", "Grafana", "Hex", "Ssrs", "SapS4Hana", "Omni",
]
PipelineServiceType = Literal[
    "Airflow", "GluePipeline", "KinesisFirehose", "Airbyte", "Fivetran", "Flink", "Dagster", "Nifi",
    "DomoPipeline", "CustomPipeline", "DatabricksPipeline", "Spline", "Spark", "OpenLineage",
    "Prefect", "KafkaConnect", "DBTCloud", "Matillion", "Stitch", "DataFactory", "Wherescape",
    "SSIS", "Snowplow", "Mulesoft", "MicrosoftFabricPipeline", "SapBw4HanaPipeline",
]
MlModelServiceType = Literal["Mlflow", "Sklearn", "CustomMlModel", "SageMaker", "VertexAI"]
StorageServiceType = Literal["S3", "ADLS", "GCS", "CustomStorage"]
SearchServiceType = Literal["ElasticSearch", "OpenSearch", "CustomSearch"]
ApiServiceType = Literal["Rest", "WEBHOOK"]
RequestMethod = Literal[
    "GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "CONNECT", "OPTIONS", "TRACE",
]
SchemaType = Literal["Avro", "Protobuf", "JSON", "Other", "None"]
ProgramLanguage = Literal["SQL", "Java", "JavaScript", "Python", "External"]
StoredProcedureType = Literal["StoredProcedure", "UDF", "StoredPackage", "Function"]
ChartType = Literal[
    "Line", "Table", "Bar", "Area", "Pie", "Histogram", "Scatter", "Text", "BoxPlot", "SanKey",
    "Gauge", "Map", "Graph", "Heatmap", "Timeline", "Other",
]
DashboardDataModelType = Literal[
    "TableauDataModel", "TableauPublishedDatasource", "TableauEmbeddedDatasource",
    "SupersetDataModel", "MetabaseDataModel", "LookMlView", "LookMlExplore", "PowerBIDataModel",
    "QlikDataModel", "QuickSightDataModel", "SigmaDataModel", "PowerBIDataFlow",
    "MicroStrategyDataset", "ThoughtSpotDataModel", "SsrsDataModel", "ModeDataModel",
    "OmniDataModel", "PowerBIDatamart", "SapS4HanaCdsView",
]
MetricType = Literal[
    "COUNT", "SUM", "AVERAGE", "RATIO", "PERCENTAGE", "MIN", "MAX", "MEDIAN", "MODE",
    "STANDARD_DEVIATION", "VARIANCE", "SIMPLE", "CUMULATIVE", "DERIVED", "CONVERSION", "OTHER",
]
MetricUnit = Literal[
    "COUNT", "DOLLARS", "PERCENTAGE", "TIMESTAMP", "SIZE", "REQUESTS", "EVENTS", "TRANSACTIONS",
    "OTHER",
]
MetricGranularity = Literal[
    "SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR",
]
ColumnType = Literal[
    "NUMBER", "TINYINT", "SMALLINT", "INT", "BIGINT", "BYTEINT", "BYTES", "FLOAT", "DOUBLE",
    "DECIMAL", "NUMERIC", "TIMESTAMP", "TIMESTAMPZ", "TIME", "DATE", "DATETIME", "INTERVAL",
    "STRING", "MEDIUMTEXT", "TEXT", "CHAR", "LONG", "VARCHAR", "BOOLEAN", "BINARY", "VARBINARY",
    "ARRAY", "BLOB", "LONGBLOB", "MEDIUMBLOB", "MAP", "STRUCT", "UNION", "SET", "GEOGRAPHY", "ENUM",
    "JSON", "UUID", "VARIANT", "GEOMETRY", "BYTEA", "AGGREGATEFUNCTION", "ERROR", "FIXED", "RECORD",
    "NULL", "SUPER", "HLLSKETCH", "PG_LSN", "PG_SNAPSHOT", "TSQUERY", "TXID_SNAPSHOT", "XML",
    "MACADDR", "TSVECTOR", "UNKNOWN", "CIDR", "INET", "CLOB", "ROWID", "LOWCARDINALITY", "YEAR",
    "POINT", "POLYGON", "TUPLE", "SPATIAL", "TABLE", "NTEXT", "IMAGE", "IPV4", "IPV6",
    "DATETIMERANGE", "HLL", "LARGEINT", "QUANTILE_STATE", "AGG_STATE", "BITMAP", "UINT", "BIT",
    "MONEY", "MEASURE HIDDEN", "MEASURE VISIBLE", "MEASURE", "KPI", "HEIRARCHY", "HIERARCHYID",
]
WarehouseType = Literal["BIGNUMERIC", "BOOL", "FLOAT64", "INT64", "INTEGER"]
WAREHOUSE_TYPES: Mapping[str, ColumnType] = MappingProxyType({
    "BIGNUMERIC": "NUMERIC", "BOOL": "BOOLEAN", "FLOAT64": "DOUBLE", "INT64": "BIGINT",
    "INTEGER": "INT",
})
"""BigQuery's names of types -> OpenMetadata's."""
SchemaFieldType = Literal[
    "RECORD", "NULL", "BOOLEAN", "INT", "LONG", "BYTES", "FLOAT", "DOUBLE", "TIMESTAMP",
    "TIMESTAMPZ", "TIME", "DATE", "STRING", "ARRAY", "MAP", "ENUM", "UNION", "FIXED", "ERROR",
    "UNKNOWN",
]
IndexFieldType = Literal[
    "NUMBER", "TEXT", "BINARY", "TIMESTAMP", "TIMESTAMPZ", "TIME", "DATE", "DATETIME", "KEYWORD",
    "ARRAY", "OBJECT", "FLATTENED", "NESTED", "JOIN", "RANGE", "IP", "VERSION", "MURMUR3",
    "AGGREGATE_METRIC_DOUBLE", "HISTOGRAM", "ANNOTATED-TEXT", "COMPLETION", "SEARCH_AS_YOU_TYPE",
    "DENSE_VECTOR", "RANK_FEATURE", "RANK_FEATURES", "GEO_POINT", "GEO_SHAPE", "POINT", "SHAPE",
    "PERCOLATOR", "BOOLEAN", "CONSTANT_KEYWORD", "WILDCARD", "LONG", "INTEGER", "SHORT", "BYTE",
    "DOUBLE", "FLOAT", "HALF_FLOAT", "SCALED_FLOAT", "UNSIGNED_LONG", "UNKNOWN",
]
FeatureSourceType = Literal[
    "integer", "number", "string", "array", "date", "timestamp", "object", "boolean",
]
TagSource = Literal["Classification", "Glossary"]
LabelType = Literal["Manual", "Propagated", "Automated", "Derived", "Generated"]
LabelState = Literal["Suggested", "Confirmed"]
Constraint = Literal["NULL", "NOT_NULL", "UNIQUE", "PRIMARY_KEY"]
ConstraintType = Literal[
    "UNIQUE", "PRIMARY_KEY", "FOREIGN_KEY", "SORT_KEY", "DIST_KEY", "CLUSTER_KEY",
]
RelationshipType = Literal["ONE_TO_ONE", "ONE_TO_MANY", "MANY_TO_ONE", "MANY_TO_MANY"]
PartitionInterval = Literal[
    "TIME-UNIT", "INTEGER-RANGE", "INGESTION-TIME", "COLUMN-VALUE", "INJECTED", "ENUM", "OTHER",
]
TableType = Literal[
    "Regular", "External", "Dynamic", "View", "SecureView", "MaterializedView", "Iceberg", "Local",
    "Partitioned", "Foreign", "Transient", "Stream", "Stage", "SemanticView",
]
TeamType = Literal["Group", "Department", "Division", "BusinessUnit", "Organization"]
Provider = Literal["system", "user", "automation"]
ContainerFileFormat = Literal[
    "zip", "gz", "zstd", "csv", "tsv", "json", "parquet", "avro", "MF4",
]
FileFormat = Literal[
    "csv", "csv.gz", "tsv", "avro", "parquet", "pq", "pqt", "parq", "parquet.snappy", "json",
    "json.gz", "json.zip", "jsonl", "jsonl.gz", "jsonl.zip", "MF4",
]
DomainType = Literal["Source-aligned", "Consumer-aligned", "Aggregate"]
DataProductType = Literal[
    "RAW_DATA", "DERIVED_DATA", "DATASET", "REPORTS", "ANALYTIC_VIEW", "VISUALISATION_3D",
    "ALGORITHM", "DECISION_SUPPORT", "AUTOMATED_DECISION_MAKING", "DATA_ENHANCED_PRODUCT",
    "DATA_DRIVEN_SERVICE", "DATA_ENABLED_PERFORMANCE", "BI_DIRECTIONAL",
]
LifecycleStage = Literal[
    "IDEATION", "DESIGN", "DEVELOPMENT", "TESTING", "PRODUCTION", "DEPRECATED", "RETIRED",
]
Visibility = Literal["PRIVATE", "INVITATION", "ORGANISATION", "DATASPACE", "PUBLIC"]
ConceptMappingType = Literal[
    "EXACT_MATCH", "CLOSE_MATCH", "BROAD_MATCH", "NARROW_MATCH", "RELATED_MATCH", "SAME_AS",
]
QualityMetric = Literal[
    "rowCount", "nullValues", "invalidValues", "duplicateValues", "missingValues", "uniqueValues",
    "distinctValues", "completeness", "freshness",
]
QualityDimension = Literal[
    "accuracy", "completeness", "conformity", "consistency", "coverage", "timeliness", "uniqueness",
    "ac", "cp", "cf", "cs", "cv", "tm", "uq",
]
Timezone = Literal[
    "GMT-11:00 (Pacific/Niue)", "GMT-10:00 (Pacific/Honolulu)", "GMT-09:30 (Pacific/Marquesas)",
    "GMT-09:00 (America/Anchorage)", "GMT-08:00 (America/Los Angeles)",
    "GMT-07:00 (America/Denver)", "GMT-06:00 (America/Chicago)", "GMT-05:00 (America/New York)",
    "GMT-04:00 (America/Santiago)", "GMT-03:00 (America/Sao Paulo)",
    "GMT-02:30 (Atlantic/Newfoundland)", "GMT-02:00 (Atlantic/South_Georgia)",
    "GMT-01:00 (Atlantic/Azores)", "GMT+00:00 (Europe/London)", "GMT+01:00 (Europe/Paris)",
    "GMT+02:00 (Europe/Athens)", "GMT+03:00 (Europe/Moscow)", "GMT+03:00 (Asia/Iran)",
    "GMT+04:00 (Asia/Dubai)", "GMT+04:30 (Asia/Afghanistan)", "GMT+05:00 (Asia/Karachi)",
    "GMT+05:30 (Asia/Kolkata)", "GMT+05:45 (Asia/Nepal)", "GMT+06:00 (Asia/Dhaka)",
    "GMT+06:00 (Asia/Myanmar)", "GMT+07:00 (Asia/Bangkok)", "GMT+08:00 (Asia/Shanghai)",
    "GMT+08:45 (Australia/Australian Central Western Standard Time)", "GMT+09:00 (Asia/Tokyo)",
    "GMT+09:00 (Australia/Adelaide)", "GMT+10:00 (Australia/Sydney)",
    "GMT+10:30 (Australia/Lord Howe)", "GMT+11:00 (Pacific/Norfolk)",
    "GMT+12:00 (Pacific/Auckland)", "GMT+13:00 (Pacific/Tongatapu)",
    "GMT+14:00 (Pacific/Kiritimati)",
]
