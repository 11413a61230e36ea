"""Names of indexes that a search may give, and the kinds they mean."""

import pytest

from domain.errors import InvalidInput
from domain.kinds.registry import KINDS
from projections.search.index_names import kinds_of, meanings


@pytest.mark.parametrize("kind", KINDS)
def test_index_of_a_kind_means_the_kind_alone(kind: str) -> None:
    assert kinds_of(KINDS[kind].index) == {kind}


@pytest.mark.parametrize(
    ("index", "kinds"),
    [
        ("table", {"table"}),
        ("databaseSchema", {"databaseSchema", "table", "storedProcedure"}),
        ("database", {"database", "databaseSchema", "table", "storedProcedure"}),
        (
            "databaseService",
            {"databaseService", "database", "databaseSchema", "table", "storedProcedure", "query"},
        ),
        ("mlModelService", {"mlmodelService", "mlmodel"}),
        ("glossary", {"glossary", "glossaryTerm"}),
        ("searchIndex", {"searchIndex"}),
        ("user", {"user"}),
        ("dataContract", {"dataContract"}),
        ("table_search_index,topic", {"table", "topic"}),
        (" topic , user_search_index ", {"topic", "user"}),
        ("test_case_result_search_index,topic", {"topic"}),
    ],
)
def test_kind_is_an_alias_with_what_lies_below_it(index: str, kinds: set[str]) -> None:
    found = kinds_of(index)

    assert found == kinds


def test_all_is_every_kind_beside_any_name() -> None:
    assert kinds_of("all") is None
    assert kinds_of("table,all") is None


def test_data_assets_are_no_people_and_no_services() -> None:
    assets, services = kinds_of("dataAsset"), kinds_of("service")

    assert assets is not None
    assert services is not None
    assert assets >= {"table", "topic", "database", "glossaryTerm", "tag", "dataProduct"}
    assert not assets & (services | {"user", "team", "domain", "glossary", "dataContract"})
    assert services == {name for name in KINDS if name.endswith("Service")}


@pytest.mark.parametrize(
    "index",
    [
        "test_case_result_search_index",
        "testCaseResult",
        "metadata_service_search_index",
        "entity_report_data_index",
        "web_analytic_user_activity_report_data_index",
        "raw_cost_analysis_report_data_index",
    ],
)
def test_index_that_only_openmetadata_has_means_no_kind(index: str) -> None:
    assert kinds_of(index) == frozenset()


def test_suites_and_cases_are_found_by_their_own_names_alone() -> None:
    assert kinds_of("testSuite") == {"testSuite", "testCase", "ingestionPipeline"}
    assert kinds_of("test_case_search_index") == {"testCase"}
    assert not kinds_of("database,service,dataAsset") & {
        "testSuite",
        "testCase",
        "ingestionPipeline",
    }


@pytest.mark.parametrize("index", ["", "tables", "Table", "table_search_index,", "all,", "*"])
def test_other_name_is_refused(index: str) -> None:
    with pytest.raises(InvalidInput, match=r"index must be all or one of .*, got '"):
        kinds_of(index)


def test_every_name_means_known_kinds() -> None:
    assert all(kinds <= KINDS.keys() for kinds in meanings().values())
