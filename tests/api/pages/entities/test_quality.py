"""Tests of data on pages: what fails is seen on the table, on the suite and on the test itself."""

import re
import time
from collections.abc import Iterator
from html import unescape
from typing import Any

import pytest

from tests.api.conftest import Client, running_under
from tests.api.pages.conftest import Browser

NOW = int(time.time() * 1_000)
TABLE = "service.database.schema.orders"
CASES = "dataQuality/testCases"
EVERYTHING = '["list", "view", "search", "create", "edit", "delete", "sample"]'
POLICIES = f"""
[[rule]]
role = "admin"
allow = {EVERYTHING}

[[rule]]
role = "reader"
allow = ["list", "view", "search"]

[[rule]]
role = "outsider"
kinds = ["table"]
allow = ["list", "view", "search"]

[[rule]]
role = "lister"
kinds = ["table"]
allow = ["list", "view"]

[[rule]]
role = "lister"
kinds = ["testCase"]
allow = ["list"]

[[rule]]
role = "suiteless"
allow = ["list", "view", "search"]

[[rule]]
role = "suiteless"
kinds = ["testCase"]
withhold = ["testSuites"]
"""


@pytest.fixture(scope="module")
def tested(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A table with a test that failed after it had passed, one that passed and one never run."""
    with running_under(tmp_path_factory.mktemp("tested"), POLICIES) as client:
        client.schema()
        client.table("orders")
        client.table("untested")
        client.create(
            "dataQuality/testDefinitions",
            name="notNull",
            entityType="COLUMN",
            testPlatforms=["OpenMetadata"],
        )
        case(client, "never", "id")
        good = case(client, "good", None)
        bad = case(client, "bad", "id")
        report(client, good, NOW - 5_000, testCaseStatus="Success", result="all there")
        report(client, bad, NOW - 9_000, testCaseStatus="Success", result="was <b>fine</b>")
        report(
            client,
            bad,
            NOW,
            testCaseStatus="Failed",
            result="3 <nulls>",
            failedRows=3,
            passedRows=4_000,
            sampleData="a row of a customer",
            testResultValue=[{"name": "nullCount", "value": "3"}],
        )
        yield client


def case(client: Client, name: str, column: str | None) -> str:
    """A test case of the table or its column; returns its qualified name."""
    link = f"<#E::table::{TABLE}::columns::{column}>" if column else f"<#E::table::{TABLE}>"
    made = client.create(CASES, name=name, entityLink=link, testDefinition="notNull")
    fqn: str = made["fullyQualifiedName"]
    return fqn


def report(client: Client, fqn: str, at: int, **result: Any) -> None:
    """Report the result of a run of a test case."""
    path = f"/v1/{CASES}/testCaseResults/{fqn}"
    answer = client.request("POST", path, json={"timestamp": at, **result})
    assert answer.status_code < 300, answer.text


def text_of(client: Client, role: str, address: str) -> str:
    """The text of a page's content, without marks and with single spaces."""
    answer = Browser(client, role).get(address)
    assert answer.status_code == 200
    main = answer.text.partition("<main")[2].partition(">")[2]
    return " ".join(unescape(re.sub("<[^>]*>", " ", main)).split())


@pytest.mark.parametrize(
    ("address", "column"),
    [
        (f"/entity/table/{TABLE}", "id"),
        (f"/entity/testSuite/{TABLE}.testSuite", f"{TABLE}.id"),
    ],
)
def test_failing_test_is_seen_where_its_table_is(tested: Client, address: str, column: str) -> None:
    said = text_of(tested, "reader", address)

    assert "1 test fails" in said
    assert "1 failed · 1 never run · 1 passed" in said
    tests = said.partition(" · 1 passed ")[2]
    at = f"{time.strftime('%Y-%m-%d %H:%M', time.gmtime(NOW / 1000))} UTC"
    assert f"bad {column} Failed {at} 3 <nulls>" in tests
    assert tests.index("bad") < tests.index("never") < tests.index("good")
    assert "was <b>fine</b>" not in said


def test_page_of_a_test_tells_of_its_runs_newest_first(tested: Client) -> None:
    said = text_of(tested, "admin", f"/entity/testCase/{TABLE}.id.bad")

    assert "test case Failed" in said.partition(TABLE)[0]
    assert said.index("3 <nulls>") < said.index("was <b>fine</b>")
    assert "3 of 4,003" in said
    assert "nullCount: 3" in said
    assert "a row of a customer" in said


def test_test_that_never_ran_says_so(tested: Client) -> None:
    said = text_of(tested, "reader", f"/entity/testCase/{TABLE}.id.never")

    assert "It has never been run" in said
    of_none = Browser(tested, "reader").get("/entity/table/service.database.schema.untested").text
    assert 'id="tests"' not in of_none
    assert "withheld" not in of_none


def test_rows_that_did_not_pass_are_for_those_who_may_see_samples(tested: Client) -> None:
    said = text_of(tested, "reader", f"/entity/testCase/{TABLE}.id.bad")

    assert "customer" not in said
    assert "The rows that did not pass are withheld from your roles." in said


@pytest.mark.parametrize("role", ["outsider", "suiteless"])
@pytest.mark.parametrize("table", ["orders", "untested"])
def test_tests_that_a_caller_may_not_list_are_said_to_be_withheld(
    tested: Client, role: str, table: str
) -> None:
    said = text_of(tested, role, f"/entity/table/service.database.schema.{table}")

    assert "The tests are withheld from your roles." in said
    assert "fails" not in said
    assert "nulls" not in said


def test_results_that_a_caller_may_not_view_are_said_to_be_withheld(tested: Client) -> None:
    said = text_of(tested, "lister", f"/entity/table/{TABLE}")

    assert "What their runs came to is withheld from your roles." in said
    assert "bad id" in said
    assert "fails" not in said
    assert "nulls" not in said


def test_tests_beyond_those_that_are_read_are_counted(
    tested: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.use_cases.data_tests.READ", 1)
    monkeypatch.setattr("api.use_cases.data_tests.MOST_BYTES", 1)

    said = text_of(tested, "reader", f"/entity/table/{TABLE}")

    assert "1 failed" in said
    assert "Only 1 of the 3 tests is looked at here" in said
    assert "never run" not in said
