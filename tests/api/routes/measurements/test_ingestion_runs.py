"""Ingestion pipelines: what a connector does for a service, and the runs that it reports."""

import time
from pathlib import Path
from typing import Any

import pytest

from tests.api.conftest import Client, running_under

NOW = int(time.time() * 1_000)
DAY = 86_400_000
COLLECTION = "services/ingestionPipelines"
ONE = f"/v1/{COLLECTION}/name/shop.nightly"
RUNS = f"/v1/{COLLECTION}/shop.nightly/pipelineStatus"
NEEDED: dict[str, Any] = {"pipelineType": "metadata", "sourceConfig": {}, "airflowConfig": {}}


@pytest.fixture
def pipeline(client: Client) -> Any:
    """An ingestion pipeline of a database service."""
    service = client.create("services/databaseServices", name="shop", serviceType="Postgres")
    reference = {"id": service["id"], "type": "databaseService"}
    return client.create(COLLECTION, name="nightly", service=reference, **NEEDED)


def put(client: Client, body: Any, role: str = "bot") -> Any:
    response = client.request("PUT", RUNS, json=body, role=role)
    assert response.status_code == 200, response.text
    return response.json()


def test_pipeline_stands_below_any_service_and_suites_of_tests(client: Client) -> None:
    service = client.create("services/messagingServices", name="queue", serviceType="Kafka")
    reference = {"id": service["id"], "type": "messagingService"}
    made = client.create(COLLECTION, name="nightly", service=reference, **NEEDED)
    assert made["fullyQualifiedName"] == "queue.nightly"
    assert [each["id"] for each in client.get(f"/v1/{COLLECTION}", service="queue")["data"]] == [
        made["id"]
    ]
    suite = client.create("dataQuality/testSuites", name="checks")
    below = {"id": suite["id"], "type": "testSuite"}
    given = {**NEEDED, "pipelineType": "TestSuite"}
    made = client.create(COLLECTION, name="weekly", service=below, **given)
    assert made["fullyQualifiedName"] == "checks.weekly"

    gone = client.request("DELETE", f"/v1/services/messagingServices/{service['id']}")
    assert gone.status_code == 200
    assert client.request("GET", f"/v1/{COLLECTION}/name/queue.nightly").status_code == 404


def test_no_secret_of_a_configuration_is_recorded(client: Client, pipeline: Any) -> None:
    config = {
        "type": "DBT",
        "dbtConfigSource": {
            "dbtConfigType": "cloud",
            "dbtCloudAuthToken": "secret-1",
            "dbtCloudAccountId": "7",
            "dbtSecurityConfig": {"awsConfig": {"awsSecretAccessKey": "secret-2"}},
            "dbtHttpHeaders": {"Authorization": "Bearer secret-3"},
        },
        "schemaFilterPattern": {"includes": ["a"], "excludes": ["postgres://u:secret-4@h/"]},
        "appConfig": {"any": "secret-5"},
        "storageMetadataConfigSource": "secret-6",
        "threads": 2,
    }
    given = {"name": "nightly", "service": pipeline["service"], **NEEDED}
    given["sourceConfig"] = {"config": config}
    response = client.request("PUT", f"/v1/{COLLECTION}", json=given)
    assert response.status_code == 200, response.text
    assert response.json()["sourceConfig"]["config"] == {
        "type": "DBT",
        "dbtConfigSource": {
            "dbtConfigType": "cloud",
            "dbtCloudAuthToken": "*********",
            "dbtCloudAccountId": "7",
            "dbtSecurityConfig": {"awsConfig": {"awsSecretAccessKey": "*********"}},
        },
        "schemaFilterPattern": {"includes": ["a"], "excludes": ["*********"]},
        "storageMetadataConfigSource": "*********",
        "threads": 2,
    }
    head = client.get("/v1/system/projections")["head"]
    for same in (given, {**given, "sourceConfig": response.json()["sourceConfig"]}):
        assert client.request("PUT", f"/v1/{COLLECTION}", json=same).status_code == 200
    assert client.get("/v1/system/projections")["head"] == head
    asked = {"q": "nightly", "index": "ingestion_pipeline_search_index"}
    hits = client.search_until(lambda found: found["hits"]["hits"], **asked)
    found = [hit["_source"] for hit in hits["hits"]["hits"]]
    assert [(each["name"], "sourceConfig" in each) for each in found] == [("nightly", False)]


def test_pipeline_without_settings_is_patched(client: Client, pipeline: Any) -> None:
    path = f"/v1/{COLLECTION}/{pipeline['id']}"
    assert pipeline["airflowConfig"] == {}
    patch = [
        {"op": "add", "path": "/description", "value": "d"},
        {"op": "add", "path": "/airflowConfig", "value": {"retries": 2}},
    ]
    assert client.ask("PATCH", path, json=patch)[0] == 200
    shown = client.get(ONE)
    assert (shown["description"], shown["airflowConfig"]) == ("d", {"retries": 2})


def test_last_report_of_a_run_stands(client: Client, pipeline: Any) -> None:
    head = client.get("/v1/system/projections")["head"]
    assert client.get(f"{RUNS}/first") == {}
    begun = {"runId": "first", "pipelineState": "running", "timestamp": NOW - DAY}
    assert put(client, begun) == client.get(ONE)
    assert client.get(f"{RUNS}/first") == begun
    steps = [{"name": "Source", "records": 3, "updated_records": 1, "sourceTimeMs": 1.5}]
    ended = {**begun, "pipelineState": "success", "endDate": NOW, "status": steps}
    put(client, {**ended, "timestamp": NOW})
    put(client, {"runId": "second", "startDate": NOW - 1, "timestamp": None})

    second = {"runId": "second", "startDate": NOW - 1, "timestamp": NOW - 1}
    ended["timestamp"] = NOW
    assert client.get(RUNS) == {"data": [second, ended], "paging": {"total": 2}}
    assert client.get(RUNS, startTs=NOW - 10)["data"] == [second]
    by_id = f"/v1/{COLLECTION}/{pipeline['id']}/pipelineStatus"
    assert client.get(f"{by_id}/first") == ended
    assert client.get(ONE, fields="pipelineStatuses")["pipelineStatuses"] == [second, ended]
    assert "pipelineStatuses" not in client.get(ONE)
    assert client.get("/v1/system/projections")["head"] == head

    assert client.request("DELETE", by_id).status_code == 200
    assert client.get(RUNS)["data"] == []


def test_runs_without_an_id_are_told_apart_by_their_time(client: Client, pipeline: Any) -> None:
    for at in (NOW, NOW - 1):
        put(client, {"pipelineState": "failed", "timestamp": at})
    put(client, {"pipelineState": "success", "timestamp": NOW})
    states = [each["pipelineState"] for each in client.get(RUNS)["data"]]
    assert states == ["success", "failed"]


def test_values_that_may_hold_a_secret_are_masked(client: Client, pipeline: Any) -> None:
    config = {"appConfig": {"token": "x1"}, "day": "2026-01-01", "long": "x" * 2_001}
    put(client, {"runId": "a", "timestamp": NOW, "config": config, "metadata": {"key": "k1"}})
    shown = client.get(f"{RUNS}/a")
    masked = "*********"
    assert shown["config"] == {"appConfig": masked, "day": "2026-01-01", "long": masked}
    assert shown["metadata"] == {"key": masked}


def test_lines_of_failures_that_may_hold_a_secret_are_masked(client: Client, pipeline: Any) -> None:
    said = "cannot connect to postgres://u:s3cret@h/db"
    failure = {"name": "x", "error": said, "stackTrace": f"Traceback\n  {said}\nValueError: no"}
    steps = [{"name": "Source", "failures": [failure]}]
    put(client, {"runId": "a", "timestamp": NOW, "status": steps})
    (shown,) = client.get(f"{RUNS}/a")["status"][0]["failures"]
    masked = "*********"
    assert shown == {
        "name": "x",
        "error": masked,
        "stackTrace": f"Traceback\n{masked}\nValueError: no",
    }


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"pipelineState": "done"}, "pipelineState"),
        ({"timestamp": 1}, "of the last 365 days"),
        ({"step": 1}, "step"),
        ({"status": [{"records": 1}]}, "name"),
        ({"runId": "x" * 257}, "runId"),
        ([], "the body"),
    ],
)
def test_wrong_runs_are_refused_by_name(
    client: Client, pipeline: Any, body: Any, says: str
) -> None:
    response = client.request("PUT", RUNS, json=body)
    assert (response.status_code, says in response.text) == (400, True)
    assert client.get(RUNS)["data"] == []


def test_who_may_edit_reports_and_who_may_view_sees(tmp_path: Path) -> None:
    rules = """
[[rule]]
role = "admin"
allow = ["list", "view", "create", "edit"]

[[rule]]
role = "crawler"
allow = ["edit"]
kinds = ["ingestionPipeline"]
"""
    with running_under(tmp_path, rules) as client:
        service = client.create("services/databaseServices", name="shop", serviceType="Postgres")
        below = {"id": service["id"], "type": "databaseService"}
        made = client.create(COLLECTION, name="nightly", service=below, **NEEDED)
        assert put(client, {"timestamp": NOW}, "crawler") == {"id": made["id"]}
        assert client.request("GET", RUNS, role="crawler").status_code == 403
        assert client.request("PUT", RUNS, json={}, role="reader").status_code == 403
        assert client.get(RUNS)["data"] == [{"timestamp": NOW}]
