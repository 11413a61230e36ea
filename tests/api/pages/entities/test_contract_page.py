"""A contract as people read it, its agreement with its table, and lists by status."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.api.conftest import Client, running_under
from tests.api.pages.conftest import Browser

TABLE = "service.database.schema.orders"
PAGE = f"/entity/dataContract/{TABLE}.dataContract_orders"
POLICIES = """
[[rule]]
role = "admin"
allow = ["list", "view", "search", "create", "edit", "delete", "sample"]

[[rule]]
role = "schemaless"
allow = ["list", "view", "search"]

[[rule]]
role = "schemaless"
kinds = ["dataContract"]
withhold = ["schema"]

[[rule]]
role = "tester"
allow = ["list", "view", "search"]
kinds = ["dataContract"]
"""


def columns(*given: tuple[str, str]) -> list[Any]:
    return [{"name": name, "dataType": type_} for name, type_ in given]


@pytest.fixture(scope="module")
def promised(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A table with a full contract, and a second one with a bare contract."""
    directory = tmp_path_factory.mktemp("promised")
    with running_under(directory, POLICIES) as client:
        client.schema()
        table = client.table("orders", columns=columns(("id", "INT"), ("at", "DATE"), ("x", "INT")))
        other = client.table("others")
        client.create(
            "dataQuality/testDefinitions",
            name="notNull",
            entityType="COLUMN",
            testPlatforms=["OpenMetadata"],
        )
        test = client.create(
            "dataQuality/testCases",
            name="ids",
            entityLink=f"<#E::table::{TABLE}::columns::id>",
            testDefinition="notNull",
        )
        answer = client.request(
            "POST",
            f"/v1/dataQuality/testCases/testCaseResults/{test['fullyQualifiedName']}",
            json={
                "timestamp": 1_790_000_000_000,
                "testCaseStatus": "Failed",
                "result": "3 <nulls>",
            },
        )
        assert answer.status_code < 300, answer.text
        client.create(
            "dataContracts",
            name="orders",
            entity={"type": "table", "id": table["id"]},
            entityStatus="Active",
            schema=columns(("id", "INT"), ("at", "DATE")),
            termsOfUse="Only for **reports**. <script>alert(1)</script>",
            sla={
                "refreshFrequency": {"interval": 1, "unit": "day"},
                "maxLatency": {"value": 4, "unit": "hour"},
                "availabilityTime": "09:00",
                "timezone": "GMT+00:00 (Europe/London)",
                "inherited": True,
            },
            semantics=[
                {"name": "Owned", "description": "Somebody", "rule": "{}", "enabled": False}
            ],
            qualityExpectations=[{"type": "testCase", "id": test["id"]}],
            odcsQualityRules=[
                {
                    "name": "few nulls",
                    "column": "id",
                    "metric": "nullValues",
                    "mustBeLessThan": 3.0,
                    "mustBeBetween": [0, 2.5],
                    "severity": "high<er>",
                }
            ],
            security={
                "dataClassification": "Confidential",
                "policies": [{"accessPolicy": "Readers", "identities": ["ann", "bob"]}],
            },
            effectiveFrom="2026-01-01T00:00:00Z",
            extension={"own": {"key": "kept"}},
        )
        client.create("dataContracts", name="others", entity={"type": "table", "id": other["id"]})
        # What the table promised goes away without its contract.
        left = columns(("id", "BIGINT"), ("x", "INT"))
        patch = [{"op": "add", "path": "/columns", "value": left}]
        answer = client.request("PATCH", f"/v1/tables/{table['id']}", json=patch)
        assert answer.status_code == 200, answer.text
        yield client


def words_of(text: str) -> str:
    """The text of a page as somebody reads it."""
    main = text.partition("<main")[2].partition(">")[2]
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", main))


@pytest.mark.parametrize(
    "said",
    [
        "Renewed every 1 day",
        "Never older than 4 hours",
        "There at 09:00 GMT+00:00 (Europe/London)",
        "Inherited yes",
        "Only for reports . &lt;script&gt;",
        "The data is Confidential .",
        "Readers Identities ann, bob",
        "ids Failed 2026-09-21 14:13 UTC 3 &lt;nulls&gt;",
        "few nulls id nullValues &lt; 3, between 0 and 2.5",
        "Severity: high&lt;er&gt;",
        "Owned off Somebody {}",
        "Effective from 2026-01-01T00:00:00Z",
        "&#34;key&#34;: &#34;kept&#34;",
        "0 of 2 promised columns agree with orders:",
        "id is BIGINT , promised as INT",
        "at is missing, promised as DATE",
        "Beside them 1 column of which nothing is promised.",
    ],
)
def test_contract_says_in_words_what_it_promises(promised: Client, said: str) -> None:
    assert said in words_of(Browser(promised, "admin").get(PAGE).text)


def test_table_says_what_of_its_contract_agrees(promised: Client) -> None:
    text = words_of(Browser(promised, "admin").get(f"/entity/table/{TABLE}").text)

    assert "at is missing, promised as DATE" in text
    assert "agree with this table" in text
    assert "promised" not in words_of(
        Browser(promised, "admin").get("/entity/table/service.database.schema.others").text
    )


def test_what_is_withheld_is_not_compared(promised: Client) -> None:
    for page in (PAGE, f"/entity/table/{TABLE}"):
        answer = Browser(promised, "schemaless").get(page)
        assert answer.status_code == 200
        assert "promised columns" not in answer.text
    tester = words_of(Browser(promised, "tester").get(PAGE).text)
    assert "promised columns" not in tester
    assert "Failed" not in tester
    assert "never run" not in tester


def test_list_of_contracts_is_narrowed_by_status(promised: Client) -> None:
    browser = Browser(promised, "admin")
    text = browser.get("/browse/dataContract").text
    links = re.findall(r'<a href="([^"]*)"[^>]*>(\w+) <span class="count">(\d+)', text)

    assert links == [
        ("/browse/dataContract", "All", "2"),
        ("/browse/dataContract?status=Draft", "Draft", "1"),
        ("/browse/dataContract?status=Active", "Active", "1"),
        ("/browse/dataContract?status=Deprecated", "Deprecated", "0"),
    ]
    narrowed = browser.get("/browse/dataContract?status=Active").text
    assert "dataContract_orders" in narrowed
    assert "dataContract_others" not in narrowed
    assert browser.get("/browse/dataContract?status=Gone").status_code == 400
    assert "status=" not in browser.get("/browse/table").text
