"""What is tested of tables, and what contracts promise."""

from domain.kinds.bodies import contracts, quality
from domain.kinds.entity_kind import EntityKind

ROWS = (
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
        also_in=("testSuites",),
        groups="testSuites",
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
