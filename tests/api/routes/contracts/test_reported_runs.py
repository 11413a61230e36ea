"""Runs of the tests of contracts, as datacontract-cli reports them."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from domain.contracts.canonical import canonical
from domain.measurements.port import PageRequest
from domain.measurements.reports import TESTED
from tests.api.conftest import Client, body_of, running_under, token
from tests.api.pages.conftest import Browser
from tests.api.routes.contracts.publishing import (
    PLACE,
    about,
    document,
    new_name,
    published,
    servers,
)

RECORDED = [
    json.loads(line)
    for line in (Path(__file__).parent / "datacontract_cli.jsonl").read_text().splitlines()
]
"""Requests of datacontract-cli 1.2.8."""
PATH = "/api/test-results"


def ago(**time_ago: float) -> str:
    return (datetime.now(UTC) - timedelta(**time_ago)).isoformat()


def check(result: str | None, type_: str = "field_required", **keys: Any) -> dict[str, Any]:
    given = {"category": "schema", "type": type_, "name": f"{type_} of id", "field": "id", **keys}
    return given if result is None else {**given, "result": result}


def run(contract_id: str, *checks: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "runId": str(uuid4()),
        "dataContractId": contract_id,
        "dataContractVersion": "1.0.0",
        "timestampEnd": ago(minutes=1),
        "result": "passed",
        "checks": list(checks),
        "logs": [],
        **more,
    }


def report(client: Client, given: dict[str, Any], role: str = "admin", **more: Any) -> Any:
    headers = {"x-api-key": token(role), **more.pop("headers", {})}
    return client.http.post(PATH, json=given, headers=headers, **more)


def new_contract(client: Client, **more: Any) -> tuple[str, dict[str, Any]]:
    """The id of a document about a table, and its contract."""
    name = new_name()
    client.table(name)
    given = document(name, customProperties=about(f"{PLACE}.{name}"), **more)
    (contract,) = published(client, given)
    return given["id"], contract


def newest(client: Client, contract: dict[str, Any]) -> dict[str, Any]:
    result: dict[str, Any] = client.get(f"/v1/dataContracts/{contract['id']}/results/latest")
    return result


def results(client: Client, contract: dict[str, Any]) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = client.get(f"/v1/dataContracts/{contract['id']}/results")["data"]
    return listed


def test_recorded_requests_of_the_cli_are_taken(tmp_path: Path) -> None:
    policies = '[[rule]]\nrole = "admin"\nallow = ["list", "view", "create", "edit"]\n'
    with running_under(tmp_path, policies) as client:
        client.schema()
        for name in ("orders", "customers"):
            client.table(name)
        told = []
        for number, each in enumerate(RECORDED):
            body = each["body"]
            if each["method"] == "PUT":
                body = {**body, "servers": [*body["servers"], *servers()]}
            else:
                # The recorded times leave the days that are kept.
                body = {**body, "timestampEnd": ago(minutes=10 - number)}
            answer = client.http.request(
                each["method"],
                each["path"],
                content=canonical(body).encode(),
                headers={**each["headers"], "x-api-key": token("admin")},
            )
            assert answer.status_code == 200, answer.text
            assert "/entity/dataContract/" in answer.headers["location-html"]
            told.append(answer.json())

        orders, customers = told[0]["contracts"]
        statuses = [
            [each["contractExecutionStatus"] for each in answer["contracts"]] for answer in told[1:]
        ]
        assert statuses == [["Success"] * 2, ["Success", "Failed"], ["Aborted"] * 2]
        unreadable, failed, passed = results(client, orders)
        assert passed["schemaValidation"] == {
            "passed": 2,
            "failed": 0,
            "total": 2,
            "failedFields": [],
            "duplicateFields": [],
            "typeMismatchFields": [],
        }
        assert passed["qualityValidation"] == {
            "passed": 3,
            "failed": 0,
            "total": 3,
            "qualityScore": 100.0,
        }
        assert (passed["result"], passed["dataContractVersion"]) == ("version 0.1", 0.1)
        assert failed["result"] == (
            "version 0.1; failed: Check that unique field id has no duplicate values, Check that"
            " field status has invalid_count = 0"
        )
        assert failed["qualityValidation"]["qualityScore"] == pytest.approx(100 / 3)
        assert unreadable["result"] == (
            "version 0.1; not tested: IO Error: No files found that match the pattern"
            ' "./orders.csv"; not evaluated: 5 checks'
        )
        assert "qualityValidation" not in unreadable
        assert results(client, customers)[0]["contractExecutionStatus"] == "Aborted"


def test_same_run_is_kept_once_and_an_older_one_is_not_the_newest(shared: Client) -> None:
    urn, contract = new_contract(shared)
    given = run(urn, check("passed"))
    head = shared.get("/v1/system/projections")["head"]

    for _ in range(2):
        assert report(shared, given).status_code == 200
    assert report(shared, {**given, "timestampEnd": ago(seconds=1)}).status_code == 200
    assert [each["contractExecutionStatus"] for each in results(shared, contract)] == ["Success"]

    older = run(urn, check("failed"), timestampEnd=ago(hours=1))
    assert report(shared, older).json() == {
        "runId": older["runId"],
        "contracts": [
            {
                "id": contract["id"],
                "fullyQualifiedName": contract["fullyQualifiedName"],
                "contractExecutionStatus": "Failed",
            }
        ],
        "notTested": [],
    }
    assert newest(shared, contract)["contractExecutionStatus"] == "Success"
    assert len(results(shared, contract)) == 2
    assert shared.get("/v1/system/projections")["head"] == head


def test_result_tells_which_version_it_is_of(shared: Client) -> None:
    urn, contract = new_contract(shared)
    assert report(shared, run(urn, check("passed"), dataContractVersion="0.9")).status_code == 200

    result = newest(shared, contract)

    assert "dataContractVersion" not in result
    assert result["result"] == "document version 0.9, which is not that of the contract, 1.0.0"


def test_run_that_nobody_can_place_is_refused(shared: Client) -> None:
    urn, contract = new_contract(shared)
    answer = report(shared, run("urn:nowhere", check("passed")))
    assert answer.status_code == 404
    assert body_of(answer)["message"] == "no contract has a document of the id 'urn:nowhere'"
    good = run(urn, check("passed"))
    wrong: tuple[dict[str, Any], ...] = (
        {"runId": "x"},
        {"dataContractId": 7},
        {"timestampEnd": None},
        {"timestampEnd": "yesterday"},
        {"timestampEnd": "0001-01-01T00:00:00+14:00"},
        {"timestampEnd": "9999-12-31T23:59:59-14:00"},
        {"checks": [7]},
        {"result": 7},
    )
    for each in wrong:
        assert report(shared, {**good, **each}).status_code == 400, each
    for number in range(1, 4):
        assert report(shared, {**good, "checks": [[]] * number}).status_code == 400
    assert results(shared, contract) == []
    assert report(shared, good, role="reader").status_code == 403
    assert shared.http.post(PATH, json=good).status_code == 401
    assert report(shared, good, headers={"Content-Type": "text/plain"}).status_code == 415
    deep = shared.http.post(PATH, content=b"[" * 10_000, headers={"x-api-key": token("admin")})
    assert deep.status_code == 400


def test_large_run_is_counted_whole_and_kept_in_part(shared: Client) -> None:
    urn, contract = new_contract(shared)
    row = {"failedSamples": ['{"email": "someone@example.com"}'], "odd": [[]]}
    checks = [check("passed", name=f"p{number}", reason="€" * 3_000) for number in range(700)]
    checks.append(check("failed", name="the one that failed", reason="password=hunter2", **row))
    logs = [{"level": "INFO", "message": f"{number} {'x' * 500}"} for number in range(3_000)]
    secret = {"level": "INFO", "message": "token=abcdefgh12345678"}
    answer = report(shared, run(urn, *checks, logs=[*logs, secret]), params={"odd": "1"})

    assert answer.status_code == 200
    result = newest(shared, contract)
    assert result["qualityValidation"]["total"] == 701
    page = (
        Browser(shared, "admin").get(f"/entity/dataContract/{contract['fullyQualifiedName']}").text
    )
    assert "the one that failed" in page
    assert "more checks were not kept" in page
    for hidden in ("hunter2", "someone@example.com", "abcdefgh12345678"):
        assert hidden not in page


def test_newest_ten_runs_are_kept(shared: Client) -> None:
    urn, contract = new_contract(shared)
    for number in range(12):
        given = run(urn, check("passed"), timestampEnd=ago(minutes=20 - number))
        assert report(shared, given).status_code == 200

    wanted = PageRequest(entity_id=contract["id"], series=TESTED, limit=100, most_bytes=1_000_000)
    assert shared.services.measurements.page(wanted).total == 10
    assert len(results(shared, contract)) == 10 + 2


HALF = """
[[rule]]
role = "admin"
allow = ["list", "view", "create", "edit"]

[[rule]]
role = "half"
allow = ["list", "view", "search"]

[[rule]]
role = "half"
kinds = ["table"]
withhold = ["columns"]
"""


def test_who_may_not_see_all_of_contract_and_table_does_not_see_the_run(tmp_path: Path) -> None:
    with running_under(tmp_path, HALF) as client:
        client.schema()
        urn, contract = new_contract(client)
        assert report(client, run(urn, check("failed"))).status_code == 200
        path = f"/entity/dataContract/{contract['fullyQualifiedName']}"

        seen, cut = (Browser(client, role).get(path).text for role in ("admin", "half"))

        assert ("Last run of its tests" in seen, "Last run of its tests" in cut) == (True, False)
        assert "field_required of id" in seen
        assert "field_required of id" not in cut


def test_run_of_more_checks_than_are_gone_through_is_refused(shared: Client) -> None:
    contract_id, _ = new_contract(shared)
    answer = report(shared, run(contract_id, *[check("passed")] * 20_001))
    assert (answer.status_code, "length <= 20000" in answer.text) == (400, True), answer.text
