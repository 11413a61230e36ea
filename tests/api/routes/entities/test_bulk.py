"""Many entities by one request: one transaction, a result for each, and PUT's rules for all."""

from pathlib import Path
from typing import Any

import pytest

from api.answers.bodies import MAX_BODY
from domain.writing.bulk_put import MAX_REQUESTS
from tests.api.conftest import Client, running_under

COLUMNS = [{"name": "id", "dataType": "INT"}]


def table(name: str, **values: Any) -> dict[str, Any]:
    return {
        "name": name,
        "databaseSchema": "service.database.schema",
        "columns": COLUMNS,
        **values,
    }


def put(client: Client, collection: str, requests: Any, **options: Any) -> Any:
    """The result of a bulk request that is answered."""
    options.setdefault("params", {"async": "false", "overrideMetadata": "false"})
    response = client.request("PUT", f"/v1/{collection}/bulk", json=requests, **options)
    assert response.status_code == 200, response.text
    return response.json()


def test_result_is_as_clients_of_openmetadata_know_it(client: Client) -> None:
    client.schema()
    client.table("old", description="before")
    client.table("same")
    result = put(
        client,
        "tables",
        [
            table("new"),
            table("old", description="after"),
            {"name": "bad"},
            table("same"),
            table("orphan", databaseSchema="service.database.none"),
        ],
    )
    assert result == {
        "status": "partialSuccess",
        "numberOfRowsProcessed": 5,
        "numberOfRowsPassed": 3,
        "numberOfRowsFailed": 2,
        "dryRun": False,
        "successRequest": [
            {
                "request": "service.database.schema.new",
                "status": 201,
                "message": "entityCreated",
            },
            {
                "request": "service.database.schema.old",
                "status": 200,
                "message": "entityUpdated",
            },
            {
                "request": "service.database.schema.same",
                "status": 200,
                "message": "entityNoChange",
            },
        ],
        "failedRequest": [
            {
                "request": "bad",
                "status": 400,
                "message": "table: Object missing required field `databaseSchema`",
            },
            {
                "request": "orphan",
                "status": 404,
                "message": "databaseSchema instance for 'service.database.none' not found",
            },
        ],
    }


def test_dry_run_tells_what_would_be_done_and_does_nothing(client: Client) -> None:
    client.schema()
    client.table("old", description="before")
    requests = [table("new"), table("old", description="after"), {"name": "bad"}]
    head = client.get("/v1/system/projections")["head"]

    asked = put(client, "tables", requests, params={"dryRun": "true"})

    assert client.get("/v1/system/projections")["head"] == head
    assert client.get("/v1/tables")["paging"]["total"] == 1
    done = put(client, "tables", requests)
    assert asked == {**done, "dryRun": True}


def test_what_was_put_is_in_the_next_list(client: Client) -> None:
    client.schema()
    head = int(client.request("GET", "/v1/system/projections").json()["head"])
    response = client.request(
        "PUT", "/v1/tables/bulk", json=[table(f"t{number:03}") for number in range(300)]
    )
    assert response.json()["status"] == "success"
    assert int(response.headers["X-Catalog-Position"]) == head + 300
    listed = client.get("/v1/tables", limit=1_000)
    assert [one["name"] for one in listed["data"]] == [f"t{number:03}" for number in range(300)]


def test_later_requests_refer_to_earlier_ones(client: Client) -> None:
    client.create("glossaries", name="g", description="-")
    result = put(
        client,
        "glossaryTerms",
        [
            {"name": "a", "glossary": "g", "description": "-"},
            {"name": "b", "glossary": "g", "parent": "g.a", "description": "-"},
            {"name": "c", "glossary": "g", "parent": "g.a.b", "description": "-"},
            {
                "name": "a",
                "glossary": "g",
                "description": "again",
            },
        ],
    )
    assert [one["request"] for one in result["successRequest"]] == [
        "g.a",
        "g.a.b",
        "g.a.b.c",
        "g.a",
    ]
    assert [one["status"] for one in result["successRequest"]] == [201, 201, 201, 200]
    shown = client.get("/v1/glossaryTerms/name/g.a")
    assert (shown["description"], shown["version"]) == ("again", 0.2)


def test_soft_deleted_entity_comes_back(client: Client) -> None:
    client.schema()
    made = client.table("orders")
    client.request("DELETE", f"/v1/tables/{made['id']}")
    result = put(client, "tables", [table("orders"), table("orders", description="again")])
    assert [one["message"] for one in result["successRequest"]] == ["entityUpdated"] * 2
    shown = client.get(f"/v1/tables/{made['id']}")
    assert (shown.get("deleted", False), shown["description"]) == (False, "again")


def test_nothing_to_do_is_a_success(client: Client) -> None:
    result = put(client, "teams", [])
    assert (result["status"], result["numberOfRowsProcessed"]) == ("success", 0)
    result = put(client, "teams", [{}, {"name": 3}])
    assert (result["status"], result["numberOfRowsFailed"]) == ("failure", 2)
    assert [one["request"] for one in result["failedRequest"]] == ["", ""]
    assert client.get("/v1/teams")["paging"]["total"] == 0


@pytest.mark.parametrize(
    ("content", "headers", "status", "said"),
    [
        (b'{"name":"x"}', {}, 400, "the body"),
        (b'["x"]', {}, 400, "the body"),
        (b'[{"name":"x","name":"y"}]', {}, 400, "'name' twice"),
        (b"[]", {"Content-Type": "text/plain"}, 415, "Content-Type"),
        (b"[]", {"If-Match": "*"}, 400, "if-match means one entity"),
        (b"[]", {"Idempotency-Key": "k"}, 400, "idempotency-key means one entity"),
        (b"[%s]" % b",".join([b"{}"] * (MAX_REQUESTS + 1)), {}, 400, "1000 entities, got 1001"),
        (b"[%s]" % (b" " * MAX_BODY), {}, 413, "a request body may have"),
    ],
    ids=["object", "texts", "key twice", "type", "If-Match", "key", "number", "bytes"],
)
def test_request_that_cannot_be_taken_is_refused_whole(
    empty: Client, content: bytes, headers: dict[str, str], status: int, said: str
) -> None:
    headers = {"Content-Type": "application/json", **headers}
    got, body = empty.ask("PUT", "/v1/teams/bulk", content=content, headers=headers)
    assert got == status
    assert said in body["message"]


@pytest.mark.parametrize("query", ["async=maybe", "overrideMetadata=1,2", "asyncc=true"])
def test_wrong_parameters_are_refused(empty: Client, query: str) -> None:
    status, _ = empty.ask("PUT", f"/v1/teams/bulk?{query}", json=[])
    assert status == 400


@pytest.mark.parametrize(("role", "status"), [("editor", 200), ("reader", 403), ("nobody", 403)])
def test_permission_is_that_of_a_put(empty: Client, role: str, status: int) -> None:
    got, _ = empty.ask("PUT", "/v1/teams/bulk", json=[], role=role)
    assert got == status


POLICIES = """
[[rule]]
role = "guest"
allow = ["list", "view", "create", "edit"]
withhold = ["owners"]
"""


def test_withheld_fields_are_refused_one_by_one(tmp_path: Path) -> None:
    with running_under(tmp_path, POLICIES) as client:
        requests = [
            {"name": "a", "serviceType": "Mysql"},
            {"name": "b", "serviceType": "Mysql", "owners": []},
        ]
        result = put(client, "services/databaseServices", requests, role="guest")
        assert [one["request"] for one in result["successRequest"]] == ["a"]
        (failed,) = result["failedRequest"]
        assert (failed["request"], failed["status"]) == ("b", 403)
