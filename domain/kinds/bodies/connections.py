"""Connections of services: what of them is recorded, which is never a secret.

A log forgets nothing, so that a secret must not reach an event. Connectors bring connections of
their own to every run; what is kept here says where a service is, to people and to OpenMetadata's
client.

A name means the same wherever in a connection it stands, as in the JSON schemas of OpenMetadata's
connections. A key that is in neither list is not kept; objects of keys that a caller makes up, such
as `connectionOptions` and `connectionArguments`, are in none, because they may hold anything.
"""

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from domain.kinds.bodies.secret_texts import MASK, holds_secret

_OF_EVERY_TYPE = """
    accountName apiVersion assumeRoleArn assumeRoleSessionName assumeRoleSourceIdentity
    audience authProviderX509CertUrl authType authUri awsConfig awsRegion azureConfig
    bucketName chartFilterPattern classificationName clientEmail clientId clientX509CertUrl
    config connection connectionTimeout containerFilterPattern credentials
    dashboardFilterPattern dataModelFilterPattern database databaseFilterPattern
    databaseName databaseSchema driver enabled endPointURL excludes externalType
    filePathPattern gcpConfig gcpImpersonateServiceAccount hostPort
    impersonateServiceAccount includes ingestAllDatabases lifetime maxRetries
    modelFilterPattern overwriteData path pipelineFilterPattern prefix profileName
    projectFilterPattern projectId queryHistoryTable queryStatementSource
    sampleDataStorageConfig schemaFilterPattern scheme scopes sourcePythonClass sslConfig sslMode
    storageConfig storedProcedureFilterPattern subjectTokenType supportsColumnAccess
    supportsDBTExtraction supportsDataDiff supportsDataInsightExtraction supportsDatabase
    supportsElasticSearchReindexingExtraction supportsFullAccess
    supportsIncrementalMetadataExtraction supportsLineageExtraction supportsMaskedAccess
    supportsMetadataExtraction supportsProfiler supportsQueryComment supportsSystemProfile
    supportsUsageExtraction supportsViewLineageExtraction tableFilterPattern tenantId
    timeout tokenURL tokenUri topicFilterPattern type username vaultName verifySSL
"""
"""Kept of every type of service."""

_OF_TYPE = {
    "ADLS": "containerName",
    "Airbyte": "auth",
    "Airflow": """
        authConfig databaseMode enableIamAuth mwaaConfig mwaaEnvironmentName numberOfStatus
        useSlowLogs
    """,
    "Athena": "catalogId s3StagingDir workgroup",
    "AzureSQL": "authentication authenticationMode encrypt trustServerCertificate",
    "BigQuery": """
        billingProjectId costPerTB includePolicyTags taxonomyLocation taxonomyProjectID
        usageLocation
    """,
    "BurstIQ": "biqCustomerName biqSdzName biqSystemWalletId realmName",
    "Cassandra": "cloudConfig connectTimeout requestTimeout secureConnectBundle",
    "Clickhouse": "duration https secure",
    "Couchbase": "bucket hostport",
    "DBTCloud": "accountId discoveryAPI environmentIds host jobIds numberOfRuns projectIds",
    "Dagster": "host stripAssetKeyPrefixLength",
    "DataFactory": "configSource factory_name resource_group_name run_filter_days subscription_id",
    "Databricks": "azureClientId azureTenantId catalog httpPath policyAgentConfig",
    "DatabricksPipeline": "azureClientId azureTenantId httpPath lineageLookBackDays",
    "Datalake": "configSource securityConfig skipColdStorage",
    "Db2": "clidriverVersion licenseFileName",
    "DeltaLake": """
        appName configSource driverName jdbcDriverClassPath metastoreDb metastoreFilePath
        metastoreHostPort securityConfig
    """,
    "DomoDashboard": "apiHost instanceDomain",
    "DomoDatabase": "apiHost instanceDomain",
    "DomoPipeline": "apiHost instanceDomain",
    "Dremio": "region",
    "ElasticSearch": """
        apiKeyId caCertPath certificates clientCertPath connectionTimeoutSecs privateKeyPath
        searchIndexFilterPattern stagingDir
    """,
    "Epic": "fhirServerUrl fhirVersion",
    "Exasol": "tls",
    "Fivetran": "limit",
    "GCS": "bucketNames",
    "Grafana": "pageSize",
    "Hex": "includeTags tokenType",
    "Hive": "auth enableIamAuth kerberosServiceName metastoreConnection useSSL useSlowLogs",
    "Impala": "authMechanism kerberosServiceName useSSL",
    "Informix": "serverName",
    "Iomete": "catalog cluster dataPlane",
    "Kafka": """
        bootstrapServers consumerConfigSSL saslMechanism saslUsername schemaRegistrySSL
        schemaRegistryTopicSuffixName schemaRegistryURL securityProtocol
    """,
    "KafkaConnect": "KafkaConnectConfig messagingServiceName",
    "KinesisFirehose": "messagingServiceName",
    "Lightdash": "projectUUID spaceUUID",
    "Looker": "branch gitCredentials gitHostURL repositoryName repositoryOwner",
    "Matillion": "lineageLookbackDays region",
    "MicroStrategy": "loginMode projectName",
    "MicrosoftAccess": "bucketNames consoleEndpointURL localFilePath",
    "MicrosoftFabricPipeline": "authorityUri workspaceId",
    "Mlflow": "mlModelFilterPattern registryUri trackingUri",
    "Mode": "filterQueryParam workspaceName",
    "Mssql": "encrypt includeSynonyms trustServerCertificate",
    "Mulesoft": "authentication environmentId organizationId",
    "Mysql": "enableIamAuth useSlowLogs",
    "Nifi": "certificateAuthorityPath clientCertificatePath clientkeyPath nifiConfig",
    "OpenLineage": """
        brokerConfig brokersUrl consumerGroupName consumerOffsets poolTimeout saslConfig
        saslMechanism saslUsername securityProtocol sessionTimeout streamName topicName
    """,
    "OpenSearch": """
        caCertPath certificates clientCertPath connectionTimeoutSecs privateKeyPath
        searchIndexFilterPattern stagingDir
    """,
    "Oracle": """
        instantClientDirectory oracleConnectionType oracleServiceName oracleTNSConnection
        preserveIdentifierCase useDBATable
    """,
    "PinotDB": "pinotControllerHost",
    "PowerBI": """
        apiURL authorityURI displayTableNameFromSource objectPrefix pagination_entity_per_page
        pbitFileConfigType pbitFilesExtractDir pbitFilesSource prefixConfig scope securityConfig
        useAdminApis
    """,
    "PowerBIReportServer": "webPortalVirtualDirectory",
    "Prefect": "accountId numberOfStatus workspaceId",
    "Presto": "catalog protocol verify",
    "PubSub": "includeDeadLetterTopics includeSubscriptions schemaRegistryEnabled useEmulator",
    "QlikCloud": "spaceTypes",
    "QlikSense": "certificates displayUrl userDirectory userId validateHostName",
    "QuickSight": "awsAccountId identityType namespace",
    "Redash": "redashVersion",
    "Redpanda": """
        bootstrapServers saslMechanism saslUsername schemaRegistryTopicSuffixName
        schemaRegistryURL securityProtocol
    """,
    "Redshift": "clusterIdentifier workgroupName",
    "Rest": """
        apiCollectionFilterPattern apiEndpointFilterPattern awsCredentials docURL
        openAPISchemaConnection openAPISchemaFilePath openAPISchemaS3URL openAPISchemaURL
    """,
    "S3": "bucketNames consoleEndpointURL",
    "SAS": """
        dataTablesCustomFilter dataflows dataflowsCustomFilter datatables reports
        reportsCustomFilter serverHost
    """,
    "SQLite": "databaseMode",
    "SSAS": "httpConnection",
    "SSIS": """
        bucketNames consoleEndpointURL databaseConnection encrypt includeSynonyms
        packageConnection trustServerCertificate
    """,
    "SageMaker": "mlModelFilterPattern",
    "Salesforce": "organizationId salesforceApiVersion salesforceDomain sobjectNames",
    "SapBw4Hana": "abapSchema",
    "SapBw4HanaPipeline": "abapSchema",
    "SapErp": "paginationLimit",
    "SapS4Hana": "clientNumber tokenEndpoint",
    "SapSuccessFactors": "baseUrl companyId tokenUrl",
    "ServiceNow": "includeScopes includeSystemTables",
    "Sklearn": "mlModelFilterPattern",
    "Snowflake": """
        accessHistoryChunkSize account accountUsageSchema clientSessionKeepAlive creditCost
        includeSemanticViews includeStages includeStreams includeTransientTables
        policyAgentConfig queryTag role snowflakeSourceHost useAccessHistory warehouse
    """,
    "Spline": "uiHostPort",
    "Superset": "enableIamAuth provider useSlowLogs",
    "Synapse": "authentication authenticationMode encrypt trustServerCertificate",
    "Tableau": "paginationLimit personalAccessTokenName proxyURL siteName",
    "Teradata": "account logmech tmode",
    "ThoughtSpot": "authentication orgId",
    "Trino": "catalog verify",
    "UnityCatalog": "azureClientId azureTenantId catalog httpPath policyAgentConfig",
    "VertexAI": "location mlModelFilterPattern",
    "Wherescape": "databaseConnection encrypt includeSynonyms trustServerCertificate",
}
"""Type of service -> the names kept besides."""

_SECRET = """
    accessToken accessTokenPassword apiKey apiSecret authString awsAccessKeyId
    awsSecretAccessKey awsSessionToken azureClientSecret basicAuthUserInfo caCertValue
    caCertificate clientCertValue clientCertificate clientKeyCertificate clientSecret
    consumerKey consumerSecret credentials dbtCloudAuthToken jwt jwtToken keyfile license
    logdata password personalAccessToken personalAccessTokenSecret privateKey privateKeyId
    privateKeyPassphrase privateKeyValue proxyAuthentication rootCertificate saslPassword
    secretToken securityToken snowflakePrivatekeyPassphrase sslCertificate sslKey token
    userKey
"""
SECRET_KEYS = frozenset(_SECRET.split())
"""Names whose values are masked, whatever the type of service."""

_OBJECTS = """
    authConfig authenticationMode awsConfig awsCredentials azureConfig brokerConfig certificates
    cloudConfig config configSource connection consumerConfigSSL credentials databaseConnection
    dbtConfigSource dbtPrefixConfig dbtSSLConfig dbtSecurityConfig
    gcpConfig gcpImpersonateServiceAccount gitCredentials httpConnection KafkaConnectConfig
    metastoreConnection mwaaConfig nifiConfig openAPISchemaConnection packageConnection
    pbitFilesSource policyAgentConfig sampleDataStorageConfig saslConfig schemaRegistrySSL
    securityConfig sslConfig storageConfig storageMetadataConfigSource
"""
OBJECT_KEYS = frozenset(_OBJECTS.split())
"""Names whose values are objects; anything else in their place may be a whole key file."""

WORD_KEYS = frozenset(("auth", "authentication", "authType"))
"""Names whose values are objects, or one word of a list."""

USER_KEYS = frozenset(("saslUsername", "username"))
"""Names whose values name a user, beside whom some drivers take a password: `user/password`."""


@cache
def kept_keys(service_type: str) -> frozenset[str]:
    """The names of the keys that are kept of connections to this type of service."""
    return frozenset((*_OF_EVERY_TYPE.split(), *_OF_TYPE.get(service_type, "").split()))


_LONGEST = 2_000
"""A longer text says more than where a service is."""
_WORD = re.compile(r"[A-Za-z][A-Za-z_]{0,39}").fullmatch


def without_secrets(service_type: str, connection: Mapping[str, Any]) -> dict[str, Any] | None:
    """The connection as it is recorded: known keys alone, secrets masked; None if nothing is left.

    What is recorded is recorded again unchanged.
    """
    config = connection.get("config")
    if not isinstance(config, dict):
        return None
    kept = kept_object(config, kept_keys(service_type))
    return {"config": kept} if kept else None


def kept_object(given: Mapping[str, Any], keys: frozenset[str]) -> dict[str, Any]:
    """An object as it is recorded: of it and of the objects in it these keys, secrets masked."""
    kept: dict[str, Any] = {}
    for key, value in given.items():
        if value is None:
            continue
        if key in SECRET_KEYS and not isinstance(value, (dict, list)):
            kept[key] = MASK
        elif key in keys:
            kept[key] = _kept(key, value, keys)
    return kept


def _kept(key: str, value: Any, keys: frozenset[str]) -> Any:
    """The value of a key that is kept, without the secrets in it."""
    if isinstance(value, dict):
        return kept_object(value, keys)
    if isinstance(value, list):
        return [_kept(key, item, keys) for item in value]
    if key in OBJECT_KEYS:
        return MASK
    return MASK if isinstance(value, str) and _holds_secret(key, value) else value


def _holds_secret(key: str, text: str) -> bool:
    """Return True if a text may be or hold a secret where `key` has it."""
    if key in WORD_KEYS:
        return _WORD(text) is None
    beside_user = key in USER_KEYS and ("/" in text or ":" in text)
    return len(text) > _LONGEST or beside_user or holds_secret(text)
