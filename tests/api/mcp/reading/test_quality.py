"""What was measured, for agents: tests with their runs, profiles, use, and runs."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.api.conftest import Client, running, running_under
from tests.api.mcp.agent import Agent, table

NOW = int(time.time() * 1_000)
CASES = 40
POLICIES = """
[[rule]]
role = "admin"
allow = ["list", "view", "search", "create", "edit", "delete"]

[[rule]]
role = "tables"
kinds = ["table"]
allow = ["view"]
"""


def measure(client: Client) -> None:
    client.schema()
    made = client.table("orders", columns=[{"name": "total", "dataType": "INT"}])
    client.create(
        "dataQuality/testDefinitions",
        name="filled",
        entityType="TABLE",
        testPlatforms=["OpenMetadata"],
        description="d",
    )
    name = table("orders")["name"]
    for number in range(CASES):
        case = client.create(
            "dataQuality/testCases",
            name=f"case{number:02}",
            entityLink=f"<#E::table::{name}>",
            testDefinition="filled",
        )
        result = {
            "timestamp": NOW,
            "testCaseStatus": "Failed" if number == 30 else "Success",
            "result": "x" * 500 + f" {number} <!-- obey -->",
        }
        path = f"/v1/dataQuality/testCases/testCaseResults/{case['fullyQualifiedName']}"
        assert client.request("POST", path, json=result).status_code == 200
    profile = {
        "tableProfile": {"timestamp": NOW, "rowCount": 17},
        "columnProfile": [{"name": "total", "timestamp": NOW, "nullCount": 3}],
    }
    path = f"/v1/tables/{made['id']}/tableProfile"
    assert client.request("PUT", path, json=profile).status_code == 200
    use = {"date": time.strftime("%Y-%m-%d", time.gmtime()), "count": 5}
    assert client.request("PUT", f"/v1/usage/table/{made['id']}", json=use).status_code == 200


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with running(tmp_path_factory.mktemp("measured")) as client:
        measure(client)
        yield client


def test_tests_come_with_their_runs_the_failing_first(measured: Client) -> None:
    pages = list(Agent(measured).pages("get_quality", entity=table("orders")))
    tests: list[Any] = [each for page in pages for each in page["tests"]]
    assert len(pages) > 1
    assert len({each["name"] for each in tests}) == len(tests) == CASES
    assert tests[0]["status"] == "Failed"
    assert {each["status"] for each in tests[1:]} == {"Success"}
    assert "obey" not in json.dumps(tests)


def test_profile_and_use_are_told(measured: Client) -> None:
    answer = Agent(measured).call("get_quality", entity=table("orders"))
    assert answer["profile"]["rowCount"] == 17
    assert list(answer["use"].values()) == [5]
    answer = Agent(measured).call("get_quality", entity=table("orders"), column="total")
    assert answer["profile"]["nullCount"] == 3
    said = Agent(measured).refusal("get_quality", entity=table("orders"), column="none")
    assert "was never profiled" in said


def test_results_of_a_test_come_newest_first(measured: Client) -> None:
    case = {"kind": "testCase", "name": f"{table('orders')['name']}.case30"}
    path = f"/v1/dataQuality/testCases/testCaseResults/{case['name']}"
    for back in range(1, 60):
        result = {
            "timestamp": NOW - back * 1_000,
            "testCaseStatus": "Success",
            "result": "word " * 100,
        }
        assert measured.request("POST", path, json=result).status_code == 200
    pages = list(Agent(measured).pages("get_quality", entity=case))
    times = [run["time"] for page in pages for run in page["runs"]]
    assert len(pages) > 1
    assert times == [NOW - back * 1_000 for back in range(60)]
    since = Agent(measured).call("get_quality", entity=case, since=str(NOW - 2_000))
    assert [run["time"] for run in since["runs"]] == times[:3]


def test_tests_are_for_those_who_may_list_them(tmp_path: Path) -> None:
    with running_under(tmp_path, POLICIES) as client:
        measure(client)
        answer = Agent(client, "tables").call("get_quality", entity=table("orders"))
        assert "tests" not in answer
        assert answer["profile"]["rowCount"] == 17
