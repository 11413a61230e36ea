"""Captured events of OpenLineage's clients, and a catalog that has the datasets that they name."""

import json
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

import pytest

from tests.api.conftest import Client, RunFilled

CAPTURED = Path(__file__).parents[3] / ".." / "shared" / "openlineage"
FILES = (
    "airflow-dag",
    "dbt-build-structured-duckdb",
    "dbt-run-duckdb",
    "dbt-test-duckdb",
    "python-client-facets",
)
needs_captured = pytest.mark.skipif(
    not CAPTURED.is_dir(), reason="the captured events of OpenLineage are not here"
)
POSTGRES, KAFKA, DUCK = (
    "postgres://db.example.org:5432",
    "kafka://broker.example.org:9092",
    "duckdb:///srv/shop/shop.duckdb",
)
MAPPING = """
[[dataset]]
namespace = "duckdb:*"
service = "duck"

[[job]]
namespace = "prod_airflow"
service = "airflow"
"""
MODELS = ("stg_customers", "stg_orders", "orders", "customer_totals", "daily_revenue")
COLUMNS = {
    "raw_customers": ("id", "name", "email"),
    "raw_orders": ("id", "customer_id", "amount_cents", "status", "ordered_at"),
    "stg_customers": ("customer_id", "customer_name", "email"),
    "stg_orders": ("order_id", "customer_id", "amount", "status", "ordered_at"),
    "orders": ("order_id", "customer_id", "customer_name", "amount", "status", "ordered_at"),
    "customer_totals": ("customer_id", "customer_name", "total", "orders"),
    "daily_revenue": ("day", "ordered_at", "revenue", "orders"),
}


def captured(name: str) -> list[dict[str, Any]]:
    """The events of a file, in the order in which they came."""
    text = (CAPTURED / f"{name}.json").read_text()
    return [each["event"] for each in json.loads(text)]


class Creating(Protocol):
    """What makes entities: the client of an application, or of a server."""

    def create(self, collection: str, **body: Any) -> Any: ...


def fill(client: Creating) -> None:
    """Make the services and tables that the captured events name."""
    client.create("services/databaseServices", name="duck", serviceType="CustomDatabase")
    client.create("databases", name="shop", service="duck")
    client.create("databaseSchemas", name="sales", database="duck.shop")
    for name in COLUMNS:
        duck_table(client, name)
    connection = {"config": {"type": "Postgres", "hostPort": "db.example.org:5432"}}
    client.create(
        "services/databaseServices", name="pg", serviceType="Postgres", connection=connection
    )
    client.create("databases", name="shop", service="pg")
    for schema in ("staging", "sales"):
        client.create("databaseSchemas", name=schema, database="pg.shop")
        columns = [{"name": name, "dataType": "INT"} for name in ("order_id", "amount")]
        columns.append(
            {
                "name": "address",
                "dataType": "STRUCT",
                "children": [{"name": "city", "dataType": "TEXT"}],
            }
        )
        client.create("tables", name="orders", databaseSchema=f"pg.shop.{schema}", columns=columns)
    connection = {"config": {"type": "Kafka", "bootstrapServers": "broker.example.org:9092"}}
    client.create(
        "services/messagingServices", name="kafka", serviceType="Kafka", connection=connection
    )
    client.create("services/storageServices", name="lake", serviceType="S3")
    client.create("containers", name="raw", service="lake", fullPath="s3://shop-raw")
    client.create("containers", name="orders", service="lake", fullPath="s3://shop-raw/orders")
    fields = [{"name": name, "dataType": "INT"} for name in ("id", "amount_cents")]
    schema = {"schemaType": "Avro", "schemaFields": fields}
    client.create("topics", name="orders.v1", service="kafka", partitions=1, messageSchema=schema)


def duck_table(client: Creating, name: str) -> Any:
    """One of the tables of the dbt project."""
    columns = [{"name": column, "dataType": "INT"} for column in COLUMNS[name]]
    return client.create("tables", name=name, databaseSchema="duck.shop.sales", columns=columns)


def shop(
    run_filled: RunFilled, directory: Path, *, mapping: str = MAPPING, **options: Any
) -> AbstractContextManager[Client]:
    """A catalog that has them, with rules for their names."""
    file = directory / "openlineage.toml"
    file.write_text(mapping)
    return run_filled(directory, fill, openlineage=str(file), **options)


def send(client: Client, *events: dict[str, Any], role: str = "bot") -> list[Any]:
    """Send events one by one; returns the answers, each of which is a success."""
    answers = []
    for event in events:
        response = client.request("POST", "/api/v1/lineage", json=event, role=role)
        assert response.status_code == 200, response.text
        answers.append(response.json())
    return answers


def head(client: Client) -> int:
    """The position of the newest event of the log."""
    return client.services.stores.log.head()


def run_event(
    state: str = "COMPLETE",
    *,
    job: str = "job",
    run: str = "01a20740-0000-7000-8000-00000000000a",
    at: str = "2026-11-23T07:00:00Z",
    reads: tuple[str, ...] = (),
    writes: tuple[str, ...] = (),
    namespace: str = DUCK,
    **facets: Any,
) -> dict[str, Any]:
    """An event of a run between tables of the dbt project; `facets` are of its job."""
    return {
        "eventTime": at,
        "eventType": state,
        "run": {"runId": run, "facets": {}},
        "job": {"namespace": "jobs", "name": job, "facets": facets},
        "inputs": [{"namespace": namespace, "name": f"shop.sales.{name}"} for name in reads],
        "outputs": [{"namespace": namespace, "name": f"shop.sales.{name}"} for name in writes],
    }


def edge(client: Client, source: str, target: str, service: str = "duck") -> Any:
    """The details of an edge between two tables, None where there is none."""
    names = [f"table/name/{service}.shop.sales.{name}" for name in (source, target)]
    status, body = client.ask("GET", f"/v1/lineage/getLineageEdge/{'/'.join(names)}")
    return body["edge"] if status == 200 else None
