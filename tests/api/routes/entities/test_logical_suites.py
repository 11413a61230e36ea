"""Logical test suites: which cases they have, and who may put them in."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from api.use_cases.measured import find
from api.use_cases.members import members_of
from domain.kinds.registry import KINDS
from tests.api.conftest import Client, running_under
from tests.api.routes.measurements.test_data_quality import QUALITY, define, put_case

LOGICAL = f"{QUALITY}/testCases/logicalTestCases"
NOBODY = "00000000-0000-7000-8000-000000000000"


def suite_and_cases(client: Client) -> tuple[str, list[Any]]:
    """The id of a suite of its own, and two cases of a table."""
    define(client)
    suite = client.create("dataQuality/testSuites", name="nightly")
    assert suite["basic"] is False
    return suite["id"], [put_case(client, name) for name in ("first", "second")]


def add(client: Client, suite: str, *cases: str, role: str = "bot") -> Any:
    body = {"testSuiteId": suite, "testCaseIds": list(cases)}
    return client.request("PUT", LOGICAL, json=body, role=role)


def listed(client: Client, suite: str) -> list[str]:
    cases = client.get(f"{QUALITY}/testCases", testSuiteId=suite)["data"]
    return [case["name"] for case in cases]


def test_cases_are_in_the_suite_of_their_table_and_in_logical_ones(client: Client) -> None:
    suite, (first, second) = suite_and_cases(client)
    answer = add(client, suite, first["id"], second["id"], first["id"])
    assert (answer.status_code, answer.json()["id"]) == (200, suite)
    assert listed(client, suite) == ["first", "second"]
    assert listed(client, first["testSuite"]["id"]) == ["first", "second"]
    path = f"{QUALITY}/testCases/{first['id']}"
    assert "testSuites" not in client.get(path)
    (shown,) = client.get(path, fields="testSuites")["testSuites"]
    # OpenMetadata's client reads whole suites there, which have no type.
    assert shown == {"id": suite, "name": "nightly", "fullyQualifiedName": "nightly"}

    head = client.get("/v1/system/projections")["head"]
    assert add(client, suite, second["id"]).status_code == 200
    put_case(client, "first")
    assert client.get("/v1/system/projections")["head"] == head
    assert listed(client, suite) == ["first", "second"]

    assert client.ask("DELETE", f"{LOGICAL}/{suite}/{first['id']}")[0] == 200
    assert listed(client, suite) == ["second"]
    assert client.ask("DELETE", f"{LOGICAL}/{suite}/{first['id']}")[0] == 404


def test_wrong_cases_and_suites_are_refused_whole(client: Client) -> None:
    suite, (first, _) = suite_and_cases(client)
    assert add(client, suite, first["id"], NOBODY).status_code == 404
    assert add(client, NOBODY, first["id"]).status_code == 404
    assert add(client, suite, "x").status_code == 400
    assert add(client, suite, *[NOBODY] * 1_001).status_code == 400
    of_table = add(client, first["testSuite"]["id"], first["id"])
    assert (of_table.status_code, "suite of a table" in of_table.json()["message"]) == (400, True)
    headers = {"Idempotency-Key": "k"}
    body = {"testSuiteId": suite, "testCaseIds": [first["id"]]}
    assert client.ask("PUT", LOGICAL, json=body, headers=headers)[0] == 400
    assert listed(client, suite) == []


def patch(client: Client, case: str, suites: list[Any], role: str = "bot") -> Any:
    operation = {"op": "add", "path": "/testSuites", "value": suites}
    headers = {"Content-Type": "application/json-patch+json"}
    return client.request(
        "PATCH", f"{QUALITY}/testCases/{case}", json=[operation], role=role, headers=headers
    )


def written(client: Client, case: Any, suites: list[Any], role: str) -> list[int]:
    """The statuses of all writes of a case that put it into suites."""
    keys = ("entityLink", "testDefinition")
    values = {key: case[key] for key in keys} | {"testSuites": suites}
    values["testDefinition"] = values["testDefinition"]["fullyQualifiedName"]
    path = f"{QUALITY}/testCases"
    put = client.request("PUT", path, json={"name": case["name"], **values}, role=role)
    post = client.request("POST", path, json={"name": "third", **values}, role=role)
    many = [{"name": name, **values} for name in (case["name"], "fourth")]
    bulk = client.request("PUT", f"{path}/bulk", json=many, role=role).json()
    failed = [each["status"] for each in bulk["failedRequest"]]
    return [
        patch(client, case["id"], suites, role).status_code,
        put.status_code,
        post.status_code,
        *failed,
    ]


def test_no_write_puts_a_case_into_the_suite_of_a_table(client: Client) -> None:
    suite, (first, _) = suite_and_cases(client)
    of_table = {"id": first["testSuite"]["id"], "type": "testSuite"}
    assert written(client, first, [of_table], "bot") == [400] * 5
    refused = patch(client, first["id"], [of_table]).json()["message"]
    assert "is the suite of a table; name one that stands alone" in refused
    assert patch(client, first["id"], [{"id": suite, "type": "testSuite"}]).status_code == 200
    assert listed(client, suite) == ["first"]
    assert patch(client, first["id"], []).status_code == 200
    assert listed(client, suite) == []


def test_who_may_not_edit_suites_changes_them_by_no_write(tmp_path: Path) -> None:
    with running_under(
        tmp_path,
        '[[rule]]\nrole = "admin"\nallow = ["list", "view", "create", "edit", "operate"]\n'
        '[[rule]]\nrole = "bot"\nallow = ["create", "edit", "view"]\n'
        '[[rule]]\nrole = "half"\nallow = ["view", "create", "edit"]\nkinds = ["testCase"]\n',
    ) as client:
        suite, (first, _) = suite_and_cases(client)
        reference = {"id": suite, "type": "testSuite"}
        assert written(client, first, [reference], "half") == [403] * 5
        assert listed(client, suite) == []
        assert add(client, suite, first["id"]).status_code == 200
        assert patch(client, first["id"], [], "half").status_code == 403
        assert listed(client, suite) == ["first"]
        description = [{"op": "add", "path": "/description", "value": "x"}]
        headers = {"Content-Type": "application/json-patch+json"}
        case = f"{QUALITY}/testCases/{first['id']}"
        kept = client.request("PATCH", case, json=description, role="half", headers=headers)
        assert kept.status_code == 200
        assert listed(client, suite) == ["first"]


@pytest.mark.parametrize("kinds", ["testCase", "testSuite"])
def test_who_may_edit_cases_and_suites_may_group_them(tmp_path: Path, kinds: str) -> None:
    with running_under(
        tmp_path,
        '[[rule]]\nrole = "admin"\nallow = ["list", "view", "create", "edit", "operate"]\n'
        '[[rule]]\nrole = "bot"\nallow = ["create", "edit", "view"]\n'
        f'[[rule]]\nrole = "half"\nallow = ["view", "edit"]\nkinds = ["{kinds}"]\n',
    ) as client:
        suite, (first, _) = suite_and_cases(client)
        assert add(client, suite, first["id"], role="half").status_code == 403
        path = f"{LOGICAL}/{suite}/{first['id']}"
        assert client.ask("DELETE", path, role="half")[0] == 403
        assert listed(client, suite) == []


def test_a_suite_names_its_cases_when_asked(client: Client) -> None:
    suite, (first, second) = suite_and_cases(client)
    path, of_table = (f"{QUALITY}/testSuites/{one}" for one in (suite, first["testSuite"]["id"]))
    assert client.get(path, fields="tests")["tests"] == []
    add(client, suite, second["id"])
    expected = [
        {"id": each["id"], "name": each["name"], "type": "testCase"} for each in (first, second)
    ]
    for one, cases in ((path, expected[1:]), (of_table, expected)):
        tests = client.get(one, fields="owners,tests")["tests"]
        assert [
            {key: value for key, value in each.items() if key != "fullyQualifiedName"}
            for each in tests
        ] == cases
        for unasked in ({}, {"fields": "*"}):
            assert "tests" not in client.get(one, **unasked)
    assert tests[0]["fullyQualifiedName"] == first["fullyQualifiedName"]
    # Its cases come and go without an event of the suite, so no read of them is a 304.
    answer = client.request("GET", f"{path}?fields=tests")
    headers = {"If-None-Match": answer.headers["ETag"]}
    assert client.request("GET", f"{path}?fields=tests", headers=headers).status_code == 200
    client.ask("DELETE", f"{QUALITY}/testCases/{second['id']}")
    assert client.get(path, fields="tests")["tests"] == []


def test_a_suite_names_no_more_cases_than_their_bound(client: Client) -> None:
    suite, (first, second) = suite_and_cases(client)
    add(client, suite, first["id"], second["id"])
    kind = KINDS["testSuite"]
    entity = find(client.services, kind, suite)
    (only,) = msgspec.json.decode(members_of(client.services, kind, "tests", entity, most=1))
    assert only["id"] == first["id"]


def test_a_suite_names_cases_of_any_size(client: Client) -> None:
    suite, (first, second) = suite_and_cases(client)
    add(client, suite, first["id"], second["id"])
    text = [{"op": "add", "path": "/description", "value": "x" * 1_000_000}]
    for case in (first, second):
        assert client.ask("PATCH", f"{QUALITY}/testCases/{case['id']}", json=text)[0] == 200
    tests = client.get(f"{QUALITY}/testSuites/{suite}", fields="tests")["tests"]
    assert [each["id"] for each in tests] == [first["id"], second["id"]]


def test_a_suite_names_cases_to_those_who_may_see_them(tmp_path: Path) -> None:
    with running_under(
        tmp_path,
        '[[rule]]\nrole = "admin"\nallow = ["list", "view", "create", "edit"]\n'
        '[[rule]]\nrole = "bot"\nallow = ["list", "view", "create", "edit"]\n'
        '[[rule]]\nrole = "reader"\nallow = ["view"]\nkinds = ["testSuite"]\n'
        '[[rule]]\nrole = "guest"\nallow = ["view"]\nwithhold = ["testSuites"]\n',
    ) as client:
        suite, (first, _) = suite_and_cases(client)
        add(client, suite, first["id"])
        path = f"{QUALITY}/testSuites/{suite}?fields=tests"
        assert len(client.ask("GET", path)[1]["tests"]) == 1
        status, shown = client.ask("GET", path, role="reader")
        assert (status, shown["id"], "tests" in shown) == (200, suite, False)
        assert client.ask("GET", path, role="guest")[0] == 403
