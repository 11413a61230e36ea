"""Properties that entities have in OpenMetadata, also those that this catalog does not hold.

OpenMetadata's clients name any of them in `fields`. A property without a value here is known
nevertheless: naming it changes nothing and is no mistake. Older requests have other keys for some.
"""

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

from domain.errors import InvalidInput
from domain.kinds.registry import KINDS
from domain.openmetadata.document import SERVER_KEYS

_OF_EVERY_KIND = """
    changeDescription dataContract entityStatus href impersonatedBy incrementalChangeDescription
"""
_OF_SERVICES = "pipelines testConnectionResult"

_NOT_HELD: Mapping[str, str] = MappingProxyType(
    {
        "team": "children childrenCount inheritedRoles owns userCount users",
        "user": """
            allowImpersonation authenticationMechanism follows inheritedPersonas inheritedRoles
            isEmailVerified lastActivityTime lastLoginTime owns personaPreferences
        """,
        "domain": "assets children childrenCount",
        "dataProduct": "consumesFrom providesTo",
        "classification": "disabled termCount usageCount",
        "tag": "children deprecated disabled usageCount",
        "glossary": "disabled termCount usageCount",
        "glossaryTerm": "children childrenCount disabled usageCount",
        "database": "databaseProfilerConfig databaseSchemas location",
        "databaseSchema": "databaseSchemaProfilerConfig tables",
        "table": """
            compressionCodec compressionEnabled compressionStrategy customMetrics joins location
            pipelineObservability profile queries sampleData testSuite
        """,
        "topic": "sampleData",
        "pipeline": "endDate pipelineStatus",
        "container": "children retentionPeriod",
        "searchIndex": "sampleData",
        "metric": "derivedFrom",
        "testSuite": """
            connection dataContract executable executableEntityReference ingestionRunner inherited
            pipelines serviceType summary testCaseResultSummary testConnectionResult tests
        """,
        "testCase": """
            autoCloseIncident failedRowsSample incidentId incidentStatus testCaseResult
            testCaseStatus
        """,
        "ingestionPipeline": """
            applicationType deployed enabled ingestionRunner openMetadataServerConnection
            pipelineStatuses
        """,
        "dataContract": """
            contractUpdates createdAt createdBy inherited latestResult testSuite verdict
        """,
    }
)
"""Kind -> the properties beside those of every kind that bodies of its entities never hold; reads
make some of them from measurements."""


def field_aliases(kind_name: str) -> Mapping[str, str]:
    """Other spellings that `fields` accepts for properties of a kind: alias -> property."""
    return {"owner": "owners"} if kind_name == "table" else {}


@cache
def known_properties(kind_name: str) -> frozenset[str]:
    """The names of all properties that entities of a kind have here or in OpenMetadata."""
    not_held = _NOT_HELD.get(kind_name, _OF_SERVICES if kind_name.endswith("Service") else "")
    return KINDS[kind_name].keys.union(SERVER_KEYS, _OF_EVERY_KIND.split(), not_held.split())


REQUEST_ALIASES: Mapping[str, str] = MappingProxyType({"domain": "domains", "owner": "owners"})
"""Alias -> key. An alias holds the one element of what is now a list."""


def unalias(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """A decoded payload with its aliases replaced: the argument itself when it has none.

    Raises InvalidInput when an alias stands beside the key it is short for.
    """
    given = [alias for alias in REQUEST_ALIASES if alias in values]
    if not given:
        return values
    plain = {key: value for key, value in values.items() if key not in given}
    for alias in given:
        key = REQUEST_ALIASES[alias]
        if key in values:
            raise InvalidInput(f"{alias} and {key} say the same thing: give one of them")
        if values[alias] is not None:
            plain[key] = [values[alias]]
    return plain
