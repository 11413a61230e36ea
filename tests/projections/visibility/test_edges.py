"""Details of edges do not tell what is withheld of their entities."""

from typing import Any

import msgspec
import pytest
from msgspec import Raw

from domain.kinds.registry import KINDS
from projections.visibility.edges import CODE_PATHS, EdgeSight
from projections.visibility.field_paths import field_paths
from projections.visibility.withholding import Withheld

DETAILS = {
    "sqlQuery": "select 1",
    "columnsLineage": [{"fromColumns": ["a.id"], "toColumn": "b.id"}],
    "description": "daily",
    "source": "Manual",
    "tempLineageTables": [{"fromEntity": "x", "toEntity": "y"}],
}


def fields(**changes: Any) -> dict[str, Raw]:
    whole = {
        "id": "e",
        "fromEntity": {"type": "table", "id": "a"},
        "toEntity": {"type": "dashboard", "id": "b"},
        "pipeline": {"type": "pipeline", "id": "p"},
        **DETAILS,
        **changes,
    }
    return {key: Raw(msgspec.json.encode(value)) for key, value in whole.items()}


def shown(*withheld: Withheld) -> set[str]:
    sight = EdgeSight(frozenset(KINDS), {one.kind: one for one in withheld})
    return set(sight.details(fields()))


EVERYTHING = {*DETAILS, "pipeline"}
COLUMNS, CODE = {"sqlQuery", "columnsLineage"}, {"sqlQuery", "tempLineageTables"}


@pytest.mark.parametrize(
    ("kind", "path", "hidden"),
    [
        ("table", "columns", COLUMNS),
        ("table", "columns.tags", set()),
        ("table", "schemaDefinition", CODE),
        ("table", "dataModel", CODE),
        ("dashboard", "charts", COLUMNS),
        ("pipeline", "tasks", COLUMNS | CODE),
        ("pipeline", "tasks.taskSQL", CODE),
        ("topic", "messageSchema", set()),
        ("lineageEdge", "description", {"description"}),
        ("lineageEdge", "columnsLineage", {"columnsLineage"}),
    ],
)
def test_details_are_shown_without_what_is_withheld(kind: str, path: str, hidden: set[str]) -> None:
    assert shown() == EVERYTHING
    assert shown(Withheld(kind, frozenset({path}))) == EVERYTHING - hidden


def test_part_of_the_mappings_is_withheld() -> None:
    withheld = Withheld("lineageEdge", frozenset({"columnsLineage.fromColumns"}))
    sight = EdgeSight(frozenset(KINDS), {"lineageEdge": withheld})
    details = sight.details(fields())
    assert msgspec.json.decode(details["columnsLineage"]) == [{"toColumn": "b.id"}]


def test_pipeline_of_a_hidden_kind_is_not_named() -> None:
    sight = EdgeSight(frozenset({"table", "dashboard"}), {})
    assert set(sight.details(fields())) == EVERYTHING - {"pipeline"}


def test_edge_is_shown_when_both_of_its_ends_may_be_viewed() -> None:
    assert EdgeSight(frozenset({"table", "dashboard"}), {}).shows(fields())
    assert not EdgeSight(frozenset({"table", "pipeline"}), {}).shows(fields())


def test_fields_with_code_are_fields_of_their_kinds() -> None:
    for kind, paths in CODE_PATHS.items():
        assert set(paths) <= set(field_paths(kind)), kind
