"""Properties that entities have in OpenMetadata, also those that this catalog does not hold.

OpenMetadata's clients name any of them in `fields`. A property without a value here is known
nevertheless: naming it changes nothing and is no mistake.
"""

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from domain.kinds.registry import KINDS
from domain.openmetadata.document import SERVER_KEYS

_OF_EVERY_KIND = frozenset(
    {
        "changeDescription",
        "dataContract",
        "entityStatus",
        "href",
        "impersonatedBy",
        "incrementalChangeDescription",
    }
)
_OF_SERVICES = frozenset({"pipelines", "testConnectionResult"})

_NOT_HELD: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "team": frozenset(
            {"children", "childrenCount", "inheritedRoles", "owns", "userCount", "users"}
        ),
        "user": frozenset(
            {
                "allowImpersonation",
                "authenticationMechanism",
                "follows",
                "inheritedPersonas",
                "inheritedRoles",
                "isEmailVerified",
                "lastActivityTime",
                "lastLoginTime",
                "owns",
                "personaPreferences",
            }
        ),
        "domain": frozenset({"assets", "children", "childrenCount"}),
        "dataProduct": frozenset({"consumesFrom", "providesTo"}),
        "classification": frozenset({"disabled", "termCount", "usageCount"}),
        "tag": frozenset({"children", "deprecated", "disabled", "usageCount"}),
        "glossary": frozenset({"disabled", "termCount", "usageCount"}),
        "glossaryTerm": frozenset({"children", "childrenCount", "disabled", "usageCount"}),
        "databaseService": _OF_SERVICES,
        "messagingService": _OF_SERVICES,
        "dashboardService": _OF_SERVICES,
        "pipelineService": _OF_SERVICES,
        "mlmodelService": _OF_SERVICES,
        "storageService": _OF_SERVICES,
        "searchService": _OF_SERVICES,
        "apiService": _OF_SERVICES,
        "database": frozenset({"databaseProfilerConfig", "databaseSchemas", "location"}),
        "databaseSchema": frozenset({"databaseSchemaProfilerConfig", "tables"}),
        "table": frozenset(
            {
                "compressionCodec",
                "compressionEnabled",
                "compressionStrategy",
                "customMetrics",
                "joins",
                "location",
                "pipelineObservability",
                "profile",
                "queries",
                "sampleData",
                "testSuite",
            }
        ),
        "topic": frozenset({"sampleData"}),
        "pipeline": frozenset({"endDate", "pipelineStatus"}),
        "container": frozenset({"children", "retentionPeriod"}),
        "searchIndex": frozenset({"sampleData"}),
        "metric": frozenset({"derivedFrom"}),
        "testSuite": frozenset(
            {
                "connection",
                "dataContract",
                "executable",
                "executableEntityReference",
                "inherited",
                "ingestionRunner",
                "pipelines",
                "serviceType",
                "summary",
                "testCaseResultSummary",
                "testConnectionResult",
                "tests",
            }
        ),
        "testCase": frozenset(
            {
                "autoCloseIncident",
                "failedRowsSample",
                "incidentId",
                "incidentStatus",
                "testCaseResult",
                "testCaseStatus",
            }
        ),
        "dataContract": frozenset(
            {"contractUpdates", "createdAt", "createdBy", "inherited", "latestResult", "testSuite"}
        ),
    }
)
"""Kind -> the properties beside those of every kind that its entities never have a value for."""

_ALIASES: Mapping[str, Mapping[str, str]] = MappingProxyType({"table": {"owner": "owners"}})


def field_aliases(kind_name: str) -> Mapping[str, str]:
    """Other spellings that `fields` accepts for properties of a kind: alias -> property."""
    return _ALIASES.get(kind_name, {})


@cache
def known_properties(kind_name: str) -> frozenset[str]:
    """The names of all properties that entities of a kind have here or in OpenMetadata."""
    not_held = _NOT_HELD.get(kind_name, frozenset())
    return KINDS[kind_name].keys.union(SERVER_KEYS, _OF_EVERY_KIND, not_held)
