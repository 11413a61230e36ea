"""Deleting what a connector no longer finds, as OpenMetadata's client asks for it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from domain.writing.bulk_put import MAX_REQUESTS
from tests.api.conftest import Client, running, running_under

SCHEMA = "service.database.schema"


def asked(*seen: str, **values: Any) -> dict[str, Any]:
    """The body that the client sends of the tables of a schema."""
    return {
        "scopeFqn": SCHEMA,
        "scopeEntityType": "databaseSchema",
        "seenFqns": [f"{SCHEMA}.{name}" for name in seen],
        **values,
    }


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A client of a catalog with one table, `kept`, for requests that delete nothing."""
    with running(tmp_path_factory.mktemp("kept")) as client:
        client.schema()
        client.table("kept")
        yield client


def delete_stale(client: Client, body: Any, collection: str = "tables", **options: Any) -> Any:
    """The result of a request that is answered."""
    response = client.request("DELETE", f"/v1/{collection}/deleteStale", json=body, **options)
    assert response.status_code == 200, response.text
    return response.json()


def listed(client: Client) -> list[str]:
    return [one["name"] for one in client.get("/v1/tables", limit=1_000)["data"]]


NOTHING = {
    "status": "success",
    "numberOfRowsProcessed": 0,
    "numberOfRowsPassed": 0,
    "numberOfRowsFailed": 0,
    "dryRun": False,
    "successRequest": [],
    "failedRequest": [],
}


def test_result_is_as_clients_of_openmetadata_know_it(client: Client) -> None:
    client.schema()
    for name in ("seen", "gone", "also"):
        client.table(name)
    result = delete_stale(client, asked("seen", recursive=True))
    assert result == {
        **NOTHING,
        "numberOfRowsProcessed": 2,
        "numberOfRowsPassed": 2,
        "successRequest": [
            {"request": f"{SCHEMA}.{name}", "status": 200, "message": "entitySoftDeleted"}
            for name in ("also", "gone")
        ],
    }
    assert listed(client) == ["seen"]
    assert client.get("/v1/tables", include="deleted")["paging"]["total"] == 2
    assert delete_stale(client, asked("seen")) == NOTHING


def test_answer_comes_once_lists_show_it(client: Client) -> None:
    client.schema()
    requests = [
        {"name": f"t{number:04}", "databaseSchema": SCHEMA, "columns": []}
        for number in range(MAX_REQUESTS)
    ]
    client.request("PUT", "/v1/tables/bulk", json=requests)
    client.request("PUT", "/v1/tables/bulk", json=[{**requests[0], "name": "seen"}])
    client.table("more")
    response = client.request("DELETE", "/v1/tables/deleteStale", json=asked("seen"))
    assert response.json()["numberOfRowsPassed"] == MAX_REQUESTS + 1
    head = client.get("/v1/system/projections")["head"]
    assert int(response.headers["X-Catalog-Position"]) == head
    assert listed(client) == ["seen"]


def test_dry_run_tells_what_would_be_done_and_does_nothing(client: Client) -> None:
    client.schema()
    for name in ("seen", "gone"):
        client.table(name)
    head = client.get("/v1/system/projections")["head"]
    told = delete_stale(client, asked("seen", dryRun=True))
    assert (client.get("/v1/system/projections")["head"], listed(client)) == (
        head,
        ["gone", "seen"],
    )
    assert told == {**delete_stale(client, asked("seen")), "dryRun": True}


def test_hard_delete_frees_the_names(client: Client) -> None:
    client.schema()
    client.table("gone")
    result = delete_stale(client, asked("x", hardDelete=True))
    assert [one["message"] for one in result["successRequest"]] == ["entityDeleted"]
    assert client.get("/v1/tables", include="all")["paging"]["total"] == 0


def test_what_has_something_below_it_needs_recursive(client: Client) -> None:
    client.schema()
    client.table("gone")
    body = {
        "scopeFqn": "service.database",
        "scopeEntityType": "database",
        "seenFqns": ["service.database.other"],
        "recursive": False,
    }
    result = delete_stale(client, body, "databaseSchemas")
    assert (result["status"], result["successRequest"]) == ("failure", [])
    assert result["failedRequest"] == [
        {
            "request": SCHEMA,
            "status": 400,
            "message": f"databaseSchema {SCHEMA!r} is not empty:"
            " recursive=true deletes what is below it too",
        }
    ]
    del body["recursive"]
    assert delete_stale(client, body, "databaseSchemas")["numberOfRowsPassed"] == 1
    assert listed(client) == []


def test_what_was_not_seen_is_kept_for_what_was_seen_below_it(client: Client) -> None:
    client.create("services/storageServices", name="s3", serviceType="S3")
    client.create("containers", name="top", service="s3")
    client.create("containers", name="deep", parent="s3.top")
    client.create("containers", name="gone", service="s3")
    body = {"scopeFqn": "s3", "scopeEntityType": "service", "seenFqns": ["s3.top.deep"]}
    result = delete_stale(client, body, "containers")
    assert result["status"] == "partialSuccess"
    assert [one["request"] for one in result["successRequest"]] == ["s3.gone"]
    assert result["failedRequest"] == [
        {
            "request": "s3.top",
            "status": 400,
            "message": "'s3.top' is kept, as 's3.top.deep' below it was seen",
        }
    ]
    left = [one["name"] for one in client.get("/v1/containers")["data"]]
    assert left == ["deep", "top"]


@pytest.mark.parametrize(
    "change",
    [
        {"seenFqns": []},
        {"seenFqns": None},
        {"scopeFqn": "service.database.nowhere"},
        {"scopeFqn": "service", "scopeEntityType": "service", "seenFqns": []},
        {"scopeFqn": SCHEMA, "scopeEntityType": "database"},
    ],
    ids=["nothing seen", "null", "unknown scope", "a service", "another kind"],
)
def test_nothing_seen_or_no_scope_deletes_nothing(kept: Client, change: dict[str, Any]) -> None:
    assert delete_stale(kept, asked("other", **change)) == NOTHING
    assert listed(kept) == ["kept"]


def test_name_that_is_empty_is_none_that_was_seen(kept: Client) -> None:
    status, answer = kept.ask("DELETE", "/v1/tables/deleteStale", json=asked(seenFqns=[""]))
    assert (status, "seenFqns" in answer["message"]) == (400, True)
    assert listed(kept) == ["kept"]


@pytest.mark.parametrize("name", ["dryRun", "hardDelete", "recursive"])
def test_what_belongs_into_the_body_is_not_passed_over(kept: Client, name: str) -> None:
    path = f"/v1/tables/deleteStale?{name}=true"
    status, answer = kept.ask("DELETE", path, json=asked("other"))
    assert (status, answer["message"]) == (
        400,
        f"unknown parameter {name!r}: this request takes none",
    )
    assert listed(kept) == ["kept"]


def test_missing_seen_names_delete_nothing(kept: Client) -> None:
    body = asked()
    del body["seenFqns"]
    assert delete_stale(kept, body) == NOTHING
    assert listed(kept) == ["kept"]


def test_deleted_scope_deletes_nothing(client: Client) -> None:
    client.schema()
    table = client.table("kept")
    schema = client.get(f"/v1/databaseSchemas/name/{SCHEMA}")
    client.request("DELETE", f"/v1/tables/{table['id']}")
    client.request("DELETE", f"/v1/databaseSchemas/{schema['id']}")
    assert delete_stale(client, asked("other", hardDelete=True)) == NOTHING


def test_service_with_a_dot_is_meant_with_and_without_quotes(client: Client) -> None:
    client.create("services/pipelineServices", name="a.b", serviceType="Airflow")
    for scope in ("a.b", '"a.b"'):
        client.request("PUT", "/v1/pipelines", json={"name": "gone", "service": '"a.b"'})
        body = {"scopeFqn": scope, "scopeEntityType": "service", "seenFqns": ["x"]}
        assert delete_stale(client, body, "pipelines")["numberOfRowsPassed"] == 1


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ({"scopeEntityType": "database", "seenFqns": ["x"]}, "scopeFqn"),
        ({"scopeFqn": "x", "seenFqns": ["x"]}, "scopeEntityType"),
        (asked("x", scopeFqn=""), "at `$.scopeFqn`"),
        (asked("x", scopeEntityType="table"), "scopeEntityType of tables may be databaseService"),
        (asked("x", scopeEntityType="bogus"), "got 'bogus'"),
        (asked("x", recurse=True), "recurse"),
        (asked("x", seenFqns="x"), "seenFqns"),
        ([], "array"),
    ],
)
def test_wrong_request_is_refused(empty: Client, body: Any, problem: str) -> None:
    status, answer = empty.ask("DELETE", "/v1/tables/deleteStale", json=body)
    assert (status, answer["errorType"]) == (400, "BAD_REQUEST")
    assert problem in answer["message"]


@pytest.mark.parametrize("name", ["If-Match", "If-None-Match", "Idempotency-Key"])
def test_headers_that_mean_one_entity_are_refused(empty: Client, name: str) -> None:
    headers = {name: "*"}
    status, _ = empty.ask("DELETE", "/v1/tables/deleteStale", json=asked("x"), headers=headers)
    assert status == 400


@pytest.mark.parametrize("method", ["GET", "PATCH", "POST"])
def test_other_methods_are_refused(empty: Client, method: str) -> None:
    assert empty.ask(method, "/v1/tables/deleteStale", json=[])[0] == 405


def test_kind_that_stands_below_no_other_has_no_such_resource(empty: Client) -> None:
    for collection in ("teams", "metrics", "services/databaseServices"):
        assert empty.ask("DELETE", f"/v1/{collection}/deleteStale", json=asked("x"))[0] == 404
        assert empty.ask("GET", f"/v1/{collection}/deleteStale")[0] == 404


POLICIES = """
[[rule]]
role = "crawler"
allow = ["list", "delete"]
kinds = ["table"]
[[rule]]
role = "blind"
allow = ["delete"]
"""


def test_permission_is_that_of_a_recursive_delete_and_of_a_list(tmp_path: Path) -> None:
    path = "/v1/tables/deleteStale"
    with running_under(tmp_path, POLICIES) as client:
        assert client.ask("DELETE", path, role="blind", json=asked("x"))[0] == 403
        status, body = client.ask("DELETE", path, role="crawler", json=asked("x"))
        assert (status, body["message"]) == (
            403,
            "recursive: you have no permission to delete dataContract",
        )
        body = asked("x", recursive=False)
        assert client.ask("DELETE", path, role="crawler", json=body) == (200, NOTHING)


def test_contract_stays_with_its_table_where_the_caller_may_not_delete_it(tmp_path: Path) -> None:
    with running_under(
        tmp_path,
        POLICIES + '[[rule]]\nrole = "admin"\nallow = ["list", "view", "create", "delete"]\n',
    ) as client:
        client.schema()
        table = client.table("gone")
        reference = {"type": "table", "id": table["id"]}
        client.create("dataContracts", name="c", entity=reference)
        refusal = (
            f"table {table['fullyQualifiedName']!r} is not empty:"
            " recursive=true deletes what is below it too"
        )
        status, body = client.ask("DELETE", f"/v1/tables/{table['id']}", role="crawler")
        assert (status, body["message"]) == (400, refusal)
        told = delete_stale(client, asked("x", recursive=False), role="crawler")
        assert [one["message"] for one in told["failedRequest"]] == [refusal]
        assert listed(client) == ["gone"]
        assert delete_stale(client, asked("x", recursive=False))["numberOfRowsPassed"] == 1
        assert client.get("/v1/dataContracts")["paging"]["total"] == 0
