"""Tests of data: definitions, suites and cases are metadata, what runs of them came to is not."""

import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from api.commands import main
from domain.kinds.bodies.quality import suite_to_bring
from tests.api.conftest import Client, environment_of, running, running_under

NOW = int(time.time() * 1_000)
QUALITY = "/v1/dataQuality"
TABLE = "service.database.schema.orders"
RESULTS = f"{QUALITY}/testCases/testCaseResults"


def define(client: Client) -> str:
    """A table and a definition of a test; returns the id of the table."""
    client.schema()
    client.create(
        "dataQuality/testDefinitions",
        name="columnValuesToBeNotNull",
        entityType="COLUMN",
        testPlatforms=["OpenMetadata"],
        parameterDefinition=[],
    )
    created: str = client.table()["id"]
    return created


def put_suite(client: Client, **body: Any) -> Any:
    """The suite of the table, as OpenMetadata's client makes it."""
    given = {"name": f"{TABLE}.testSuite", "basicEntityReference": TABLE, "owners": None, **body}
    response = client.request("PUT", f"{QUALITY}/testSuites/executable", json=given, role="bot")
    assert response.status_code in (200, 201), response.text
    return response.json()


def put_case(client: Client, name: str = "id_not_null", column: str | None = "id") -> Any:
    """A test case, as OpenMetadata's client makes it."""
    link = f"<#E::table::{TABLE}::columns::{column}>" if column else f"<#E::table::{TABLE}>"
    given = {
        "name": name,
        "testDefinition": "columnValuesToBeNotNull",
        "entityLink": link,
        "parameterValues": None,
        "computePassedFailedRowCount": False,
        "tags": [],
        "topDimensions": 5,
    }
    response = client.request("PUT", f"{QUALITY}/testCases", json=given, role="bot")
    assert response.status_code in (200, 201), response.text
    return response.json()


@pytest.mark.parametrize("in_bulk", [False, True])
def test_first_case_of_a_table_brings_its_suite(client: Client, in_bulk: bool) -> None:
    # As dbt's tests are sent: no suite is asked for, and none is made.
    table, head = define(client), client.get("/v1/system/projections")["head"]
    cases = [
        put_case(client, name) for name in ("first", "second", "second")[: 1 if in_bulk else 3]
    ]
    if in_bulk:
        given = {"testDefinition": "columnValuesToBeNotNull", "entityLink": cases[0]["entityLink"]}
        body = [given | {"name": name} for name in ("first", "second", "second")]
        client.ask(
            "DELETE",
            f"{QUALITY}/testSuites/{cases[0]['testSuite']['id']}?hardDelete=true&recursive=true",
        )
        answer = client.request("PUT", f"{QUALITY}/testCases/bulk", json=body, role="bot").json()
        assert answer["numberOfRowsPassed"] == 3
    suite = client.get(f"/v1/tables/{table}", fields="testSuite")["testSuite"]
    listed = client.get(f"{QUALITY}/testCases", testSuiteId=suite["id"], fields="testSuite")["data"]
    assert [(case["name"], case["testSuite"]["id"]) for case in listed] == [
        ("first", suite["id"]),
        ("second", suite["id"]),
    ]
    assert client.get("/v1/system/projections")["head"] > head


@pytest.mark.parametrize(
    ("link", "status"),
    [("<#E::table::service.database.schema.gone>", 404), ("<#E::topic::a.b>", 400), (None, 400)],
)
def test_case_of_no_table_brings_no_suite(client: Client, link: str | None, status: int) -> None:
    define(client)
    body = {"name": "x", "testDefinition": "columnValuesToBeNotNull", "entityLink": link}
    assert client.ask("PUT", f"{QUALITY}/testCases", json=body)[0] == status
    assert client.get(f"{QUALITY}/testSuites")["data"] == []


def test_a_table_has_one_suite_which_it_shows_when_asked(client: Client) -> None:
    table = define(client)
    path = f"/v1/tables/{table}"
    assert "testSuite" not in client.get(path, fields="testSuite")
    suite = put_suite(client)
    assert (suite["fullyQualifiedName"], suite["basic"]) == (f"{TABLE}.testSuite", True)
    assert put_suite(client, name="another name")["version"] == suite["version"]

    reference = {
        "id": suite["id"],
        "name": f"{TABLE}.testSuite",
        "fullyQualifiedName": f"{TABLE}.testSuite",
        "type": "testSuite",
    }
    for fields in ("testSuite", "owners,testSuite", "*"):
        assert client.get(path, fields=fields)["testSuite"] == reference
        assert client.get(f"/v1/tables/name/{TABLE}", fields=fields)["testSuite"] == reference
    assert "testSuite" not in client.get(path)
    client.ask("DELETE", f"{QUALITY}/testSuites/{suite['id']}")
    assert "testSuite" not in client.get(path, fields="testSuite")


@pytest.mark.parametrize("in_bulk", [False, True])
def test_case_brings_a_suite_for_those_who_may_create_suites(tmp_path: Path, in_bulk: bool) -> None:
    with running_under(
        tmp_path,
        '[[rule]]\nrole = "admin"\nallow = ["list", "view", "create", "edit", "operate"]\n'
        '[[rule]]\nrole = "tester"\nkinds = ["testCase"]\nallow = ["create", "edit", "view"]\n'
        '[[rule]]\nrole = "bot"\nallow = ["create", "edit", "view"]\n',
    ) as client:
        define(client)
        link = f"<#E::table::{TABLE}>"
        case = {"name": "x", "testDefinition": "columnValuesToBeNotNull", "entityLink": link}

        def put() -> int:
            path = f"{QUALITY}/testCases"
            if not in_bulk:
                return client.ask("PUT", path, json=case, role="tester")[0]
            answer = client.request("PUT", f"{path}/bulk", json=[case], role="tester").json()
            (item,) = answer["successRequest"] + answer["failedRequest"]
            status: int = item["status"]
            return status

        head = client.get("/v1/system/projections")["head"]
        assert put() == 403
        assert client.get("/v1/system/projections")["head"] == head
        put_suite(client)
        assert put() == 201


def test_the_suite_of_a_table_is_not_shown_to_those_who_may_not_see_suites(tmp_path: Path) -> None:
    with running_under(
        tmp_path,
        '[[rule]]\nrole = "admin"\nallow = ["list", "view", "create", "edit"]\n'
        '[[rule]]\nrole = "bot"\nallow = ["list", "view", "create", "edit"]\n'
        '[[rule]]\nrole = "reader"\nallow = ["view"]\nkinds = ["table"]\n',
    ) as client:
        path = f"/v1/tables/{define(client)}?fields=testSuite"
        put_suite(client)
        assert "testSuite" in client.ask("GET", path)[1]
        assert "testSuite" not in client.ask("GET", path, role="reader")[1]


def test_other_suites_stand_alone(client: Client) -> None:
    define(client)
    suite = client.create("dataQuality/testSuites", name="all of sales", description="x")
    assert (suite["fullyQualifiedName"], suite["basic"]) == ("all of sales", False)
    refused = client.ask("PUT", f"{QUALITY}/testSuites/executable", json={"name": "x"})
    assert (refused[0], "basicEntityReference" in refused[1]["message"]) == (400, True)


def test_a_case_is_named_below_what_it_tests_and_belongs_to_the_suite(client: Client) -> None:
    define(client)
    suite = put_suite(client)
    of_column, of_table = put_case(client), put_case(client, "rows", None)
    assert of_column["fullyQualifiedName"] == f"{TABLE}.id.id_not_null"
    assert of_column["entityFQN"] == f"{TABLE}.id"
    assert of_column["testSuite"]["id"] == suite["id"]
    assert of_column["testDefinition"]["name"] == "columnValuesToBeNotNull"
    assert (of_table["fullyQualifiedName"], of_table["entityFQN"]) == (f"{TABLE}.rows", TABLE)

    fields = {"fields": "testSuite,entityLink,testDefinition", "testSuiteId": suite["id"]}
    listed = client.get(f"{QUALITY}/testCases", **fields)
    assert [each["name"] for each in listed["data"]] == ["id_not_null", "rows"]
    named = client.get(f"{QUALITY}/testCases/name/{TABLE}.id.id_not_null", fields="*")
    assert named["id"] == of_column["id"]
    head = client.get("/v1/audit/events")["paging"]["head"]
    assert put_case(client)["version"] == 0.1
    assert client.get("/v1/audit/events")["paging"]["head"] == head


def test_a_case_may_be_put_back_as_it_is_shown_and_patched(client: Client) -> None:
    define(client)
    put_suite(client)
    case = put_case(client)
    path = f"{QUALITY}/testCases/{case['id']}"
    patch = [{"op": "add", "path": "/parameterValues", "value": [{"name": "a", "value": "1"}]}]
    status, patched = client.ask("PATCH", path, json=patch)
    assert (status, patched["parameterValues"]) == (200, [{"name": "a", "value": "1"}])
    moved = [{"op": "replace", "path": "/entityLink", "value": f"<#E::table::{TABLE}::columns::x>"}]
    assert client.ask("PATCH", path, json=moved)[0] == 400


@pytest.mark.parametrize(
    ("given", "status", "reason"),
    [
        ({"entityLink": "<#E::topic::a.b>"}, 400, "entityLink must be"),
        ({"entityLink": "<#E::table::a.b.c>"}, 400, "entityLink must be"),
        ({"entityLink": '<#E::table::a.b.c."d>'}, 400, "quote is never closed"),
        ({"entityLink": "<#E::table::a.b.c.d>"}, 404, "a.b.c.d.testSuite"),
        ({"testSuite": "other"}, 400, "testSuite follows from entityLink"),
        ({"testDefinition": "unheard"}, 404, "unheard"),
    ],
)
def test_cases_of_nothing_are_refused(
    client: Client, given: dict[str, str], status: int, reason: str
) -> None:
    define(client)
    put_suite(client)
    link = f"<#E::table::{TABLE}>"
    body = {"name": "c", "testDefinition": "columnValuesToBeNotNull", "entityLink": link, **given}
    answer = client.ask("POST", f"{QUALITY}/testCases", json=body)
    assert (answer[0], reason in answer[1]["message"]) == (status, True), answer


def test_suites_and_cases_go_and_come_with_the_table(client: Client) -> None:
    table = define(client)
    put_suite(client)
    case = put_case(client)
    assert client.ask("DELETE", f"/v1/tables/{table}")[0] == 200
    path = f"{QUALITY}/testCases/{case['id']}"
    assert client.ask("GET", path)[0] == 404
    assert client.ask("PUT", "/v1/tables/restore", json={"id": table})[0] == 200
    assert client.ask("GET", path)[0] == 200
    purge = f"/v1/tables/{table}?hardDelete=true"
    assert client.ask("DELETE", purge)[0] == 400
    assert client.ask("DELETE", f"{purge}&recursive=true")[0] == 200
    assert client.ask("GET", f"{path}?include=all")[0] == 404


def test_a_contract_refers_to_cases_that_are_there_and_to_others(client: Client) -> None:
    table = define(client)
    put_suite(client)
    case = put_case(client)
    contract = client.create(
        "dataContracts",
        name="promise",
        entity={"id": table, "type": "table"},
        qualityExpectations=[case["fullyQualifiedName"], "elsewhere.row_count"],
    )
    ours, theirs = contract["qualityExpectations"]
    assert (ours["id"], ours["type"]) == (case["id"], "testCase")
    assert (theirs["name"], theirs["type"]) == ("row_count", "testCase")


def test_a_definition_is_searched_as_what_it_is(client: Client) -> None:
    define(client)
    found = client.search_until(
        lambda answer: answer["hits"]["total"]["value"] == 1, q="columnValuesToBeNotNull"
    )
    text = client.request("GET", "/v1/search/query", params={"q": "columnValuesToBeNotNull"}).text
    assert found["hits"]["hits"][0]["_source"]["entityType"] == "testDefinition"
    assert text.count('"entityType"') == 1
    assert client.get(f"{QUALITY}/testDefinitions")["data"][0]["entityType"] == "COLUMN"


def test_the_definitions_that_come_along_are_made_once(tmp_path: Path) -> None:
    with running(tmp_path):
        pass
    for made in (24, 0):
        done = CliRunner().invoke(
            main, ["test-definitions", "--data", str(tmp_path)], env=environment_of(tmp_path)
        )
        assert done.exit_code == 0, done.output
        assert f"24 lines: {made} created" in done.output


def test_results_are_measurements_newest_first_and_of_a_time_once(client: Client) -> None:
    define(client)
    put_suite(client)
    case = put_case(client)
    head = client.get("/v1/audit/events")["paging"]["head"]
    path = f"{RESULTS}/{case['fullyQualifiedName']}"
    sent = {
        "timestamp": NOW,
        "testCaseStatus": "Failed",
        "result": "3 nulls",
        "sampleData": "secret row",
        "testResultValue": [{"name": "nullCount", "value": "3"}],
        "id": None,
        "testCaseFQN": None,
        "dimensionResults": None,
    }
    status, answer = client.ask("POST", path, json=sent, role="bot")
    assert (status, answer["testCaseStatus"]) == (200, "Failed")
    again = client.ask("POST", path, json={**sent, "testCaseStatus": "Success"}, role="bot")[1]
    assert again["id"] == answer["id"]
    client.ask("POST", path, json={**sent, "timestamp": NOW - 1_000})

    listed = client.get(path, startTs=NOW - 5_000, endTs=NOW)
    assert [(each["timestamp"], each["testCaseStatus"]) for each in listed["data"]] == [
        (NOW, "Success"),
        (NOW - 1_000, "Failed"),
    ]
    assert listed["data"][0]["sampleData"] == "secret row"
    assert listed["data"][0]["testCaseFQN"] == case["fullyQualifiedName"]
    assert len(client.get(path, startTs=NOW)["data"]) == 1
    assert client.get("/v1/audit/events")["paging"]["head"] == head
    one = f"{QUALITY}/testCases/{case['id']}"
    assert client.get(one, fields="testCaseResult")["testCaseResult"] == listed["data"][0]
    assert "testCaseResult" not in client.get(one, fields="*")
    for role in ("reader", "bot"):
        assert "secret row" not in client.request("GET", path, role=role).text
        shown = client.request("GET", one, params={"fields": "testCaseResult"}, role=role)
        assert shown.json()["testCaseResult"]["testCaseStatus"] == "Success"
        assert "secret row" not in shown.text
    other = client.ask("POST", path, json={**sent, "testCaseFQN": "other"})
    assert other[0] == 400
    assert client.ask("POST", f"{RESULTS}/a.b.c.d.e", json=sent)[0] == 404
    assert client.ask("POST", path, json=sent, role="reader")[0] == 403


def test_link_is_bounded_before_it_is_taken_apart(client: Client) -> None:
    define(client)
    link = "<#E::table::" + "a." * 1_000_000 + ">"
    body = {"name": "x", "entityLink": link, "testDefinition": "columnValuesToBeNotNull"}
    assert suite_to_bring(body) is None
    for method in ("POST", "PUT"):
        status, answer = client.ask(method, f"{QUALITY}/testCases", json=body)
        assert (status, "length <= " in answer["message"]) == (400, True)


def test_results_have_no_versions_to_be_conditional_on(client: Client) -> None:
    for name in ("If-Match", "If-None-Match"):
        status, answer = client.ask("POST", f"{RESULTS}/x", json={}, headers={name: "*"})
        assert (status, "measurements have none" in answer["message"]) == (400, True)
