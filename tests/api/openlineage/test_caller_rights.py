"""Permissions at the door: who may not is refused, and nobody learns what is hidden."""

from pathlib import Path
from typing import Any

from tests.api.conftest import Client, running_under
from tests.api.openlineage.captured import (
    captured,
    edge,
    fill,
    needs_captured,
    run_event,
    send,
)
from tests.waiting import until

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

[[rule]]
role = "unpiped"
bot = true
allow = ["view", "create", "edit"]
withhold = ["pipeline"]
"""
EVENT = run_event(reads=("orders",), writes=("daily_revenue",))
MAPPING = '[[dataset]]\nnamespace = "duckdb:*"\nservice = "duck"\n'


def shop(directory: Path, **options: Any):  # type: ignore[no-untyped-def]
    file = directory / "openlineage.toml"
    file.write_text(MAPPING)
    return running_under(directory, POLICIES, openlineage=str(file), **options)


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


def test_list_of_missing_datasets_is_not_for_who_may_not_see_which_are_there(
    tmp_path: Path,
) -> None:
    with shop(tmp_path) as client:
        fill(client)
        send(client, run_event(reads=("guessed",), writes=("orders",)))
        asked = {
            role: client.request("GET", "/v1/lineage/unresolved", role=role)
            for role in ("reader", "drawer")
        }
        assert {role: answer.status_code for role, answer in asked.items()} == {
            "reader": 200,
            "drawer": 403,
        }
        assert "guessed" not in asked["drawer"].text


def mapped_event(state: str, *, source: str, target: str, run: str) -> dict[str, Any]:
    """An event that says of which columns a table is made, and by which SQL."""
    event = run_event(state, run=run, reads=(source,), writes=(target,), sql={"query": "select 1"})
    made = {**event["inputs"][0], "field": "order_id"}
    facet = {"fields": {"order_id": {"inputFields": [made]}}}
    event["outputs"][0]["facets"] = {"columnLineage": facet}
    return event


def test_details_that_are_withheld_are_not_written_once_a_table_comes(tmp_path: Path) -> None:
    with shop(tmp_path, drawn_late=True) as client:
        fill(client)
        event = mapped_event("COMPLETE", source="orders", target="late", run="r")
        send(client, event, role="blind")
        columns = [{"name": "order_id", "dataType": "INT"}]
        client.create("tables", name="late", databaseSchema="duck.shop.sales", columns=columns)
        until(lambda: edge(client, "orders", "late") is not None)
        details = edge(client, "orders", "late")
        assert (details["columnsLineage"], details.get("sqlQuery")) == ([], None)


def test_pipeline_that_is_withheld_is_not_written_once_a_table_comes(tmp_path: Path) -> None:
    with shop(tmp_path, drawn_late=True) as client:
        fill(client)
        for target, role in (("late", "unpiped"), ("later", "bot")):
            event = mapped_event("COMPLETE", source="orders", target=target, run=role)
            send(client, event, role=role)
            columns = [{"name": "order_id", "dataType": "INT"}]
            client.create("tables", name=target, databaseSchema="duck.shop.sales", columns=columns)
            until(lambda target=target: edge(client, "orders", target) is not None)
        details = edge(client, "orders", "late")
        assert (len(details["columnsLineage"]), details.get("pipeline")) == (1, None)
        assert edge(client, "orders", "later")["pipeline"]["type"] == "pipeline"


def test_details_that_are_withheld_are_not_written_by_another_caller(tmp_path: Path) -> None:
    start = mapped_event("START", source="stg_orders", target="orders", run="r")
    end = run_event(run="r", at="2026-11-23T07:00:01Z")
    with shop(tmp_path) as client:
        fill(client)
        send(client, start, role="blind")
        send(client, end, role="bot")
        details = edge(client, "stg_orders", "orders")
        assert (details["columnsLineage"], details.get("sqlQuery")) == ([], None)


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
