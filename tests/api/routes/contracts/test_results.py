"""Validations of contracts over HTTP, and the results that are kept of them."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from domain.measurements.port import Page, PageRequest
from tests.api.conftest import Client, running_under

NOW = int(time.time() * 1_000)
HOUR = 3_600_000
COLUMNS = [
    {"name": "id", "dataType": "BIGINT"},
    {"name": "amount", "dataType": "DECIMAL", "precision": 10, "scale": 2},
    {"name": "at", "dataType": "TIMESTAMP"},
]
NOBODY = "01890000-0000-7000-8000-000000000000"


class Promise:
    """A table with a contract about it."""

    def __init__(self, client: Client, name: str, columns: Any = None, **body: Any) -> None:
        self.client = client
        self.table = client.table(name, columns=COLUMNS, description="Orders.")
        about = {"id": self.table["id"], "type": "table"}
        self.contract = client.create("dataContracts", name=name, entity=about, **body)
        self.path = f"/v1/dataContracts/{self.contract['id']}"

    def validate(self, **asked: str) -> Any:
        response = self.client.request("POST", f"{self.path}/validate", params=asked)
        assert response.status_code == 200, response.text
        return response.json()


def rule(name: str, logic: Any, *, enabled: bool = True) -> dict[str, Any]:
    text = logic if isinstance(logic, str) else json.dumps(logic)
    return {"name": name, "description": name, "rule": text, "enabled": enabled}


def test_columns_that_are_there_pass_and_those_that_are_not_fail(shared: Client) -> None:
    whole = Promise(shared, "whole", schema=COLUMNS)
    result = whole.validate()
    assert result["contractExecutionStatus"] == "Success"
    none: Any = {"failedFields": [], "duplicateFields": [], "typeMismatchFields": []}
    assert result["schemaValidation"] == {"passed": 3, "failed": 0, "total": 3, **none}
    assert result["dataContractFQN"] == whole.contract["fullyQualifiedName"]
    assert (result["dataContractVersion"], result["result"]) == (0.1, "version 0.1")
    head = shared.get("/v1/system/projections")["head"]

    patch = [{"op": "remove", "path": "/columns/2"}]
    assert shared.ask("PATCH", f"/v1/tables/{whole.table['id']}", json=patch)[0] == 200
    failed = whole.validate()
    assert failed["contractExecutionStatus"] == "Failed"
    assert failed["schemaValidation"] == {
        "passed": 2,
        "failed": 1,
        "total": 3,
        **none,
        "failedFields": ["at"],
    }
    assert failed["result"] == "version 0.1; failed: 1 column"
    # The patch alone made an event.
    assert shared.get("/v1/system/projections")["head"] == head + 1


def test_wider_types_inform_and_fail_where_that_is_asked(shared: Client) -> None:
    promised = [
        {"name": "id", "dataType": "INT"},
        {"name": "amount", "dataType": "DECIMAL", "precision": 12, "scale": 2},
    ]
    made = Promise(shared, "wider", schema=promised)
    result = made.validate()
    assert result["contractExecutionStatus"] == "Success"
    assert result["schemaValidation"]["typeMismatchFields"] == ["id: expected INT, got BIGINT"]
    strict = made.validate(strict="true")
    assert strict["contractExecutionStatus"] == "Failed"
    assert strict["schemaValidation"]["failed"] == 1


def test_rules_about_the_metadata_hold_or_fail_with_a_reason(shared: Client) -> None:
    rules = [
        rule("described", {"!!": {"var": "description"}}),
        rule("owned", {">": [{"length": {"var": "owners"}}, 0]}),
        rule("disabled", {"==": [1, 2]}, enabled=False),
        rule("asks for the caller", {"isOwner": [{"var": "owners"}]}),
        rule("no JSON", "{"),
        rule("tells", {"throw": {"var": "description"}}),
    ]
    result = Promise(shared, "ruled", semantics=rules).validate()
    assert result["contractExecutionStatus"] == "Failed"
    found = result["semanticsValidation"]
    assert (found["passed"], found["failed"], found["total"]) == (1, 4, 5)
    reasons = {each["ruleName"]: each["reason"] for each in found["failedRules"]}
    assert reasons.keys() == {"owned", "asks for the caller", "no JSON", "tells"}
    assert "isOwner" in reasons["asks for the caller"]
    assert "Orders" not in json.dumps(result)


def test_tests_count_by_their_newest_results(shared: Client) -> None:
    shared.create(
        "dataQuality/testDefinitions", name="full", entityType="TABLE", testPlatforms=["dbt"]
    )
    table = shared.table("tested", columns=COLUMNS)
    link = f"<#E::table::{table['fullyQualifiedName']}>"
    cases = [
        shared.create("dataQuality/testCases", name=name, entityLink=link, testDefinition="full")
        for name in ("one", "two", "three")
    ]
    for case, status in zip(cases, ("Success", "Failed"), strict=False):
        path = f"/v1/dataQuality/testCases/testCaseResults/{case['fullyQualifiedName']}"
        given = {"timestamp": NOW, "testCaseStatus": status}
        assert shared.request("POST", path, json=given).status_code == 200
    contract = shared.create(
        "dataContracts",
        name="tested",
        entity={"id": table["id"], "type": "table"},
        qualityExpectations=[{"id": each["id"], "type": "testCase"} for each in cases],
    )
    path = f"/v1/dataContracts/{contract['id']}/validate"
    result = shared.request("POST", path).json()
    assert result["qualityValidation"] == {
        "passed": 1,
        "failed": 1,
        "total": 3,
        "qualityScore": 50.0,
    }
    assert result["contractExecutionStatus"] == "Failed"
    assert result["result"].endswith("failed: 1 test; not evaluated: quality: 1 test")


def test_what_was_promised_and_not_measured_is_no_success(shared: Client) -> None:
    sla = {
        "refreshFrequency": {"interval": 2, "unit": "hour"},
        "maxLatency": {"value": 30, "unit": "minute"},
        "retention": {"period": 1, "unit": "year"},
        "availabilityTime": "00:00",
        "columnName": "at",
    }
    made = Promise(shared, "late", sla=sla)
    result = made.validate()
    assert result["contractExecutionStatus"] == "PartialSuccess"
    assert "slaValidation" not in result
    named = "sla: refresh frequency, sla: latency, sla: availability, sla: retention"
    assert result["result"] == f"version 0.1; not evaluated: {named}"

    profile = {
        "tableProfile": {"timestamp": NOW},
        "columnProfile": [{"name": "at", "timestamp": NOW, "max": (NOW - HOUR) / 1_000}],
        "systemProfile": [{"timestamp": NOW - HOUR, "operation": "INSERT"}],
    }
    path = f"/v1/tables/{made.table['id']}/tableProfile"
    assert shared.request("PUT", path, json=profile).status_code == 200
    result = made.validate()
    found = result["slaValidation"]
    assert (found["refreshFrequencyMet"], found["latencyMet"]) == (True, False)
    assert found["actualLatency"] == HOUR
    assert result["contractExecutionStatus"] == "Failed"
    promises = Promise(shared, "nothing").validate()
    assert promises["contractExecutionStatus"] == "PartialSuccess"


def test_results_are_listed_read_and_deleted(shared: Client) -> None:
    made = Promise(shared, "kept", schema=COLUMNS)
    assert shared.request("GET", f"{made.path}/results/latest").status_code == 404
    assert shared.get(f"{made.path}/results")["data"] == []
    for at, status in ((NOW - 2, "Failed"), (NOW - 1, "Success"), (NOW - 1, "Aborted")):
        given = {
            "dataContractFQN": "any",
            "timestamp": at,
            "contractExecutionStatus": status,
            "result": None,
        }
        answer = shared.request("PUT", f"{made.path}/results", json=given)
        assert answer.status_code == 200, answer.text
        assert answer.json()["dataContractFQN"] == made.contract["fullyQualifiedName"]
    listed = shared.get(f"{made.path}/results", limit=10)
    assert [each["contractExecutionStatus"] for each in listed["data"]] == ["Aborted", "Failed"]
    newest = shared.get(f"{made.path}/results/latest")
    assert newest == listed["data"][0]
    assert shared.get(f"{made.path}/results/{listed['data'][1]['id']}") == listed["data"][1]
    assert shared.request("GET", f"{made.path}/results/{NOBODY}").status_code == 404
    one = f"/v1/dataContracts/{made.contract['id']}"
    assert "latestResult" not in shared.get(one)
    assert shared.get(one, fields="latestResult")["latestResult"] == {
        "timestamp": NOW - 1,
        "status": "Aborted",
        "resultId": newest["id"],
    }
    assert shared.get(one)["version"] == 0.1

    assert shared.ask("DELETE", f"{made.path}/results/before/{NOW - 1}") == (200, {"deleted": 1})
    assert shared.ask("DELETE", f"{made.path}/results/{NOW - 1}") == (200, {"deleted": 1})
    assert shared.request("DELETE", f"{made.path}/results/{NOW - 1}").status_code == 404


def test_result_is_found_without_reading_the_others(
    shared: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Promise(shared, "many", schema=COLUMNS)
    for at in range(NOW - 120, NOW):
        given = {"timestamp": at, "contractExecutionStatus": "Success"}
        assert shared.request("PUT", f"{made.path}/results", json=given).status_code == 200
    oldest = shared.get(f"{made.path}/results", limit=1, endTs=NOW - 120)["data"][0]
    store, read = shared.services.measurements, []
    page = store.page

    def counted(wanted: PageRequest) -> Page:
        read.append(page(wanted))
        return read[-1]

    monkeypatch.setattr(store, "page", counted)
    assert shared.get(f"{made.path}/results/{oldest['id']}") == oldest
    assert shared.request("GET", f"{made.path}/results/{NOBODY}").status_code == 404
    assert sum(len(each.points) for each in read) == 1


def test_openmetadatas_client_is_told_no_key_that_it_does_not_know(shared: Client) -> None:
    made = Promise(shared, "known", schema=COLUMNS)
    answer = shared.request("POST", f"/api{made.path}/validate")
    assert answer.status_code == 200
    for path in ("results/latest", "results"):
        assert "dataContractVersion" not in shared.request("GET", f"/api{made.path}/{path}").text
        assert "dataContractVersion" in shared.request("GET", f"{made.path}/{path}").text


def test_contract_of_an_entity_is_validated(shared: Client) -> None:
    made = Promise(shared, "about", schema=COLUMNS)
    asked = {"entityId": made.table["id"], "entityType": "table"}
    path = "/v1/dataContracts/entity/validate"
    answer = shared.request("POST", path, params=asked)
    assert (answer.status_code, answer.json()["contractExecutionStatus"]) == (200, "Success")
    asked["entityId"] = NOBODY
    assert shared.request("POST", path, params=asked).status_code == 404


def test_request_is_held_against_what_is_there_and_nothing_is_stored(shared: Client) -> None:
    table = shared.table("dry", columns=COLUMNS)
    about = {"id": table["id"], "type": "table"}
    head = shared.get("/v1/system/projections")["head"]

    def dry(path: str = "validate", **body: Any) -> Any:
        answer = shared.request("POST", f"/v1/dataContracts/{path}", json=body)
        assert answer.status_code == 200, answer.text
        return answer.json()

    assert dry(name="dry", entity=about, schema=COLUMNS)["valid"]
    other = [*COLUMNS, {"name": "gone", "dataType": "INT"}]
    missing = dry(name="dry", entity=about, schema=other)
    assert (missing["valid"], missing["schemaValidation"]["failedFields"]) == (False, ["gone"])
    wrong = dry(name="dry", entity=about, sla={"retention": {"period": 1, "unit": "eon"}})
    assert (wrong["valid"], "unit" in wrong["entityErrors"][0]) == (False, True)
    assert shared.get("/v1/system/projections")["head"] == head

    shared.create("dataContracts", name="first", entity=about)
    second = dry(name="second", entity=about)
    assert not second["valid"]
    assert "already exists" in (second.get("constraintErrors") or second["entityErrors"])[0]
    text = f"name: y\nentity: {{id: {table['id']}, type: table}}\nunheard: 1\n"
    headers = {"Content-Type": "application/x-yaml"}
    answer = shared.request(
        "POST", "/v1/dataContracts/validate/yaml", content=text.encode(), headers=headers
    )
    assert (answer.status_code, "unheard" in answer.json()["entityErrors"][0]) == (200, True)


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"contractExecutionStatus": "Green"}, "contractExecutionStatus"),
        ({"timestamp": 1}, "of the last 365 days"),
        ({"message": "x"}, "message"),
    ],
)
def test_results_that_are_wrong_are_refused(shared: Client, body: Any, says: str) -> None:
    name = f"wrong_{says[:3]}"
    made = Promise(shared, name, schema=COLUMNS)
    given = {"timestamp": NOW, "contractExecutionStatus": "Success", **body}
    answer = shared.request("PUT", f"{made.path}/results", json=given)
    assert (answer.status_code, says in answer.text) == (400, True)


RULES = """
[[rule]]
role = "admin"
allow = ["list", "view", "create", "edit", "delete"]

[[rule]]
role = "partner"
allow = ["view", "create", "edit"]
kinds = ["dataContract"]

[[rule]]
role = "careful"
allow = ["view", "create", "edit", "delete"]
withhold = ["columns"]
"""


def test_validation_tells_nobody_what_they_may_not_see(tmp_path: Path) -> None:
    with running_under(tmp_path, RULES) as client:
        client.schema()
        made = Promise(client, "orders", schema=[{"name": "id", "dataType": "INT"}])
        made.validate()
        other = client.table("other", columns=COLUMNS)
        for role in ("partner", "careful"):
            path = f"{made.path}/validate"
            assert client.request("POST", path, role=role).status_code == 403
            newest = client.request("GET", f"{made.path}/results/latest", role=role).json()
            assert newest["contractExecutionStatus"] == "Success"
            assert {"schemaValidation", "result"}.isdisjoint(newest)
            shown = client.request("GET", made.path, role=role, params={"fields": "latestResult"})
            assert "message" not in shown.json()["latestResult"]
            # Whether a column is there is nothing that a write may be asked for either.
            about = {"id": other["id"], "type": "table"}
            for name in ("id", "guess"):
                given = {
                    "name": "x",
                    "entity": about,
                    "schema": [{"name": name, "dataType": "INT"}],
                }
                answer = client.ask("PUT", "/v1/dataContracts", role=role, json=given)
                assert (answer[0], "may not see" in answer[1]["message"]) == (403, True)
        path = f"{made.path}/results/before/{NOW + HOUR}"
        assert client.request("DELETE", path, role="partner").status_code == 403
        assert client.request("DELETE", path, role="careful").status_code == 200
