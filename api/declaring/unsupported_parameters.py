"""Parameters with which OpenMetadata narrows or orders a list and this catalog does not.

Passing over one in silence would show more than was asked for, and clients delete, profile and
compare what a list shows. A list refuses all parameters that it does not know; of these it says
why, and accepts the value that changes nothing, which clients send.
"""

from collections.abc import Mapping
from types import MappingProxyType

UNSUPPORTED: Mapping[str, Mapping[str, str | None]] = MappingProxyType(
    {
        "table": {"includeEmptyTestSuite": "true"},
        "container": {"root": "false"},
        "user": {"isAdmin": None, "isBot": None},
        "team": {"isJoinable": None},
        "classification": {"disabled": "false"},
        "tag": {"disabled": "false"},
        "glossaryTerm": {"directChildrenOf": None, "entityStatus": None},
        "testDefinition": dict.fromkeys(
            ("entityType", "testPlatform", "supportedDataType", "supportedService", "enabled")
        ),
        "testSuite": {
            "orderByLastExecutionDate": "false",
            "testSuiteType": None,
            "executableTestSuite": None,
            "includeEmptyTestSuites": "true",
            "entityFQN": None,
        },
        "testCase": {
            "entityLink": None,
            "entityFQN": None,
            "includeAllTests": "false",
            "orderByLastExecutionDate": "false",
            "testSuiteType": None,
            "testCaseStatus": None,
            "testCaseType": "all",
            "testPlatforms": None,
            "createdBy": None,
        },
    }
)
"""Kind -> parameter that its list refuses -> the value that changes nothing, if there is one: its
default, or what holds for all entities of the kind in this catalog."""
