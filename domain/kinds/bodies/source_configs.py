"""Configurations of ingestion pipelines: what of them is recorded, which is never a secret.

As with connections, a key that is not named is not kept: headers of requests, parameters and the
configurations of applications may hold anything.
"""

from collections.abc import Mapping
from typing import Any

from domain.kinds.bodies.connections import kept_keys, kept_object

_OWN = """
    apiCollectionFilterPattern apiEndpointFilterPattern bucketFilterPattern catalogMapping
    classificationFilterPattern classificationLanguage computeColumnMetrics
    computeTableMetrics confidence containerName crossDatabaseServiceNames dbServiceNames
    dbServicePrefixes dbtBucketName dbtCatalogFilePath dbtCatalogHttpPath
    dbtClassificationName dbtCloudAccountId dbtCloudJobId dbtCloudProjectId dbtCloudUrl
    dbtConfigSource dbtConfigType dbtManifestFilePath dbtManifestHttpPath dbtObjectPrefix
    dbtPrefixConfig dbtRunResultsFilePath dbtRunResultsHttpPath dbtSecurityConfig
    dbtSourcesFilePath dbtSourcesHttpPath dbtSSLConfig dbtUpdateDescriptions dbtUpdateOwners
    dbtVerifySSL defaultManifest enableAutoClassification enableTempTableLineage
    entityFullyQualifiedName extractJsonSchema generateSampleData includeCustomProperties
    includeDataModels includeDDL includeDirectories includeDraftDashboard includeFiles
    includeIndexTemplate includeLineage includeMetrics includeOwners includeSampleData
    includeSpreadsheets includeStoredProcedures includeTables includeTags
    includeUnDeployedPipelines includeUsage includeViews includeWorksheets incremental
    incrementalLineageProcessing jsonSchemaSampleSize lineageInformation lookbackDays
    manifestFilePath manifestHttpPath markDeletedApiCollections markDeletedCharts
    markDeletedContainers markDeletedDashboards markDeletedDatabases markDeletedDataModels
    markDeletedDirectories markDeletedFiles markDeletedMlModels markDeletedPipelines
    markDeletedSchemas markDeletedSearchIndexes markDeletedSpreadsheets
    markDeletedStoredProcedures markDeletedTables markDeletedTopics markDeletedWorksheets
    messagingServiceNames metrics objectPrefix overrideLineage overrideMetadata
    overrideViewLineage ownershipUpdateMode parsingTimeoutLimit processCrossDatabaseLineage
    processQueryCostAnalysis processQueryLineage processStoredProcedureLineage
    processViewLineage profileSample profileSampleConfig profileSampleType queryLogDuration
    queryLogFilePath queryParserConfig queryParsingTimeoutLimit randomizedSample resultLimit
    rowCountThreshold safetyMarginDays sampleDataCount sampleSize samplingMethodType
    searchAcrossDatabases serverFilterPattern smartSampling stageFileLocation
    statusLookbackDays storageMetadataConfigSource storageServiceNames storeSampleData
    tagFilterPattern testCases threadCount threads thresholds timeoutSeconds
    useFqnForFiltering useStatistics
"""
_KEPT = kept_keys("").union(_OWN.split())


def without_secrets(given: Mapping[str, Any]) -> dict[str, Any]:
    """The `sourceConfig` as it is recorded: known keys alone, secrets masked.

    What is recorded is recorded again unchanged.
    """
    config = given.get("config")
    return {"config": kept_object(config, _KEPT) if isinstance(config, dict) else {}}
