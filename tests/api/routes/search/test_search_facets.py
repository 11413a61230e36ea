"""Counts of searches over HTTP, and the documents and exports of searches."""

import asyncio
import csv
import json
from collections.abc import Iterator
from contextlib import suppress
from io import StringIO
from typing import Any

import pytest

from api.routes.search import facets as search_facets
from domain.patches.json_input import decode
from tests.api.conftest import Client, running_under

POLICIES = """
[[rule]]
role = "admin"
allow = ["list", "view", "search", "create", "edit", "delete", "operate"]

[[rule]]
role = "guest"
allow = ["search"]
withhold = ["tags"]

[[rule]]
role = "librarian"
allow = ["search"]
kinds = ["glossary"]
"""
SOURCE = "https://example.org/a?b=1&c=*"
FIELD = "columns.name.keyword"


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """Three tables, one of them deleted, with what they stand under."""
    directory = tmp_path_factory.mktemp("facets")
    with running_under(directory, POLICIES) as client:
        client.schema()
        client.table("orders", sourceUrl=SOURCE, description="=1+1")
        client.table("bills", columns=[{"name": "bill_id", "dataType": "INT"}])
        gone = client.table("gone")
        client.request("DELETE", f"/v1/tables/{gone['id']}")
        client.search_until(lambda a: a["hits"]["total"]["value"] == 6, q="*", deleted="true")
        client.search_until(lambda a: a["hits"]["total"]["value"] == 5, q="*")
        yield client


def buckets(answer: Any, name: str) -> list[tuple[Any, int]]:
    return [(each["key"], each["doc_count"]) for each in answer["aggregations"][name]["buckets"]]


def told(answer: Any) -> Any:
    return {key: value for key, value in answer.items() if key != "took"}


def test_query_has_facets(shop: Client) -> None:
    answer = shop.get("/v1/search/query", q="*", size=0)
    kinds = [("table", 2), ("database", 1), ("databaseSchema", 1), ("databaseService", 1)]
    assert buckets(answer, "sterms#entityType") == kinds
    assert answer["hits"]["total"]["value"] == 5
    assert "aggregations" not in shop.get("/v1/search/query", q="*")
    named = shop.get(
        "/v1/search/query",
        q="*",
        aggregations='{"columns": {"terms": {"field": "columns.name"}}}',
    )
    assert buckets(named, "sterms#columns") == [("bill_id", 1), ("id", 1)]


def test_aggregate_answers_get_and_post_alike(shop: Client) -> None:
    params = {"field": FIELD, "value": ".*id.*", "q": "*", "sourceFields": "name,id", "size": "5"}
    answer = shop.get("/v1/search/aggregate", **params)
    assert buckets(answer, f"sterms#{FIELD}") == [("id", 1), ("bill_id", 1)]
    first = answer["aggregations"][f"sterms#{FIELD}"]["buckets"][0]
    (hit,) = first["top_hits#top"]["hits"]["hits"]
    assert (hit["_source"]["name"], sorted(hit["_source"])) == ("orders", ["id", "name"])
    body = {
        "fieldName": FIELD,
        "fieldValue": ".*id.*",
        "query": "*",
        "sourceFields": ["name", "id"],
        "size": 5,
        "topHits": {"size": 10},
    }
    status, posted = shop.ask("POST", "/v1/search/aggregate", json=body)
    assert (status, told(posted)) == (200, told(answer))


@pytest.mark.parametrize(
    "change",
    [
        {"field": "name"},
        {"value": ".*bill.*"},
        {"index": "topic"},
        {"q": "bills"},
        {"queryText": "bills"},
        {"size": "1"},
        {"deleted": "true"},
        {"sourceFields": ""},
        {"topHitsSize": "0"},
        {"topHitsSortField": "fullyQualifiedName"},
        {"topHitsSortOrder": "desc"},
    ],
)
def test_every_parameter_of_aggregate_changes_the_answer(
    shop: Client, change: dict[str, str]
) -> None:
    plain = {"field": "service.name", "sourceFields": "name", "value": "s.*|bill.*"}
    before = told(shop.get("/v1/search/aggregate", **plain))
    if "size" in change or "field" in change or "value" in change:
        plain = {"field": FIELD, "sourceFields": "name"}
        before = told(shop.get("/v1/search/aggregate", **plain))
    assert told(shop.get("/v1/search/aggregate", **{**plain, **change})) != before


def test_posted_answers_are_not_remembered_for_others(shop: Client) -> None:
    def posted(field: str) -> Any:
        return shop.ask("POST", "/v1/search/aggregate", json={"fieldName": field})[1]

    assert set(posted("name")["aggregations"]) == {"sterms#name"}
    assert set(posted(FIELD)["aggregations"]) == {f"sterms#{FIELD}"}
    assert shop.ask("GET", "/v1/search/aggregate?field=name")[0] == 200


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ("{}", 400, "missing required field `fieldName`"),
        ('{"fieldName": "name", "other": 1}', 400, "unknown field `other`"),
        ('{"fieldName": "name", "size": 1, "size": 2}', 400, "twice"),
        ('{"fieldName": "nmae"}', 400, "field: no kind has a field 'nmae'"),
        ('{"fieldName": "name", "index": "nothing"}', 400, "index must be all or one of"),
    ],
)
def test_bad_body_is_refused(shop: Client, body: str, status: int, message: str) -> None:
    answer = shop.ask("POST", "/v1/search/aggregate", content=body)
    assert (answer[0], message in answer[1]["message"]) == (status, True), answer
    wrong = shop.ask(
        "POST", "/v1/search/aggregate", content=body, headers={"Content-Type": "text/plain"}
    )
    assert wrong[0] == 415


def test_body_of_a_search_is_small(shop: Client) -> None:
    asked = json.dumps({"fieldName": FIELD}).encode()
    for size, status in ((65_536, 200), (65_537, 413)):
        body = asked.ljust(size)
        assert shop.ask("POST", "/v1/search/aggregate", content=body)[0] == status
        chunks = iter([body[:1_000], body[1_000:]])
        assert shop.ask("POST", "/v1/search/aggregate", content=chunks)[0] == status


def test_body_of_a_search_is_decoded_in_the_thread_of_the_search(
    shop: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    loops: list[bool] = []

    def noted(*given: Any) -> Any:
        with suppress(RuntimeError):
            asyncio.get_running_loop()
            loops.append(True)
            return decode(*given)
        loops.append(False)
        return decode(*given)

    monkeypatch.setattr(search_facets, "decode", noted)
    assert shop.ask("POST", "/v1/search/aggregate", json={"fieldName": FIELD})[0] == 200
    assert loops == [False]


def test_kinds_are_counted_as_they_are_found(shop: Client) -> None:
    answer = shop.get("/v1/search/entityTypeCounts")
    assert answer["aggregations"] == {
        "entityType": {
            "buckets": [
                {"key": "table", "doc_count": 2},
                {"key": "database", "doc_count": 1},
                {"key": "databaseSchema", "doc_count": 1},
            ]
        }
    }
    assert answer["hits"]["total"] == {"value": 4, "relation": "eq"}
    assert answer["hits"]["hits"] == []
    everything = shop.get("/v1/search/entityTypeCounts", index="all", deleted="true")
    assert sum(count for _, count in buckets(everything, "entityType")) == 6
    for name in ("queryFilter", "post_filter"):
        term = {name: '{"term": {"name": "bills"}}'}
        counted = shop.get("/v1/search/entityTypeCounts", q="*", **term)
        assert buckets(counted, "entityType") == [("table", 1)]
        # Also what is about kinds narrows the counts, which must be those of the search.
        term = {name: '{"term": {"entityType": "table"}}'}
        counted = shop.get("/v1/search/entityTypeCounts", **term)
        assert buckets(counted, "entityType") == [("table", 2)]
    best = shop.get("/v1/search/entityTypeCounts", q="bills", include_top_hit="true")
    (hit,) = best["hits"]["hits"]
    assert hit["_source"] == {"entityType": "table"}
    assert buckets(best, "entityType") == [("table", 1)]


def test_source_url_is_matched_whole(shop: Client) -> None:
    answer = shop.get("/v1/search/sourceUrl", sourceUrl=SOURCE)
    assert [hit["_source"]["name"] for hit in answer["hits"]["hits"]] == ["orders"]
    assert "aggregations" not in shop.get("/v1/search/sourceUrl", sourceUrl=SOURCE, size=0)
    for other in (SOURCE[:-1], "https://example.org/*", ""):
        assert shop.get("/v1/search/sourceUrl", sourceUrl=other)["hits"]["hits"] == []
    assert shop.get("/v1/search/sourceUrl", sourceUrl=SOURCE, deleted="true")["hits"]["hits"] == []
    assert shop.get("/v1/search/sourceUrl", sourceUrl=SOURCE, **{"from": 1})["hits"]["hits"] == []
    assert shop.ask("GET", "/v1/search/sourceUrl")[0] == 400


def test_document_is_given_by_index_and_id(shop: Client) -> None:
    table = shop.get("/v1/tables/name/service.database.schema.orders")
    path = f"/v1/search/get/table_search_index/doc/{table['id']}"
    always = {"deleted": False, "owners": [], "tags": [], "upstreamLineage": []}
    assert shop.get(path) == {**always, **table, "entityType": "table"}
    gone = shop.get("/v1/tables/name/service.database.schema.gone", include="deleted")
    assert shop.get(f"/v1/search/get/all/doc/{gone['id']}")["deleted"] is True
    for path in (
        f"/v1/search/get/topic_search_index/doc/{table['id']}",
        f"/v1/search/get/query_search_index/doc/{table['id']}",
        f"/v1/search/get/all/doc/{table['id'][:-4]}0000",
    ):
        assert shop.ask("GET", path)[0] == 404
    assert shop.ask("GET", f"/v1/search/get/nothing/doc/{table['id']}")[0] == 400
    assert shop.ask("GET", "/v1/search/get/all/doc/x")[0] == 400


def test_export_is_a_file_for_spreadsheets(shop: Client) -> None:
    response = shop.request("GET", "/v1/search/export", params={"index": "table"})
    assert response.headers["content-type"] == "text/csv"
    assert response.headers["content-disposition"] == 'attachment; filename="search.csv"'
    rows = list(csv.DictReader(StringIO(response.text, newline="")))
    assert [(row["Name"], row["Description"]) for row in rows] == [
        ("bills", ""),
        ("orders", "'=1+1"),
    ]
    for params, names in (
        ({"sort_field": "name", "sortOrder": "desc"}, ["orders", "bills"]),
        ({"deleted": "true"}, ["bills", "gone", "orders"]),
        ({"q": "bills"}, ["bills"]),
        ({"queryFilter": '{"term": {"name": "bills"}}'}, ["bills"]),
        ({"post_filter": '{"term": {"name": "bills"}}'}, ["bills"]),
    ):
        response = shop.request("GET", "/v1/search/export", params={"index": "table", **params})
        rows = list(csv.DictReader(StringIO(response.text, newline="")))
        assert [row["Name"] for row in rows] == names
    assert shop.ask("GET", "/v1/search/export?sortField=x")[0] == 400


def test_what_is_withheld_is_neither_counted_nor_exported(shop: Client) -> None:
    for path in (
        "/v1/search/aggregate?field=tags.tagFQN",
        "/v1/search/aggregate?field=name&sourceFields=tags",
        "/v1/search/aggregate?field=name&q=tags.tagFQN:a",
        '/v1/search/query?q=&aggregations={"a":{"terms":{"field":"tags.tagFQN"}}}',
        "/v1/search/entityTypeCounts?q=tags.tagFQN:a",
        "/v1/search/export?q=tags.tagFQN:a",
    ):
        status, body = shop.ask("GET", path, role="guest")
        assert (status, "withheld from your roles" in body["message"]) == (403, True), path
    # Words without a field are then looked for field by field.
    found = shop.request("GET", "/v1/search/query?q=bills", role="guest").json()
    assert [hit["_source"]["name"] for hit in found["hits"]["hits"]] == ["bills"]
    answer = shop.request("GET", "/v1/search/query?q=&size=0", role="guest").json()
    assert "sterms#tags.tagFQN" not in answer["aggregations"]
    assert "sterms#serviceType" in answer["aggregations"]


def test_kinds_that_may_not_be_searched_are_not_counted(shop: Client) -> None:
    table = shop.get("/v1/tables/name/service.database.schema.orders")
    for path in (
        "/v1/search/aggregate?field=name",
        "/v1/search/entityTypeCounts?index=table",
        f"/v1/search/get/table/doc/{table['id']}",
        "/v1/search/export?index=table",
    ):
        assert shop.ask("GET", path, role="librarian")[0] == 403, path
    assert shop.ask("GET", f"/v1/search/get/all/doc/{table['id']}", role="librarian")[0] == 404
    response = shop.request("GET", "/v1/search/export", role="librarian")
    assert len(response.text.splitlines()) == 1
    counted = shop.request("GET", "/v1/search/entityTypeCounts?index=all", role="librarian").json()
    assert counted["aggregations"] == {"entityType": {"buckets": []}}
    assert counted["hits"]["total"]["value"] == 0
    found = shop.request(
        "GET", "/v1/search/sourceUrl", params={"sourceUrl": SOURCE}, role="librarian"
    )
    assert found.json()["hits"]["total"]["value"] == 0
