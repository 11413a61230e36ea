"""Rules for every row of the registry, made-up rows included."""

import pytest

from domain.aggregate.lifecycle import TRANSITIONS
from domain.kinds.bodies.base import EntityBody, annotated_fields
from domain.kinds.entity_kind import EntityKind
from domain.kinds.registry import KINDS, ROWS
from domain.openmetadata.entity_properties import field_aliases

SPECIFIED_INDEXES = {
    "table": "table_search_index",
    "topic": "topic_search_index",
    "dashboard": "dashboard_search_index",
    "pipeline": "pipeline_search_index",
    "mlmodel": "mlmodel_search_index",
    "container": "container_search_index",
    "storedProcedure": "stored_procedure_search_index",
    "chart": "chart_search_index",
    "dashboardDataModel": "dashboard_data_model_search_index",
    "query": "query_search_index",
    "metric": "metric_search_index",
    "apiService": "api_service_search_index",
    "apiCollection": "api_collection_search_index",
    "apiEndpoint": "api_endpoint_search_index",
    "searchIndex": "search_entity_search_index",
    "glossaryTerm": "glossary_term_search_index",
    "tag": "tag_search_index",
    "user": "user_search_index",
    "team": "team_search_index",
    "domain": "domain_search_index",
    "testCase": "test_case_search_index",
    "testSuite": "test_suite_search_index",
    "dataProduct": "data_product_search_index",
}
IDENTITY = {"name", "displayName", "fullyQualifiedName", "description"}

every_kind = pytest.mark.parametrize("kind", ROWS, ids=lambda kind: kind.name)


def parent_kinds(kind: EntityKind) -> set[str]:
    attributes = {key: attribute for attribute, key in kind.key_of.items()}
    return {name for key in kind.parents for name in kind.references[attributes[key]]}


def test_registry_names_are_unique() -> None:
    assert len(KINDS) == len(ROWS) == 37
    assert len({row.collection for row in ROWS}) == len(ROWS)
    assert len({row.index for row in ROWS}) == len(ROWS)
    assert len({row.body for row in ROWS}) == len(ROWS)


def test_registry_has_the_specified_indexes() -> None:
    assert {name: KINDS[name].index for name in SPECIFIED_INDEXES} == SPECIFIED_INDEXES


@every_kind
def test_kind_keys_are_declared_in_its_body(kind: EntityKind) -> None:
    named = {
        *kind.optional,
        *kind.parents,
        *kind.inherits,
        *kind.filters.values(),
        *field_aliases(kind.name).values(),
        *([kind.columns] if kind.columns else []),
    }
    # These are of no body: they follow from events of its own.
    of_events = {"latestResult", "verdict"} if kind.agreement else set()
    assert named - kind.keys == of_events | ({"formerNames"} if kind.renamable else set())
    assert {field.path.split(".")[0] for field in kind.search} - kind.keys - IDENTITY == set()


@every_kind
def test_kind_optional_keys_are_distinct_and_never_required(kind: EntityKind) -> None:
    assert len(set(kind.optional)) == len(kind.optional)
    assert {"name", *kind.parents[-1:]} & set(kind.optional) <= {"domains"}


@every_kind
def test_kind_refers_only_to_kinds_of_the_registry(kind: EntityKind) -> None:
    for attribute, kinds in kind.references.items():
        assert set(kinds) <= KINDS.keys(), attribute
    for attribute, name in annotated_fields(kind.body, "outside").items():
        assert name not in KINDS, attribute


@every_kind
def test_kind_stands_after_its_parents(kind: EntityKind) -> None:
    order = list(KINDS)
    assert kind.root or kind.parents
    for parent in parent_kinds(kind) - {kind.name}:
        assert order.index(parent) < order.index(kind.name)


@every_kind
def test_kind_inherits_what_a_parent_has(kind: EntityKind) -> None:
    inherited = {key for name in parent_kinds(kind) for key in KINDS[name].keys}
    assert set(kind.inherits) <= inherited


@every_kind
def test_kind_filters_select_by_a_reference(kind: EntityKind) -> None:
    selecting = {*kind.filters.values(), *kind.also_in}
    assert selecting <= {kind.key_of[name] for name in kind.references}
    assert bool(kind.also_in) <= bool(kind.lists.by_id)


@every_kind
def test_kind_is_searched_by_its_names_first(kind: EntityKind) -> None:
    boosts = {field.path: field.boost for field in kind.search}
    assert len(boosts) == len(kind.search)
    assert boosts["name"] == boosts["displayName"] == max(boosts.values())


@every_kind
def test_kind_statuses_are_those_of_the_state_machine(kind: EntityKind) -> None:
    if kind.statuses:
        assert kind.statuses == tuple(TRANSITIONS)
        assert "entityStatus" in kind.keys


def test_data_contract_fields_are_the_specified_ones() -> None:
    contract = KINDS["dataContract"]
    assert sorted(contract.optional) == [
        "extension",
        "latestResult",
        "owners",
        "reviewers",
        "verdict",
    ]
    assert field_aliases("dataContract") == {}


def test_table_fields_hold_the_specified_ones() -> None:
    table = KINDS["table"]
    specified = {"owners", "tags", "columns", "followers", "tableConstraints", "usageSummary"}
    assert specified <= set(table.optional)
    assert field_aliases("table") == {"owner": "owners"}


def test_kind_made_up_gets_everything_from_its_row() -> None:
    class Metric(EntityBody, kw_only=True):
        tags: list[str] | None = None
        formula: str | None = None

    kind = EntityKind(
        name="metric",
        collection="metrics",
        body=Metric,
        root=True,
        large=("formula",),
        searched={"formula": 3},
    )
    assert kind.index == "metric_search_index"
    assert kind.optional == ("tags", "formula")
    assert kind.arrays == {"tags"}
    assert kind.references == {}
    assert [field.path for field in kind.search] == [
        "name",
        "displayName",
        "fullyQualifiedName",
        "description",
        "formula",
        "tags.tagFQN",
    ]
