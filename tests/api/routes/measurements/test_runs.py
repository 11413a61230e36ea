"""Runs of pipelines are measurements: reported one by one or many at once, listed, shown newest."""

import time
from pathlib import Path
from typing import Any

import pytest

from tests.api.conftest import Client, running_under

NOW = int(time.time() * 1_000)
DAY = 86_400_000


def run(at: int = NOW, state: str = "Successful", **more: Any) -> dict[str, Any]:
    return {"timestamp": at, "executionStatus": state, **more}


@pytest.fixture
def path(client: Client) -> str:
    """The path of the runs of a pipeline, by its qualified name."""
    client.create("services/pipelineServices", name="dagster", serviceType="Dagster")
    client.create("pipelines", name="nightly", service="dagster")
    return "/v1/pipelines/dagster.nightly/status"


def put(client: Client, path: str, body: Any, role: str = "bot") -> Any:
    response = client.request("PUT", path, json=body, role=role)
    assert response.status_code == 200, response.text
    return response.json()


def test_runs_are_listed_newest_first_and_of_a_time_once(client: Client, path: str) -> None:
    tasks = [
        {"name": "load", "executionStatus": "Failed", "startTime": NOW, "logLink": "http://d/1"}
    ]
    head = client.get("/v1/system/projections")["head"]
    pipeline = put(client, path, run(NOW - DAY, "Pending"))
    assert pipeline == client.get("/v1/pipelines/name/dagster.nightly")
    put(client, f"{path}/bulk", [run(NOW - DAY, "Failed", taskStatus=tasks), run()])

    failed = run(NOW - DAY, "Failed", taskStatus=tasks)
    listed = client.get(path, startTs=0, endTs=NOW)
    assert listed == {"data": [run(), failed], "paging": {"total": 2}}
    assert client.get(path, endTs=NOW - 1)["data"] == [failed]
    by_id = f"/v1/pipelines/{pipeline['id']}/status"
    assert client.get(by_id, limit=1)["data"] == [run()]
    assert client.get("/v1/system/projections")["head"] == head

    assert client.request("DELETE", f"{by_id}/{NOW}").status_code == 200
    assert client.request("DELETE", f"{by_id}/{NOW}").status_code == 404
    assert client.get(path)["data"] == [failed]


def test_the_newest_run_is_shown_when_asked(client: Client, path: str) -> None:
    one = "/v1/pipelines/name/dagster.nightly"
    assert "pipelineStatus" not in client.get(one, fields="pipelineStatus")
    put(client, f"{path}/bulk", [run(), run(NOW - 1, "Failed")])
    assert client.get(one, fields="pipelineStatus,tasks")["pipelineStatus"] == run()
    assert "pipelineStatus" not in client.get(one, fields="*")


def test_run_from_before_what_is_kept_is_passed_over(client: Client, path: str) -> None:
    put(client, f"{path}/bulk", [run(1), run()])
    assert client.get(path)["data"] == [run()]
    response = client.request("PUT", path, json=run(NOW + 3 * DAY))
    assert (response.status_code, "of the last 365 days" in response.text) == (400, True)


def test_parameters_that_may_hold_a_secret_are_masked(client: Client, path: str) -> None:
    given = {"day": "2026-01-01", "db_password": "x1", "url": "https://u:x@h/", "long": "x" * 2_001}
    put(client, path, run(parameters=given))
    shown = client.get(path)["data"][0]["parameters"]
    assert shown == {**dict.fromkeys(given, "*********"), "day": "2026-01-01"}


def test_lines_of_errors_that_may_hold_a_secret_are_masked(client: Client, path: str) -> None:
    told = {"errorMessage": "password=x1", "stackTrace": "Traceback\n  password=x1\nno"}
    put(client, path, run(error={"errorType": "a", **told}))
    masked = "*********"
    assert client.get(path)["data"][0]["error"] == {
        "errorType": "a",
        "errorMessage": masked,
        "stackTrace": f"Traceback\n{masked}\nno",
    }


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (run(state="Done"), "executionStatus"),
        ({"executionStatus": "Failed"}, "timestamp"),
        (run(step=1), "step"),
        (run(taskStatus=[{"name": "a"}]), "executionStatus"),
        (run(executedBy={"name": "ann", "fullyQualifiedName": None}), "executedBy of the run"),
        ([run()], "the body"),
    ],
)
def test_wrong_runs_are_refused_by_name(client: Client, path: str, body: Any, says: str) -> None:
    one = client.request("PUT", path, json=body)
    assert (one.status_code, says in one.text) == (400, True)
    many = client.request("PUT", f"{path}/bulk", json=[run(), body])
    assert many.status_code == 400
    assert client.get(path)["data"] == []
    too_many = client.request("PUT", f"{path}/bulk", json=[run(NOW - n) for n in range(1_001)])
    assert too_many.status_code == 400


def test_who_may_edit_pipelines_reports_and_who_may_view_them_sees(tmp_path: Path) -> None:
    rules = """
[[rule]]
role = "admin"
allow = ["list", "view", "create", "edit"]

[[rule]]
role = "crawler"
allow = ["edit"]
kinds = ["pipeline"]
"""
    with running_under(tmp_path, rules) as client:
        client.create("services/pipelineServices", name="dagster", serviceType="Dagster")
        made = client.create("pipelines", name="nightly", service="dagster")
        path = f"/v1/pipelines/{made['id']}/status"
        assert put(client, path, run(), "crawler") == {"id": made["id"]}
        assert client.request("GET", path, role="crawler").status_code == 403
        assert client.request("PUT", path, json=run(), role="reader").status_code == 403
        assert client.get(path)["data"] == [run()]
