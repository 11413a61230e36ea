"""Datasets that come after the events that name them, and the list of those that are missing."""

from pathlib import Path
from typing import Any

from tests.api.conftest import Client, RunFilled, running
from tests.api.openlineage.captured import DUCK, POSTGRES, edge, head, run_event, send, shop
from tests.waiting import until

RETURNS = run_event(reads=("orders",), writes=("returns",))


def unresolved(client: Client, **params: Any) -> list[tuple[str, str, int]]:
    page = client.get("/v1/lineage/unresolved", **params)
    return [(each["namespace"], each["name"], each["statements"]) for each in page["data"]]


def make_returns(client: Client) -> None:
    columns = [{"name": "order_id", "dataType": "INT"}]
    client.create("tables", name="returns", databaseSchema="duck.shop.sales", columns=columns)


def test_edge_waits_for_a_table(tmp_path: Path, run_filled: RunFilled) -> None:
    with shop(run_filled, tmp_path, drawn_late=True) as client:
        (answer,) = send(client, RETURNS)
        missing = {"namespace": DUCK, "name": "shop.sales.returns"}
        assert answer == {"status": "ok", "edges": 0, "unresolved": [missing], "ignored": []}
        assert unresolved(client) == [(DUCK, "shop.sales.returns", 1)]
        make_returns(client)
        until(lambda: edge(client, "orders", "returns") is not None)
        details = edge(client, "orders", "returns")
        assert details["createdBy"] == "the-bot"
        assert details["pipeline"]["fullyQualifiedName"] == "jobs.job"
        until(lambda: unresolved(client) == [])
        before = head(client)
        (answer,) = send(client, RETURNS)
        assert (answer["edges"], head(client)) == (1, before)


def test_edge_waits_for_a_service(tmp_path: Path, run_filled: RunFilled) -> None:
    namespace = "postgres://late.example.org:5432"
    event = run_event(reads=("orders",), writes=("returns",), namespace=namespace)
    with shop(run_filled, tmp_path, drawn_late=True) as client:
        send(client, event)
        connection = {"config": {"type": "Postgres", "hostPort": "elsewhere:5432"}}
        service = client.create(
            "services/databaseServices", name="late", serviceType="Postgres", connection=connection
        )
        client.create("databases", name="shop", service="late")
        client.create("databaseSchemas", name="sales", database="late.shop")
        columns = [{"name": "order_id", "dataType": "INT"}]
        for name in ("orders", "returns"):
            client.create("tables", name=name, databaseSchema="late.shop.sales", columns=columns)
        assert edge(client, "orders", "returns", "late") is None
        connection["config"]["hostPort"] = "late.example.org"
        patch = [{"op": "replace", "path": "/connection", "value": connection}]
        headers = {"Content-Type": "application/json-patch+json"}
        path = f"/v1/services/databaseServices/{service['id']}"
        assert client.request("PATCH", path, json=patch, headers=headers).status_code == 200
        until(lambda: edge(client, "orders", "returns", "late") is not None)


def test_edge_waits_for_a_rule(tmp_path: Path, run_filled: RunFilled) -> None:
    event = run_event(reads=("orders",), writes=("daily_revenue",), namespace="warehouse")
    with shop(run_filled, tmp_path, drawn_late=True) as client:
        send(client, event)
        assert len(unresolved(client)) == 2
        file = tmp_path / "openlineage.toml"
        file.write_text('[[dataset]]\nnamespace = "ware*"\nservice = "duck"\n')
        until(lambda: edge(client, "orders", "daily_revenue") is not None)
        until(lambda: unresolved(client) == [])


def test_waiting_edges_survive_a_restart(tmp_path: Path, run_filled: RunFilled) -> None:
    with shop(run_filled, tmp_path) as client:
        send(client, RETURNS)
        make_returns(client)
        assert edge(client, "orders", "returns") is None
    mapping = str(tmp_path / "openlineage.toml")
    with running(tmp_path, openlineage=mapping, drawn_late=True) as client:
        until(lambda: edge(client, "orders", "returns") is not None)


def test_missing_datasets_are_listed_by_namespace_in_pages(
    tmp_path: Path, run_filled: RunFilled
) -> None:
    with shop(run_filled, tmp_path) as client:
        for number in range(3):
            send(client, run_event(job=f"j{number}", reads=("orders",), writes=(f"t{number}",)))
        send(client, run_event(reads=("orders",), writes=("t0",)))
        send(client, run_event(run="b", reads=("x",), writes=("y",), namespace="nowhere"))
        whole = client.get("/v1/lineage/unresolved")
        assert whole["paging"] == {"total": 5}
        assert whole["namespaces"] == [
            {"namespace": DUCK, "datasets": 3},
            {"namespace": "nowhere", "datasets": 2},
        ]
        assert unresolved(client, namespace=DUCK) == [
            (DUCK, "shop.sales.t0", 2),
            (DUCK, "shop.sales.t1", 1),
            (DUCK, "shop.sales.t2", 1),
        ]
        names, after = [], {}
        while True:
            page = client.get("/v1/lineage/unresolved", limit=2, **after)
            names += [each["name"] for each in page["data"]]
            if "after" not in page["paging"]:
                break
            after = {"after": page["paging"]["after"]}
        assert names == [each["name"] for each in whole["data"]]
        assert client.ask("GET", "/v1/lineage/unresolved?after=none")[0] == 400


def test_rule_may_ignore_what_is_missing(tmp_path: Path, run_filled: RunFilled) -> None:
    mapping = '[[dataset]]\nnamespace = "duckdb:*"\nservice = "duck"\nunknown = "ignore"\n'
    with shop(run_filled, tmp_path, mapping=mapping) as client:
        (answer,) = send(client, RETURNS)
        assert (answer["edges"], answer["unresolved"]) == (0, [])
        assert unresolved(client) == []


def test_rule_may_have_missing_tables_made_below_a_schema(
    tmp_path: Path, run_filled: RunFilled
) -> None:
    mapping = '[[dataset]]\nnamespace = "duckdb:*"\nservice = "duck"\nunknown = "create"\n'
    event = run_event(reads=("orders",), writes=("returns",))
    fields = [{"name": "order_id", "type": "integer", "description": "The key."}]
    event["outputs"][0]["facets"] = {"schema": {"fields": fields}}
    stray = run_event(job="stray", reads=("orders",), writes=("returns",))
    stray["outputs"][0]["name"] = "shop.nowhere.returns"
    stray["outputs"][0]["facets"] = event["outputs"][0]["facets"]
    with shop(run_filled, tmp_path, mapping=mapping) as client:
        answers = send(client, event, stray)
        assert [each["edges"] for each in answers] == [1, 0]
        table = client.get("/v1/tables/name/duck.shop.sales.returns", fields="columns")
        (column,) = table["columns"]
        assert (column["dataType"], column["dataTypeDisplay"]) == ("UNKNOWN", "integer")
        assert unresolved(client) == [(DUCK, "shop.nowhere.returns", 1)]


def test_files_are_passed_over(tmp_path: Path, run_filled: RunFilled) -> None:
    event = run_event(reads=("orders",), writes=("daily_revenue",), namespace="file")
    with shop(run_filled, tmp_path) as client:
        (answer,) = send(client, event)
        assert (answer["edges"], answer["unresolved"]) == (0, [])


def test_name_that_may_be_two_tables_is_none(tmp_path: Path, run_filled: RunFilled) -> None:
    with shop(run_filled, tmp_path) as client:
        connection = {"config": {"type": "Postgres", "hostPort": "db.example.org"}}
        client.create(
            "services/databaseServices", name="pg2", serviceType="Postgres", connection=connection
        )
        client.create("databases", name="shop", service="pg2")
        client.create("databaseSchemas", name="sales", database="pg2.shop")
        columns = [{"name": "order_id", "dataType": "INT"}]
        client.create("tables", name="orders", databaseSchema="pg2.shop.sales", columns=columns)
        event = run_event(reads=("orders",), writes=("x",), namespace=POSTGRES)
        (answer,) = send(client, event)
        assert {each["name"] for each in answer["unresolved"]} == {
            "shop.sales.orders",
            "shop.sales.x",
        }
