"""Rows of the tests of tables and of the contracts about them."""

from domain.kinds.bodies import contracts, quality
from domain.kinds.entity_kind import EntityKind
from domain.kinds.kind_options import Agreement, ListOptions, Members, Naming, OwnPaths, Suites

ROWS = (
    EntityKind(
        name="testDefinition",
        collection="dataQuality/testDefinitions",
        body=quality.TestDefinition,
        root=True,
        large=("parameterDefinition",),
    ),
    EntityKind(
        name="testSuite",
        collection="dataQuality/testSuites",
        body=quality.TestSuite,
        root=True,
        parents=("basicEntityReference",),
        filters={},
        naming=Naming(below=quality.SUITE),
        attached=True,
        members={"tests": Members("testCase", "testSuiteId")},
    ),
    EntityKind(
        name="testCase",
        collection="dataQuality/testCases",
        body=quality.TestCase,
        parents=("testSuite",),
        naming=Naming(by=("entityLink",)),
        attached=True,
        filters={"testSuiteId": "testSuite"},
        lists=ListOptions(by_id=("testSuiteId",)),
        suites=Suites(key="testSuites", brings=quality.suite_to_bring),
        own_paths=OwnPaths(texts=("inspectionQuery",)),
        searched={"entityFQN": 1},
    ),
    EntityKind(
        name="dataContract",
        body=contracts.DataContract,
        parents=("entity",),
        naming=Naming(prefix="dataContract_"),
        attached=True,
        agreement=Agreement(
            about="entity",
            describes="schema",
            rules="semantics",
            statuses=("Draft", "Active", "Deprecated"),
        ),
        lists=ListOptions(limit=1_000_000, by_id=("entity",)),
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
