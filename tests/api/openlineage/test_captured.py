"""Captured events of dbt, Airflow and the Python client: what the catalog has of them."""

import random
from pathlib import Path
from typing import Any

import pytest

from tests.api.conftest import Client, RunFilled
from tests.api.openlineage.captured import (
    FILES,
    captured,
    edge,
    head,
    needs_captured,
    run_event,
    send,
    shop,
)

pytestmark = needs_captured
DBT_EDGES = [
    ("raw_customers", "stg_customers"),
    ("raw_orders", "stg_orders"),
    ("stg_customers", "orders"),
    ("stg_orders", "orders"),
    ("orders", "customer_totals"),
    ("orders", "daily_revenue"),
]
PIPELINE = "shop_ci.dbt-run-shop"


def drawn(client: Client) -> list[tuple[str, str]]:
    return [ends for ends in DBT_EDGES if edge(client, *ends) is not None]


def told(details: Any) -> Any:
    """The details of an edge, but for times and for the id of the pipeline."""
    kept = {key: details[key] for key in ("source", "sqlQuery") if key in details}
    mappings = details["columnsLineage"]
    kept["columns"] = sorted((each["toColumn"], each["fromColumns"]) for each in mappings)
    return {**kept, "pipeline": details["pipeline"]["fullyQualifiedName"]}


def tasks(client: Client) -> list[str]:
    pipeline = client.get(f"/v1/pipelines/name/{PIPELINE}", fields="tasks")
    return sorted(each["name"] for each in pipeline["tasks"])


def results(client: Client) -> dict[str, list[str]]:
    """Name of a test case -> the statuses of its results."""
    cases = client.get("/v1/dataQuality/testCases", limit=100)["data"]
    shown = {}
    for case in cases:
        name = case["fullyQualifiedName"]
        page = client.get(f"/v1/dataQuality/testCases/testCaseResults/{name}")
        shown[case["name"]] = [each["testCaseStatus"] for each in page["data"]]
    return shown


def test_run_of_dbt_is_six_edges_with_columns_and_five_tasks(
    tmp_path: Path, run_filled: RunFilled
) -> None:
    with shop(run_filled, tmp_path) as client:
        send(client, *captured("dbt-run-duckdb"))

        assert drawn(client) == DBT_EDGES
        assert tasks(client) == sorted(
            f"model.shop.{name}"
            for name in (
                "stg_customers",
                "stg_orders",
                "orders",
                "customer_totals",
                "daily_revenue",
            )
        )
        details = edge(client, "stg_customers", "orders")
        assert details["source"] == "OpenLineage"
        assert details["pipeline"]["fullyQualifiedName"] == PIPELINE
        assert details["sqlQuery"].startswith("select o.order_id")
        assert details["columnsLineage"] == [
            {
                "fromColumns": ["duck.shop.sales.stg_customers.customer_name"],
                "toColumn": "duck.shop.sales.orders.customer_name",
            }
        ]


def test_the_same_events_again_store_nothing_in_any_order(
    tmp_path: Path, run_filled: RunFilled
) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    chosen = random.Random(seed)
    with shop(run_filled, tmp_path) as client:
        for name in FILES:
            send(client, *captured(name))
        before = head(client)
        events = [event for name in FILES for event in captured(name)]
        chosen.shuffle(events)
        send(client, *events)
        assert head(client) == before


@pytest.mark.parametrize("names", [("dbt-run-duckdb", "dbt-build-structured-duckdb"), FILES])
def test_shuffled_events_lead_to_the_same_lineage(
    tmp_path: Path, run_filled: RunFilled, names: tuple[str, ...]
) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    chosen = random.Random(seed)
    seen = []
    for turn in range(2):
        directory = tmp_path / str(turn)
        directory.mkdir()
        with shop(run_filled, directory) as client:
            events = [event for name in names for event in captured(name)]
            if turn:
                chosen.shuffle(events)
            send(client, *events)
            assert drawn(client) == DBT_EDGES
            edges = {ends: told(edge(client, *ends)) for ends in DBT_EDGES}
            cases = {name: sorted(given) for name, given in results(client).items()}
            seen.append((edges, tasks(client), cases))
    assert seen[0] == seen[1]


def test_batch_leads_to_what_single_events_lead_to(tmp_path: Path, run_filled: RunFilled) -> None:
    with shop(run_filled, tmp_path) as client:
        events = captured("dbt-run-duckdb")
        response = client.request("POST", "/v1/lineage/batch", json=events, role="bot")
        assert response.json() == {
            "status": "success",
            "summary": {
                "received": 12,
                "successful": 12,
                "failed": 0,
                "retriable": 0,
                "non_retriable": 0,
            },
            "failed_events": [],
        }
        assert (drawn(client), len(tasks(client))) == (DBT_EDGES, 5)
        before = head(client)
        send(client, *events)
        assert head(client) == before


def test_failed_test_of_dbt_is_one_failed_result(tmp_path: Path, run_filled: RunFilled) -> None:
    with shop(run_filled, tmp_path) as client:
        for _ in range(2):
            send(client, *captured("dbt-test-duckdb"))
        found = results(client)
        assert found.pop("accepted_values_orders_status__paid__shipped") == ["Failed"]
        assert len(found) == 6
        assert {*map(tuple, found.values())} == {("Success",)}
        case = client.get("/v1/dataQuality/testCases/name/duck.shop.sales.orders.status."
                          "accepted_values_orders_status__paid__shipped")  # fmt: skip
        assert case["testDefinition"]["name"] == "openLineageAssertion"


def test_both_modes_of_dbt_tell_of_one_task(tmp_path: Path, run_filled: RunFilled) -> None:
    with shop(run_filled, tmp_path) as client:
        send(client, *captured("dbt-run-duckdb"))
        columns = told(edge(client, "stg_orders", "orders"))
        assert columns["columns"]
        send(client, *captured("dbt-build-structured-duckdb"))
        assert told(edge(client, "stg_orders", "orders")) == columns
        models = [name for name in tasks(client) if name.startswith("model.")]
        assert len(models) == 5


def test_skipped_models_draw_nothing(tmp_path: Path, run_filled: RunFilled) -> None:
    with shop(run_filled, tmp_path) as client:
        send(client, *captured("dbt-build-structured-duckdb"))
        assert edge(client, "orders", "customer_totals") is None
        assert edge(client, "stg_orders", "orders") is not None


def test_airflow_is_a_pipeline_with_tasks_and_runs(tmp_path: Path, run_filled: RunFilled) -> None:
    with shop(run_filled, tmp_path) as client:
        client.create("services/pipelineServices", name="airflow", serviceType="Airflow")
        send(client, *captured("airflow-dag"))
        pipeline = client.get("/v1/pipelines/name/airflow.orders_etl", fields="tasks")
        assert [each["name"] for each in pipeline["tasks"]] == ["extract", "load", "report"]
        assert pipeline["description"] == "Loads the orders of the shop."
        (run,) = client.get("/v1/pipelines/airflow.orders_etl/status")["data"]
        assert run["executionStatus"] == "Failed"
        assert run["error"] == {"errorMessage": "task_failure"}
        assert run["nominalStartTime"] == "2026-01-05T00:00:00+00:00"
        states = {each["name"]: each["executionStatus"] for each in run["taskStatus"]}
        assert states == {"extract": "Successful", "load": "Successful", "report": "Failed"}
        walk = client.get("/v1/lineage/table/name/pg.shop.sales.orders", upstreamDepth=2)
        names = {node["fullyQualifiedName"] for node in walk["nodes"]}
        assert names == {"pg.shop.staging.orders", "lake.orders"}


def test_streaming_job_draws_while_it_runs(tmp_path: Path, run_filled: RunFilled) -> None:
    with shop(run_filled, tmp_path) as client:
        start, *_ = captured("python-client-facets")
        (answer,) = send(client, start)
        assert (answer["edges"], answer["unresolved"]) == (1, [])
        walk = client.get("/v1/lineage/table/name/pg.shop.sales.orders")
        (step,) = walk["upstreamEdges"]
        mappings = step["lineageDetails"]["columnsLineage"]
        assert {
            "fromColumns": ['kafka."orders.v1".amount_cents'],
            "toColumn": "pg.shop.sales.orders.amount",
            "function": "amount_cents / 100",
        } in mappings


def test_texts_fill_in_what_is_empty_alone(tmp_path: Path, run_filled: RunFilled) -> None:
    with shop(run_filled, tmp_path) as client:
        table = "/v1/tables/name/pg.shop.sales.orders"
        patch = [
            {"op": "add", "path": "/description", "value": "What people say."},
            {"op": "add", "path": "/columns/1/description", "value": "Euros."},
        ]
        headers = {"Content-Type": "application/json-patch+json"}
        assert client.request("PATCH", table, json=patch, headers=headers).status_code == 200
        answers = send(client, *captured("python-client-facets"))
        shown = client.get(table, fields="columns,owners")
        assert shown["description"] == "What people say."
        texts = {each["name"]: each.get("description") for each in shown["columns"]}
        assert texts == {"order_id": "The key of an order.", "amount": "Euros.", "address": None}
        assert shown.get("owners", []) == []
        sentences = [sentence for answer in answers for sentence in answer["ignored"]]
        assert any("owners of 'pg.shop.sales.orders' left out" in each for each in sentences)
        assert any("DROP deletes and renames nothing here" in each for each in sentences)


def test_owners_are_taken_where_all_are_here(tmp_path: Path, run_filled: RunFilled) -> None:
    with shop(run_filled, tmp_path) as client:
        client.create("teams", name="sales-engineering", teamType="Group")
        send(client, *captured("dbt-run-duckdb"))
        orders = client.get("/v1/tables/name/duck.shop.sales.orders", fields="owners")
        assert [each["name"] for each in orders["owners"]] == ["sales-engineering"]


def test_edge_that_a_person_drew_is_left_alone(tmp_path: Path, run_filled: RunFilled) -> None:
    with shop(run_filled, tmp_path) as client:
        path = "/v1/lineage/table/name/duck.shop.sales.orders/table/name/duck.shop.sales"
        drawing = {"source": "Manual", "description": "by hand"}
        assert client.ask("PUT", f"{path}.daily_revenue", json=drawing)[0] == 200
        (answer,) = send(client, run_event(reads=("orders",), writes=("daily_revenue",)))
        assert answer["edges"] == 1
        details = edge(client, "orders", "daily_revenue")
        assert (details["source"], details["description"]) == ("Manual", "by hand")
        assert "pipeline" not in details
