"""The search endpoint: every parameter in both spellings, and the envelope."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from api.declaring.declared_query import camel, snake
from api.routes.search.searches import PARAMETERS
from tests.api.conftest import Client, RunFilled, over_files

EMPTY = {"owners": [], "tags": [], "deleted": False, "description": ""}
"""Value that a hit shows for keys that its entity does not have."""


def names(answer: Any) -> list[str]:
    return [hit["_source"]["name"] for hit in answer["hits"]["hits"]]


def fill(client: Client) -> None:
    """Create three tables, one of them deleted."""
    client.schema()
    client.table("customer_orders", description="Orders by customers.")
    client.table(
        "invoices",
        description="What customers owe.",
        columns=[
            {"name": "invoice_id", "dataType": "BIGINT"},
            {"name": "orderTotal", "dataType": "DOUBLE"},
        ],
    )
    gone = client.table("old_orders")
    client.request("DELETE", f"/v1/tables/{gone['id']}")
    client.search_until(lambda a: a["hits"]["total"]["value"] == 6, q="*", deleted="true")
    client.search_until(lambda a: a["hits"]["total"]["value"] == 5, q="*")


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory, run_filled: RunFilled) -> Iterator[Client]:
    """Such a catalog for tests that write nothing."""
    with run_filled(tmp_path_factory.mktemp("shop"), fill) as client:
        yield client


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory, run_filled: RunFilled) -> Iterator[Client]:
    """The same with two teams, for tests that write nothing."""
    with run_filled(tmp_path_factory.mktemp("crowded"), fill) as client:
        client.create("teams", name="team", teamType="Group")
        client.create("teams", name="crew", teamType="Group")
        client.search_until(lambda a: a["hits"]["total"]["value"] == 7, q="*")
        yield client


@pytest.fixture
def own_shop(tmp_path: Path, run_filled: RunFilled) -> Iterator[Client]:
    """Such a catalog for one test."""
    with run_filled(tmp_path, fill) as client:
        yield client


def test_search_answers_as_specified(shop: Client) -> None:
    answer = shop.get("/v1/search/query", q="invoices")
    hit = answer["hits"]["hits"][0]

    assert sorted(answer) == ["_shards", "hits", "timed_out", "took"]
    assert answer["_shards"] == {"total": 1, "successful": 1, "failed": 0, "skipped": 0}
    assert answer["hits"]["total"] == {"value": 1, "relation": "eq"}
    assert (hit["_index"], hit["_id"]) == ("table_search_index", hit["_source"]["id"])
    assert hit["_score"] > 0
    assert hit["_source"] == {
        **EMPTY,
        **shop.get(f"/v1/tables/{hit['_id']}"),
        "entityType": "table",
    }
    assert [column["fullyQualifiedName"] for column in hit["_source"]["columns"]] == [
        "service.database.schema.invoices.invoice_id",
        "service.database.schema.invoices.orderTotal",
    ]


@pytest.mark.parametrize(
    ("q", "found"),
    [
        ("customer_orders", ["customer_orders"]),
        ("customers AND total", ["invoices"]),
        ("customer* AND NOT owe", ["customer_orders"]),
        ('"customers owe"', ["invoices"]),
        ("columns.name:invoice_id", ["invoices"]),
        ("columns.name:order", ["invoices"]),
        ("name:(invoices OR nothing)", ["invoices"]),
        ("extension.nothing:x", []),
        ("entityType:table AND inv?ices", ["invoices"]),
    ],
)
def test_search_speaks_the_query_language(shop: Client, q: str, found: list[str]) -> None:
    assert names(shop.get("/v1/search/query", q=q, index="table_search_index")) == found


def test_search_parameters_narrow_sort_and_cut(shop: Client) -> None:
    def tables(**params: Any) -> Any:
        return shop.get("/v1/search/query", q="*", index="table_search_index", **params)

    term = '{"query":{"term":{"name.keyword":"invoices"}}}'
    assert names(tables(sortField="name", sortOrder="desc")) == ["invoices", "customer_orders"]
    assert names(tables(sort_field="name", sort_order="asc")) == ["customer_orders", "invoices"]
    assert names(tables(sortField="name", deleted="true")) == [
        "customer_orders",
        "invoices",
        "old_orders",
    ]
    assert names(tables(queryFilter=term)) == names(tables(post_filter=term)) == ["invoices"]
    second = tables(sortField="name", size=1, **{"from": 1})
    assert (names(second), second["hits"]["total"]["value"]) == (["invoices"], 2)
    assert tables(size=0)["hits"]["hits"] == []
    assert "_source" not in tables(fetchSource="false")["hits"]["hits"][0]
    cut = tables(include_source_fields="name,columns.name", sortField="name")
    assert cut["hits"]["hits"][1]["_source"] == {
        "name": "invoices",
        "columns": [{"name": "invoice_id"}, {"name": "orderTotal"}],
    }
    assert tables(trackTotalHits="false")["hits"]["total"]["value"] == 2


def test_search_pages_deep_with_search_after(shop: Client) -> None:
    seen: list[str] = []
    after: list[Any] = []
    while True:
        query = "".join(f"&search_after={quote(str(value))}" for value in after)
        answer = shop.request(
            "GET",
            f"/v1/search/query?q=&size=2&sort_field=fullyQualifiedName&sort_order=desc{query}",
        ).json()
        hits = answer["hits"]["hits"]
        if not hits:
            break
        seen += [hit["_source"]["fullyQualifiedName"] for hit in hits]
        after = hits[-1]["sort"]

    assert seen == sorted(seen, reverse=True)
    assert len(seen) == 5


def test_search_gives_hits_their_ancestors(shop: Client) -> None:
    answer = shop.get("/v1/search/query", q="name:invoices", getHierarchy="true")
    ancestors = answer["hits"]["hits"][0]["hierarchy"]

    assert [(a["type"], a["name"]) for a in ancestors] == [
        ("databaseService", "service"),
        ("database", "database"),
        ("databaseSchema", "schema"),
    ]


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("q=(a", "column"),
        ("q=%22a", "column"),
        ("q=a+AND", "column"),
        ("q=a&index=nothing", "table_search_index"),
        ("q=a&sortOrder=up&sortField=name", "sortOrder"),
        ("q=a&sortField=nothing", "sortField"),
        ("q=a&size=1001", "size"),
        ("q=a&from=-1", "from"),
        ("q=a&from=9999&size=10", "10000"),
        ("q=a&from=1.5", "from"),
        ("q=a&from=2147483648", "10000"),
        ("q=a&from=0x10", "from"),
        ("q=a&size=%D9%A1%D9%A0", "size"),
        ("q=a&size=1_0", "size"),
        ("q=a&size=1e9", "size"),
        ("q=a&size=", "size"),
        ("q=deleted:maybe", "column 9"),
        ("q=updatedAt:[a+TO+b]", "column 11"),
        ("q=version:%3Eabc", "version is a number"),
        ("q=a&searchAfter=x", "search_after"),
        ("q=a&sortField=tableType&searchAfter=None&searchAfter=a&searchAfter=b", "null"),
        ("q=a&sortField=tableType&searchAfter=&searchAfter=a&searchAfter=b", "null"),
        ("q=a&includeSourceFields=a..b", "includeSourceFields"),
        ("q=a&excludeSourceFields=.", "excludeSourceFields"),
        ("q=a&deleted=maybe", "deleted"),
        ("q=a&queryFilter={", "queryFilter"),
        ("q=a&queryFilter=[1]", "queryFilter"),
        ('q=a&queryFilter={"script":{}}', "script"),
        ('q=a&postFilter={"bool":{"most":[]}}', "most"),
        ("q=a&sortField=name&sort_field=name", "give it once"),
        ("", "q"),
    ],
)
def test_search_names_what_is_wrong(empty: Client, query: str, said: str) -> None:
    status, body = empty.ask("GET", f"/v1/search/query?{query}")

    assert (status, body["errorType"]) == (400, "BAD_REQUEST")
    assert said in body["message"]


@pytest.mark.parametrize("order", ["asc", "desc"])
@pytest.mark.parametrize("field", ["serviceType", "entityStatus", "updatedAt", "name"])
def test_search_after_gives_every_hit_once(crowded: Client, field: str, order: str) -> None:
    seen: list[str] = []
    after = ""
    for _ in range(10):
        query = f"q=&size=2&sort_field={field}&sort_order={order}{after}"
        hits = crowded.request("GET", f"/v1/search/query?{query}").json()["hits"]["hits"]
        if not hits:
            break
        seen += [hit["_id"] for hit in hits]
        values = ["null" if value is None else str(value) for value in hits[-1]["sort"]]
        after = "".join(f"&search_after={quote(value)}" for value in values)

    assert (len(seen), len(set(seen))) == (7, 7)


def test_search_names_a_parameter_as_it_was_given(empty: Client) -> None:
    def said(query: str) -> str:
        message: str = empty.ask("GET", f"/v1/search/query?q=a&{query}")[1]["message"]
        return message

    assert said("size=1.5") == "size must be a whole number, got '1.5'"
    assert said("track_total_hits=x") == "track_total_hits must be true or false, got 'x'"


def test_search_without_q_needs_a_filter_and_knows_who_is_no_bot(client: Client) -> None:
    client.create("users", name="ann", email="ann@example.com", displayName="Ann Lee")
    query = '{"query":{"query_string":{"query":"Ann AND isBot:false"}}}'

    answer = client.search_until(
        lambda a: a["hits"]["total"]["value"] == 1, query_filter=query, index="user_search_index"
    )

    assert names(answer) == ["ann"]


def by_field(client: Client, value: str, **params: Any) -> Any:
    params = {"fieldName": "fullyQualifiedName", "fieldValue": value, **params}
    return client.get("/v1/search/fieldQuery", **params)


def test_field_search_finds_tables_by_their_qualified_name(shop: Client) -> None:
    answer = by_field(shop, "service.database.schema.invoices")
    hit = answer["hits"]["hits"][0]

    assert sorted(answer) == ["_shards", "hits", "timed_out", "took"]
    assert answer["hits"]["total"] == {"value": 1, "relation": "eq"}
    assert hit["_index"] == "table_search_index"
    assert hit["_source"] == {
        **EMPTY,
        **shop.get(f"/v1/tables/{hit['_id']}"),
        "entityType": "table",
    }


def test_field_search_takes_patterns_indexes_and_pages(shop: Client) -> None:
    everything = {"index": "all"}

    assert names(by_field(shop, "*.*.schema.inv*")) == ["invoices"]
    assert sorted(names(by_field(shop, "service.*"))) == ["customer_orders", "invoices"]
    assert names(by_field(shop, "service.*", deleted="true")) == ["old_orders"]
    assert names(by_field(shop, "service", **everything)) == ["service"]
    assert names(by_field(shop, "service.database", index="database")) == ["database"]
    assert names(by_field(shop, "*", index="test_case_search_index")) == []
    pages = [by_field(shop, "*", size=1, **{"from": place, **everything}) for place in range(5)]
    assert sorted(name for page in pages for name in names(page)) == sorted(
        names(by_field(shop, "*", **everything))
    )
    assert {page["hits"]["total"]["value"] for page in pages} == {5}


@over_files
def test_field_search_is_answered_again_until_something_changes(own_shop: Client) -> None:
    assert by_field(own_shop, "*.inv*") == by_field(own_shop, "*.inv*")
    own_shop.table("inventory")
    own_shop.search_until(lambda a: a["hits"]["total"]["value"] == 6, q="*")
    assert sorted(names(by_field(own_shop, "*.inv*"))) == ["inventory", "invoices"]


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("fieldName=name", "fieldValue"),
        ("fieldValue=a", "fieldName"),
        ("fieldName=nmae&fieldValue=a", "fieldName: no kind has a field 'nmae'; near it: name"),
        ("fieldName=version&fieldValue=a", "fieldValue: version is a number"),
        ("fieldName=name&fieldValue=a&index=nothing", "index must be all or one of"),
        ("fieldName=name&fieldValue=a&size=1001", "size"),
        ("fieldName=name&fieldValue=a&from=-1", "from"),
        ("fieldName=name&fieldValue=a&deleted=maybe", "deleted"),
        ("fieldname=name&fieldValue=a", "did you mean 'fieldName'"),
    ],
)
def test_field_search_names_what_is_wrong(empty: Client, query: str, said: str) -> None:
    status, body = empty.ask("GET", f"/v1/search/fieldQuery?{query}")

    assert (status, body["errorType"]) == (400, "BAD_REQUEST")
    assert said in body["message"]


@pytest.mark.parametrize(
    ("path", "params"),
    [("query", {"q": "*"}), ("fieldQuery", {"fieldName": "name", "fieldValue": "*"})],
)
def test_index_that_only_openmetadata_has_is_empty(
    shop: Client, path: str, params: dict[str, str]
) -> None:
    answer = shop.get(f"/v1/search/{path}", index="test_case_search_index", **params)

    assert answer["hits"]["total"] == {"value": 0, "relation": "eq"}
    assert answer["timed_out"] is False
    tables = shop.get(f"/v1/search/{path}", index="test_case_search_index,table", **params)
    assert sorted(names(tables)) == ["customer_orders", "invoices"]


_CHANGES: dict[str, dict[str, Any]] = {
    "q": {"q": "invoices"},
    "index": {"index": "table_search_index"},
    "from": {"from": 1},
    "size": {"size": 1},
    "deleted": {"deleted": "true"},
    "sortField": {"sortField": "updatedAt"},
    "sortOrder": {"sortOrder": "desc"},
    "trackTotalHits": {"trackTotalHits": "false"},
    "getHierarchy": {"getHierarchy": "true"},
    "fetchSource": {"fetchSource": "false"},
    "includeSourceFields": {"includeSourceFields": "name"},
    "excludeSourceFields": {"excludeSourceFields": "name"},
    "queryFilter": {"queryFilter": '{"term":{"entityType":"table"}}'},
    "postFilter": {"postFilter": '{"term":{"entityType":"table"}}'},
    "includeAggregations": {"includeAggregations": "true"},
    "aggregations": {"aggregations": '{"a":{"terms":{"field":"name"}}}'},
    "searchAfter": {"searchAfter": ["database", "database", "0"]},
    "at": {"at": "1"},
    "asOf": {"asOf": "2020-01-01"},
}
"""For each parameter a value that makes another response than none."""


def test_every_declared_parameter_changes_a_response(
    own_shop: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("projections.search.index.rank.ranking.TOTAL_CAP", 3)

    def answer(**params: Any) -> Any:
        found = own_shop.get("/v1/search/query", **params)
        return {key: value for key, value in found.items() if key != "took"}

    assert list(_CHANGES) == list(map(camel, PARAMETERS))
    plain = {"q": "*", "sortField": "name"}
    before = answer(**plain)
    for name, change in _CHANGES.items():
        ((_, value),) = change.items()
        for spelling in {name, snake(name)}:
            params = {key: v for key, v in plain.items() if snake(key) != snake(name)}
            assert answer(**params, **{spelling: value}) != before, spelling


def test_suggestions_are_answered_in_both_spellings(shop: Client) -> None:
    parameters = {"q": "inv", "include_source_fields": "name", "size": 5}
    answer = shop.get("/v1/search/suggest", **parameters)
    (entry,) = answer["suggest"]["metadata-suggest"]
    assert (entry["text"], [option["text"] for option in entry["options"]]) == ("inv", ["invoices"])
    assert entry["options"][0]["_source"] == {"name": "invoices"}
    bare = shop.get("/v1/search/suggest", q="ord", field="column_suggest", fetchSource="false")
    (option,) = bare["suggest"]["metadata-suggest"][0]["options"]
    assert (option["text"], "_source" in option) == ("orderTotal", False)


@pytest.mark.parametrize(
    ("query", "said"),
    [("field=x", "field must be one of"), ("size=101", "size"), ("index=nothing", "index")],
)
def test_suggestions_refuse_what_they_do_not_know(shop: Client, query: str, said: str) -> None:
    response = shop.request("GET", f"/v1/search/suggest?q=a&{query}")
    assert (response.status_code, said in response.json()["message"]) == (400, True)
