"""Searches as of a position or a time: answers of then, to every route that searches."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from api.use_cases.past_documents import PastDocuments
from domain.errors import InvalidInput
from tests.api.conftest import Client, running_under
from tests.waiting import until

POLICIES = """
[[rule]]
role = "admin"
allow = ["list", "view", "search", "create", "edit", "delete", "operate"]

[[rule]]
role = "guest"
allow = ["search"]
withhold = ["description"]

[[rule]]
role = "librarian"
allow = ["search"]
kinds = ["glossary"]
"""
SOURCE = "https://example.org/orders"
NESTED = (
    '{"nested":{"path":"columns","query":{"bool":{"must":[{"term":{"columns.name":"id"}},'
    '{"term":{"columns.dataType":"INT"}}]}}}}'
)
QUERIES: list[tuple[str, dict[str, Any]]] = [
    ("query", {"q": "*", "deleted": "true", "includeAggregations": "true"}),
    ("query", {"q": "shipped orders", "index": "table"}),
    ("query", {"q": "description:first", "sortField": "updatedAt", "sortOrder": "desc"}),
    ("query", {"q": "*", "queryFilter": NESTED, "getHierarchy": "true"}),
    ("query", {"q": "*", "size": 0}),
    ("fieldQuery", {"fieldName": "name", "fieldValue": "*", "index": "table"}),
    ("fieldQuery", {"fieldName": "name", "fieldValue": "*", "index": "table", "deleted": "true"}),
    ("sourceUrl", {"sourceUrl": SOURCE}),
    ("aggregate", {"field": "columns.name.keyword", "sourceFields": "name,description"}),
    ("entityTypeCounts", {"q": "first", "includeTopHit": "true"}),
    ("suggest", {"q": "or"}),
    ("export", {"q": "*"}),
]


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    with running_under(tmp_path, POLICIES) as started:
        yield started


def answers(client: Client, headers: dict[str, str], **params: Any) -> list[Any]:
    """The answers to all queries, without what depends on the time that they took."""
    told = []
    for path, asked in QUERIES:
        response = client.request(
            "GET", f"/v1/search/{path}", params={**asked, **params}, headers=headers
        )
        assert response.status_code == 200, response.text
        if params:
            assert response.headers["X-Catalog-At"] == str(params["at"])
        is_json = response.headers["content-type"].startswith("application/json")
        told.append(response.json() if is_json else response.text)
        if is_json:
            told[-1].pop("took", None)
    body = {"fieldName": "name.keyword", "query": "first", "sourceFields": ["description"]}
    response = client.request(
        "POST", "/v1/search/aggregate", json=body, params=params, headers=headers
    )
    assert response.status_code == 200, response.text
    told.append(response.json()["aggregations"])
    return told


def position(client: Client) -> int:
    return client.services.stores.log.head()


def seen(client: Client) -> dict[str, str]:
    """The header with which searches include all that was written."""
    return {"X-Catalog-Position": str(position(client))}


def describe(client: Client, table: Any, text: str) -> None:
    patch = [{"op": "add", "path": "/description", "value": text}]
    assert client.ask("PATCH", f"/v1/tables/{table['id']}", json=patch)[0] == 200


def ids(client: Client, **params: Any) -> set[str]:
    answer = client.get("/v1/search/query", q="*", size=1_000, deleted="true", **params)
    return {hit["_id"] for hit in answer["hits"]["hits"]}


def test_every_search_is_answered_as_it_was_then(client: Client) -> None:
    client.schema()
    shown = []
    orders = client.table("orders", sourceUrl=SOURCE, description="the first orders, shipped")
    shown.append((position(client), answers(client, seen(client))))
    describe(client, orders, "all orders")
    bills = client.table("bills", description="not the first", columns=[])
    shown.append((position(client), answers(client, seen(client))))
    client.request("DELETE", f"/v1/tables/{bills['id']}")
    patch = [
        {"op": "replace", "path": "/columns", "value": [{"name": "key", "dataType": "STRING"}]},
        {"op": "remove", "path": "/sourceUrl"},
    ]
    assert client.ask("PATCH", f"/v1/tables/{orders['id']}", json=patch)[0] == 200
    shown.append((position(client), answers(client, seen(client))))
    describe(client, orders, "shipped first")
    assert len({str(said) for _, said in shown}) == len(shown)
    for at, said in shown:
        assert answers(client, {}, at=at) == said
        assert answers(client, {}, at=at) == said


def test_searches_without_documents_of_then_are_refused(empty: Client) -> None:
    asked = {"q": "*", "at": "now", "includeSourceFields": "upstreamLineage"}
    status, error = empty.ask("GET", "/v1/search/query", params=asked)
    assert status == 400
    assert "the past of upstreamLineage is not kept" in error["message"]


@pytest.mark.parametrize(
    "path",
    ["query?q=*", "suggest?q=a", "export?q=*", "aggregate?field=name", "get/table/doc/{id}?"],
)
@pytest.mark.parametrize(
    ("past", "said"),
    [
        ("at=-1", "at must be now, or a position from 0 to 999999999999, got '-1'"),
        ("at=1&asOf=2026-01-01", "at and asOf both say which past is meant"),
        ("asOf=2999-01-01", "asOf: '2999-01-01' is yet to come"),
        ("asOf=soon", "asOf: 'soon' is no date"),
    ],
)
def test_wrong_pasts_are_refused(empty: Client, path: str, past: str, said: str) -> None:
    path = path.replace("{id}", "00000000-0000-7000-8000-000000000000")
    status, error = empty.ask("GET", f"/v1/search/{path}&{past}")
    assert status == 400, error
    assert said in error["message"], error


def test_position_that_searches_have_not_applied_is_waited_for(client: Client) -> None:
    client.schema()
    table = client.table()
    describe(client, table, "later")
    # Lists have it by now, searches perhaps not.
    assert table["id"] in ids(client, at=position(client))
    client.services.searchable.seconds = 0.05
    client.services.listed.seconds = 0.05
    response = client.request("GET", "/v1/search/query", params={"q": "*", "at": 10_000})
    assert (response.status_code, response.headers["Retry-After"]) == (503, "1")
    assert "this host has not applied position 10000 yet" in response.json()["message"]


def test_now_is_what_searches_show(client: Client) -> None:
    client.schema()
    table = client.table()
    client.request("GET", "/v1/search/query?q=*", headers=seen(client))
    response = client.request("GET", "/v1/search/query", params={"q": "*", "at": "now"})
    assert int(response.headers["X-Catalog-At"]) == position(client)
    assert table["id"] in {hit["_id"] for hit in response.json()["hits"]["hits"]}


def test_time_stands_for_a_position(client: Client) -> None:
    client.schema()
    table = client.table()
    until(lambda: time.time_ns() // 1_000_000 > table["updatedAt"])
    describe(client, table, "later")
    client.request("GET", "/v1/search/query?q=*", headers=seen(client))
    later = client.get(f"/v1/tables/{table['id']}")["updatedAt"]
    found = client.get("/v1/search/query", q="later", asOf=str(later))
    assert [hit["_id"] for hit in found["hits"]["hits"]] == [table["id"]]
    assert client.get("/v1/search/query", q="later", asOf=str(later - 1))["hits"]["hits"] == []
    assert ids(client, asOf=str(table["updatedAt"] - 60_000)) == set()


def test_document_that_was_purged_is_gone_and_one_to_come_is_unknown(client: Client) -> None:
    client.schema()
    before, table = position(client), client.table()
    path, at = f"/v1/search/get/table/doc/{table['id']}", position(client)
    describe(client, table, "later")
    assert client.get(path, at=at)["version"] == 0.1
    status, error = client.ask("GET", path, params={"at": before})
    assert (status, error["errorType"]) == (404, "ENTITY_NOT_FOUND")
    assert table["id"] in ids(client, at=at)
    client.request("DELETE", f"/v1/tables/{table['id']}?hardDelete=true")
    client.request("GET", "/v1/search/query?q=*", headers=seen(client))
    assert table["id"] not in ids(client, at=at)
    status, error = client.ask("GET", path, params={"at": at})
    assert (status, error["errorType"]) == (410, "ENTITY_PURGED")
    assert client.ask("GET", path, params={"at": at}, role="librarian")[0] == 403
    glossaries = path.replace("table", "all")
    assert client.ask("GET", glossaries, params={"at": at}, role="librarian")[0] == 404


def test_what_permissions_withhold_now_is_withheld_of_the_past(client: Client) -> None:
    client.schema()
    table = client.table(description="secret words")
    at = position(client)
    describe(client, table, "later")
    asked = {"q": "orders", "index": "table", "at": at}
    status, answer = client.ask("GET", "/v1/search/query", params=asked, role="guest")
    (hit,) = answer["hits"]["hits"]
    assert (status, hit["_id"], "description" in hit["_source"]) == (200, table["id"], False)
    named = {**asked, "q": "description:secret"}
    assert client.ask("GET", "/v1/search/query", params=named, role="guest")[0] == 403
    librarian = {"q": "secret", "at": at}
    answer = client.ask("GET", "/v1/search/query", params=librarian, role="librarian")[1]
    assert answer["hits"]["hits"] == []


def test_pages_as_of_a_position_do_not_move(client: Client) -> None:
    client.schema()
    for number in range(5):
        client.table(f"t{number}")
    at = position(client)
    asked = {"q": "*", "index": "table", "size": 2, "sortField": "name", "at": at}
    names: list[str] = []
    after: dict[str, Any] = {}
    while hits := client.get("/v1/search/query", **asked, **after)["hits"]["hits"]:
        names += [hit["_source"]["name"] for hit in hits]
        after = {"search_after": hits[-1]["sort"]}
        table = hits[0]["_source"]
        patch = [{"op": "add", "path": "/displayName", "value": "zzz"}]
        client.ask("PATCH", f"/v1/tables/{table['id']}", json=patch)
        client.table(f"a{len(names)}")
    assert names == [f"t{number}" for number in range(5)]


def test_documents_of_the_past_take_a_bounded_number_of_events(client: Client) -> None:
    client.schema()
    table = client.table()
    describe(client, table, "later")
    at = position(client)
    describe(client, table, "last")
    read = PastDocuments(client.services.stores, at, most_events=3)
    assert json.loads(read([table["id"]])[table["id"]])["description"] == "later"
    with pytest.raises(InvalidInput, match="take more than 3 events to be made"):
        read([table["id"]])
    # What has not changed since is in the lists.
    newest = PastDocuments(client.services.stores, at + 1, most_events=0)
    assert json.loads(newest([table["id"]])[table["id"]])["description"] == "last"
