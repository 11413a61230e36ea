"""Permissions at the door: who may not is refused, and nobody learns what is hidden."""

from pathlib import Path

from tests.api.conftest import Client, running_under
from tests.api.openlineage.captured import (
    captured,
    edge,
    fill,
    needs_captured,
    run_event,
    send,
)

POLICIES = """
[[rule]]
role = "admin"
allow = ["list", "view", "search", "create", "edit", "delete", "sample"]

[[rule]]
role = "bot"
kinds = ["lineageEdge", "pipeline"]
allow = ["create", "edit"]

[[rule]]
role = "drawer"
kinds = ["lineageEdge"]
allow = ["view", "create", "edit"]

[[rule]]
role = "reader"
allow = ["list", "view"]

[[rule]]
role = "blind"
bot = true
allow = ["view", "create", "edit"]
withhold = ["columns", "sqlQuery"]
"""
EVENT = run_event(reads=("orders",), writes=("daily_revenue",))
MAPPING = '[[dataset]]\nnamespace = "duckdb:*"\nservice = "duck"\n'


def shop(directory: Path):  # type: ignore[no-untyped-def]
    file = directory / "openlineage.toml"
    file.write_text(MAPPING)
    return running_under(directory, POLICIES, openlineage=str(file))


def status(client: Client, role: str) -> int:
    answer = client.request("POST", "/v1/lineage", json=EVENT, role=role)
    assert isinstance(answer.status_code, int)
    return answer.status_code


def test_who_may_not_draw_edges_and_make_pipelines_is_refused(tmp_path: Path) -> None:
    with shop(tmp_path) as client:
        fill(client)
        assert [status(client, role) for role in ("reader", "drawer", "bot")] == [403, 403, 200]
        answer = client.http.post("/v1/lineage", json=EVENT)
        assert answer.status_code == 401


def test_caller_who_sees_no_tables_is_not_told_which_there_are(tmp_path: Path) -> None:
    there = run_event(run="a", job="a", reads=("orders",), writes=("daily_revenue",))
    away = run_event(run="b", job="b", reads=("orders",), writes=("returns",))
    for event, column in ((there, "x"), (away, "x")):
        inputs = [{"namespace": event["inputs"][0]["namespace"], "name": "shop.sales.orders"}]
        inputs[0]["field"] = column
        facet = {"fields": {column: {"inputFields": inputs}}}
        event["outputs"][0]["facets"] = {"columnLineage": facet}
    with shop(tmp_path) as client:
        fill(client)
        assert send(client, there) == send(client, away)
        assert edge(client, "orders", "daily_revenue")["createdBy"] == "the-bot"


@needs_captured
def test_caller_writes_no_more_than_it_may(tmp_path: Path) -> None:
    with shop(tmp_path) as client:
        fill(client)
        send(client, *captured("dbt-run-duckdb"), *captured("dbt-test-duckdb"))
        assert edge(client, "stg_orders", "orders") is not None
        table = client.get("/v1/tables/name/duck.shop.sales.orders", fields="columns")
        assert "description" not in table
        assert client.get("/v1/dataQuality/testCases")["data"] == []
        assert client.get("/v1/pipelines/name/shop_ci.dbt-run-shop")["tasks"]


@needs_captured
def test_details_that_are_withheld_from_the_caller_are_not_written(tmp_path: Path) -> None:
    with shop(tmp_path) as client:
        fill(client)
        send(client, *captured("dbt-run-duckdb"), role="blind")
        details = edge(client, "stg_orders", "orders")
        assert details["columnsLineage"] == []
        assert "sqlQuery" not in details
        table = client.get("/v1/tables/name/duck.shop.sales.orders", fields="columns")
        assert {each.get("description") for each in table["columns"]} == {None}
