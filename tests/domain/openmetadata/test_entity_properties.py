"""The names of properties that OpenMetadata's clients may ask any kind for."""

import pytest

from domain.kinds.entity_kind import EntityKind
from domain.kinds.registry import KINDS
from domain.openmetadata.entity_properties import known_properties


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.name)
def test_properties_hold_all_that_entities_are_shown_with(kind: EntityKind) -> None:
    shown = {"id", "name", "fullyQualifiedName", "version", "updatedAt", "updatedBy", "deleted"}
    assert shown | kind.keys | set(kind.optional) <= known_properties(kind.name)


@pytest.mark.parametrize(
    ("kind", "asked"),
    [
        ("table", {"customMetrics", "joins", "profile", "sampleData", "sourceHash", "testSuite"}),
        ("database", {"databaseProfilerConfig", "databaseSchemas", "location"}),
        ("databaseSchema", {"databaseSchemaProfilerConfig", "tables"}),
        ("databaseService", {"pipelines", "testConnectionResult"}),
        ("apiService", {"pipelines", "testConnectionResult"}),
        ("metric", {"derivedFrom"}),
        ("pipeline", {"pipelineStatus", "endDate"}),
        ("user", {"follows", "inheritedRoles", "owns"}),
        ("dataContract", {"latestResult", "testSuite"}),
        ("glossary", {"changeDescription", "termCount", "usageCount"}),
    ],
)
def test_properties_hold_what_only_openmetadata_keeps(kind: str, asked: set[str]) -> None:
    assert asked <= known_properties(kind)


def test_properties_are_those_of_the_kind_alone() -> None:
    assert "customMetrics" not in known_properties("topic")
    assert "columns" not in known_properties("database")
