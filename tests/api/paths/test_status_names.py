"""Below `/api/v1` a contract that is `Active` below `/v1` is `Approved`: as asked and as told."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.api.conftest import Client, running

CONTRACTS, BELOW_API = "/v1/dataContracts", "/api/v1/dataContracts"
TEXT = 'It says "entityStatus":"Active".'
ALLOWED = "must be one of Draft, Approved, Deprecated, got "


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A catalog with tables and an active contract that speaks of its status elsewhere too."""
    with running(tmp_path_factory.mktemp("status_names")) as client:
        client.schema()
        for name in ("orders", "drafted", "written", "bulk", "patched", "refused"):
            client.table(name)
        create(client, BELOW_API, "orders", "Approved", extension={"entityStatus": "Active"})
        create(client, CONTRACTS, "drafted", "Draft")
        client.search_until(lambda a: a["hits"]["total"]["value"] == 2, q="*", index="dataContract")
        yield client


def body(table: str, status: str | None, **more: Any) -> dict[str, Any]:
    entity = {"type": "table", "fullyQualifiedName": f"service.database.schema.{table}"}
    return {"name": f"of_{table}", "entity": entity, "entityStatus": status, **more}


def create(client: Client, path: str, table: str, status: str, **more: Any) -> Any:
    given = body(table, status, description=TEXT, **more)
    response = client.request("POST", path, json=given)
    assert response.status_code == 201, response.text
    assert response.json()["entityStatus"] == status
    return response.json()


def named(table: str) -> str:
    return f"name/service.database.schema.{table}.dataContract_of_{table}"


def statuses(answer: Any) -> list[str]:
    return [each["entityStatus"] for each in answer["data"]]


def patch(client: Client, path: str, *operations: dict[str, Any]) -> Any:
    headers = {"Content-Type": "application/json-patch+json"}
    return client.request("PATCH", path, json=operations, headers=headers)


def test_entity_is_read_by_the_name_that_the_client_knows(client: Client) -> None:
    path = named("orders")
    ours, theirs = (client.get(f"{each}/{path}") for each in (CONTRACTS, BELOW_API))
    assert (ours.pop("entityStatus"), theirs.pop("entityStatus")) == ("Active", "Approved")
    assert ours == theirs
    assert ours["description"] == TEXT
    extended = client.get(f"{BELOW_API}/{path}", fields="extension")
    assert extended["extension"] == {"entityStatus": "Active"}
    versions = client.get(f"{BELOW_API}/{ours['id']}/versions")["versions"]
    assert [json.loads(each)["entityStatus"] for each in versions] == ["Approved"]
    assert client.get(f"{BELOW_API}/{ours['id']}/versions/0.1")["entityStatus"] == "Approved"


@pytest.mark.parametrize("more", [{}, {"fields": "owners"}, {"limit": 1_000_000}])
def test_lists_name_it_and_are_narrowed_by_it(client: Client, more: dict[str, Any]) -> None:
    assert set(statuses(client.get(BELOW_API, **more))) == {"Approved", "Draft"}
    assert set(statuses(client.get(BELOW_API, status="Approved", **more))) == {"Approved"}
    assert set(statuses(client.get(CONTRACTS, status="Active", **more))) == {"Active"}
    for path, wrong, allowed in (
        (BELOW_API, "Rejected", ALLOWED),
        (CONTRACTS, "Approved", "must be one of Draft, Active, Deprecated, got "),
    ):
        response = client.request("GET", path, params={"status": wrong, **more})
        assert response.status_code == 400
        assert response.json()["message"] == f"status {allowed}{wrong!r}"


def test_writes_take_it_and_the_same_again_stores_nothing(client: Client) -> None:
    create(client, BELOW_API, "written", "Approved")
    head = client.get("/v1/system/projections")["head"]
    for path, status in ((BELOW_API, "Approved"), (BELOW_API, "Active"), (CONTRACTS, "Active")):
        response = client.request("PUT", path, json=body("written", status))
        assert response.headers["X-OpenMetadata-Change"] == "entityNoChange"
    assert client.get("/v1/system/projections")["head"] == head

    response = client.request("PUT", BELOW_API, json=body("written", "Deprecated"))
    (change,) = response.json()["changeDescription"]["fieldsUpdated"]
    assert change == {"name": "entityStatus", "oldValue": "Approved", "newValue": "Deprecated"}
    item = f"{BELOW_API}/{response.json()['id']}"
    described = client.get(item, fields="changeDescription")["changeDescription"]
    assert described["fieldsUpdated"] == [change]
    refused = client.request("PUT", BELOW_API, json=body("written", "Draft"))
    assert (refused.status_code, refused.json()["message"]) == (
        409,
        "a contract cannot go from Deprecated to Draft; from Deprecated it may go to Approved",
    )


def test_patches_test_and_give_it(client: Client) -> None:
    made = create(client, BELOW_API, "patched", "Draft")
    item = f"{BELOW_API}/{made['id']}"
    approve = {"op": "replace", "path": "/entityStatus", "value": "Approved"}
    assert patch(client, item, approve).json()["entityStatus"] == "Approved"
    expected = {"op": "test", "path": "/entityStatus", "value": "Approved"}
    assert patch(client, item, expected, approve).status_code == 200
    assert client.get(f"{CONTRACTS}/{made['id']}")["entityStatus"] == "Active"
    whole = {**client.get(item), "description": "anew"}
    replaced = patch(client, item, {"op": "replace", "path": "", "value": whole})
    assert (replaced.json()["description"], replaced.json()["entityStatus"]) == ("anew", "Approved")
    wrong = patch(client, item, {**approve, "value": "In Review"})
    assert (wrong.status_code, wrong.json()["message"]) == (
        400,
        f"entityStatus {ALLOWED}'In Review'",
    )


def test_statuses_that_are_not_known_are_refused(client: Client) -> None:
    for path, status, allowed in (
        (BELOW_API, "Rejected", "Draft, Approved, Deprecated"),
        (CONTRACTS, "Approved", "Draft, Active, Deprecated"),
    ):
        for method in ("POST", "PUT"):
            response = client.request(method, path, json=body("refused", status))
            said = f"entityStatus must be one of {allowed}, got {status!r}"
            assert (response.status_code, response.json()["message"]) == (400, said)


def test_bulk_takes_it_item_by_item(client: Client) -> None:
    requests = [body("bulk", "Approved"), body("refused", "Rejected")]
    answer = client.request("PUT", f"{BELOW_API}/bulk", json=requests).json()
    assert answer["failedRequest"][0]["message"] == f"entityStatus {ALLOWED}'Rejected'"
    assert client.get(f"{CONTRACTS}/{named('bulk')}")["entityStatus"] == "Active"
    back = client.request("PUT", f"{BELOW_API}/bulk", json=[body("bulk", "Draft")]).json()
    assert back["failedRequest"][0]["message"].startswith("a contract cannot go from Approved")


def found(client: Client, path: str = "/api/v1/search/query", **asked: Any) -> list[str]:
    answer = client.get(path, **{"index": "dataContract", **asked})
    return [hit["_source"]["name"] for hit in answer["hits"]["hits"]]


@pytest.mark.parametrize(
    "condition",
    [
        "Approved",
        '"approved"',
        "Appr*",
        "?pproved",
        "/app.*/",
        "aproved~1",
        "[approv TO apz]",
        "(Approved OR Rejected)",
    ],
)
def test_searches_ask_by_it(client: Client, condition: str) -> None:
    assert "of_orders" in found(client, q=f"entityStatus:{condition}")
    assert "of_drafted" not in found(client, q=f"entityStatus:{condition}")
    assert found(client, "/v1/search/query", q=f"entityStatus:{condition}") == []
    assert "of_drafted" in found(client, q=f"NOT entityStatus:{condition}")


def test_filters_and_facets_of_searches_have_it(client: Client) -> None:
    term = json.dumps({"query": {"term": {"entityStatus.keyword": "Approved"}}})
    for name in ("query_filter", "post_filter"):
        assert "of_orders" in found(client, q="*", **{name: term})
        assert found(client, "/v1/search/query", q="*", **{name: term}) == []
    assert "of_orders" in found(
        client, "/api/v1/search/fieldQuery", fieldName="entityStatus", fieldValue="Approved"
    )
    aggregations = json.dumps(
        {"aggs": {"states": {"terms": {"field": "entityStatus.keyword", "include": "appr.*"}}}}
    )
    asked = {"q": "*", "index": "dataContract", "size": 0}
    for path, keys in (("/api/v1", ["approved"]), ("/v1", [])):
        answer = client.get(f"{path}/search/query", aggregations=aggregations, **asked)
        buckets = answer["aggregations"]["sterms#states"]["buckets"]
        assert [bucket["key"] for bucket in buckets] == keys
    every = json.dumps({"aggs": {"states": {"terms": {"field": "entityStatus"}}}})
    answer = client.get("/api/v1/search/query", aggregations=every, **asked)
    keys = {bucket["key"] for bucket in answer["aggregations"]["sterms#states"]["buckets"]}
    assert {"approved", "draft"} <= keys <= {"approved", "draft", "deprecated"}
    values = client.get(
        "/api/v1/search/aggregate", field="entityStatus", value=".*prov.*", index="dataContract"
    )["aggregations"]["sterms#entityStatus"]["buckets"]
    assert [bucket["key"] for bucket in values] == ["approved"]


def test_hits_and_documents_have_it(client: Client) -> None:
    answer = client.get("/api/v1/search/query", q="of_orders", index="dataContract")
    (hit, *_) = answer["hits"]["hits"]
    assert (hit["_source"]["entityStatus"], hit["_source"]["description"]) == ("Approved", TEXT)
    one = client.get(f"/api/v1/search/get/dataContract/doc/{hit['_id']}")
    assert one["entityStatus"] == "Approved"


def test_events_have_it(client: Client) -> None:
    made = client.get(f"{CONTRACTS}/{named('orders')}")["id"]
    for path, status in (("/api/v1", "Approved"), ("/v1", "Active")):
        (created,) = client.get(f"{path}/audit/events", entity=made)["data"]
        assert created["body"]["entityStatus"] == status
    drafted = client.get(f"{CONTRACTS}/{named('drafted')}")["id"]
    patch(
        client, f"{CONTRACTS}/{drafted}", {"op": "add", "path": "/entityStatus", "value": "Active"}
    )
    for path, status in (("/api/v1", "Approved"), ("/v1", "Active")):
        *_, changed = client.get(f"{path}/audit/events", entity=drafted)["data"]
        assert changed["status"] == status
        lines = client.request(
            "GET",
            f"{path}/audit/events?entity={drafted}",
            headers={"Accept": "application/x-ndjson"},
        ).text.splitlines()
        assert json.loads(lines[-2])["status"] == status
