"""Lists narrowed by regular expressions over names, as OpenMetadata's profiler asks for them."""

from pathlib import Path
from typing import Any

import pytest

from tests.api.conftest import Client, over_files, running, running_under, without_reads


def fill(client: Client) -> None:
    """Two databases with three schemas and seven tables."""
    client.create("services/databaseServices", name="pg", serviceType="Postgres")
    for database, schema, tables in (
        ("prod", "shop", ("orders", "order_lines", "customers")),
        ("prod", "hr", ("people", "orders")),
        ("staging", "shop", ("orders", "tmp_orders")),
    ):
        client.request("PUT", "/v1/databases", json={"name": database, "service": "pg"})
        client.create("databaseSchemas", name=schema, database=f"pg.{database}")
        for name in tables:
            below = f"pg.{database}.{schema}"
            client.create("tables", name=name, databaseSchema=below, columns=[])


@pytest.fixture
def shop(client: Client) -> Client:
    fill(client)
    return client


def listed(client: Client, collection: str = "tables", **params: Any) -> list[str]:
    answer = client.get(f"/v1/{collection}", **params)
    assert answer["paging"]["total"] == len(answer["data"])
    return [item["fullyQualifiedName"].removeprefix("pg.") for item in answer["data"]]


def test_profiler_reads_the_tables_that_it_was_told(shop: Client) -> None:
    scope = {"service": "pg", "database": "pg.prod", "limit": 100}
    told = {**scope, "databaseSchemaRegex": "(^shop$)|(^x$)", "tableRegex": "^orders$"}

    assert listed(shop, **told, regexMode="include") == ["prod.shop.orders"]
    assert listed(shop, **scope, tableRegex="^order", regexMode="exclude") == [
        "prod.shop.customers",
        "prod.hr.people",
    ]
    assert listed(shop, **scope, databaseSchemaRegex="hr", fields="columns,customMetrics") == [
        "prod.hr.orders",
        "prod.hr.people",
    ]
    by_fqn = {**scope, "tableRegex": r"^pg\.prod\.hr\.", "regexFilterByFqn": "true"}
    assert listed(shop, **by_fqn) == ["prod.hr.orders", "prod.hr.people"]


def test_databases_and_schemas_are_narrowed_too(shop: Client) -> None:
    assert listed(shop, "databases", service="pg", databaseRegex="^st") == ["staging"]
    assert listed(shop, "databases", databaseRegex="^st", regexMode="exclude") == ["prod"]
    schemas = {"service": "pg", "databaseSchemaRegex": "^shop$"}
    assert listed(shop, "databaseSchemas", **schemas) == ["prod.shop", "staging.shop"]
    assert listed(shop, "databaseSchemas", **schemas, databaseRegex="prod") == ["prod.shop"]


def test_pages_of_a_narrowed_list_are_walked(shop: Client) -> None:
    narrowed: dict[str, Any] = {"tableRegex": "orders", "limit": 2}
    first = shop.get("/v1/tables", **narrowed)
    second = shop.get("/v1/tables", **narrowed, after=first["paging"]["after"])

    assert [len(one["data"]) for one in (first, second)] == [2, 2]
    assert first["paging"]["total"] == second["paging"]["total"] == 4
    assert "after" not in second["paging"]
    assert shop.get("/v1/tables", **narrowed, before=second["paging"]["before"]) == first
    cursor = first["paging"]["after"]
    for other in (
        "tableRegex=order",
        "databaseRegex=orders",
        "tableRegex=orders&regexMode=exclude",
    ):
        status, body = shop.ask("GET", f"/v1/tables?{other}&limit=2&after={cursor}")
        assert (status, "not a cursor of this list" in body["message"]) == (400, True)


@over_files
def test_list_that_passes_over_many_names_leaves_the_event_loop(tmp_path: Path) -> None:
    # Seven names and the pattern cost more than 2,000 rows of a page would.
    dear = f"orders|{'x' * 2_300}"
    # Without a place for heavy reads, what is read on the event loop alone is answered.
    with running(tmp_path, services=without_reads()) as client:
        fill(client)

        assert client.ask("GET", f"/v1/tables?tableRegex={dear}")[0] == 429
        assert client.ask("GET", "/v1/tables?tableRegex=")[0] == 200
    with running(tmp_path) as client:
        assert len(listed(client, tableRegex=dear)) == 4


@pytest.mark.parametrize("empty_value", ["tableRegex=", "tableRegex=&regexMode=exclude"])
def test_empty_pattern_narrows_nothing(shop: Client, empty_value: str) -> None:
    assert shop.get(f"/v1/tables?{empty_value}")["paging"]["total"] == 7
    assert shop.get("/v1/tables", regexMode="exclude")["paging"]["total"] == 7


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (
            "tableRegex=(",
            "tableRegex: '(' is not a regular expression that RE2 takes: missing ): (",
        ),
        (f"databaseRegex={'a' * 4_097}", "databaseRegex has over 4096 characters"),
        ("tableRegex=a&tableRegex=b", "tableRegex may be given once"),
        ("tableregex=a", "unknown parameter 'tableregex': did you mean 'tableRegex'?"),
    ],
)
def test_wrong_pattern_is_400(empty: Client, query: str, message: str) -> None:
    status, body = empty.ask("GET", f"/v1/tables?{query}")

    assert (status, body["errorType"], body["message"]) == (400, "BAD_REQUEST", message)


def test_wrong_mode_is_400(empty: Client) -> None:
    for query in ("regexMode=all", "regexFilterByFqn=maybe", "regexFilterByFqn=null"):
        assert empty.ask("GET", f"/v1/tables?tableRegex=a&{query}")[0] == 400


def test_caller_who_may_not_list_tables_asks_for_no_names(tmp_path: Path) -> None:
    with running_under(
        tmp_path, '[[rule]]\nrole="some"\nallow=["list"]\nkinds=["database"]\n'
    ) as client:
        assert client.ask("GET", "/v1/databases?databaseRegex=a", role="some")[0] == 200
        assert client.ask("GET", "/v1/tables?databaseRegex=a", role="some")[0] == 403
