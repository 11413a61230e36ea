"""Workflows over what a connector brought: dbt, profiler, lineage of views, tests of data."""

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.e2e.openmetadata import dbt_artifacts
from tests.e2e.openmetadata.conftest import (
    COMMAND,
    SINK,
    Catalog,
    Postgres,
    catalog_for_connectors,
    ingest_shop,
    needs_metadata,
    needs_postgres,
    shop_in_postgres,
    source,
)

pytestmark = [needs_metadata, needs_postgres, pytest.mark.xdist_group("openmetadata")]

SALES = "warehouse.shop.sales"


class Warehouse(NamedTuple):
    """A database and a catalog that has it."""

    catalog: Catalog
    postgres: Postgres


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warehouse]:
    directory = tmp_path_factory.mktemp("warehouse")
    with shop_in_postgres() as postgres, catalog_for_connectors(directory) as catalog:
        ingest_shop(catalog, postgres)
        yield Warehouse(catalog, postgres)


def lineage(catalog: Catalog, table: str) -> list[str]:
    """The names of the tables that one is made of."""
    path = f"/v1/lineage/table/name/{SALES}.{table}"
    answer = catalog.server.get(path, upstreamDepth=1, downstreamDepth=0)
    return sorted(node["name"] for node in answer["nodes"])


def edge(catalog: Catalog, beginning: str, end: str) -> dict[str, Any]:
    """The details of the edge between two tables."""
    ids = (catalog.table(f"{SALES}.{name}")["id"] for name in (beginning, end))
    found: dict[str, Any] = catalog.server.get(f"/v1/lineage/getLineageEdge/{'/'.join(ids)}")
    return found["edge"]


def statuses_of(catalog: Catalog, case: str) -> list[str]:
    """Return the results of the runs of a test of data, the newest first."""
    path = f"/v1/dataQuality/testCases/testCaseResults/{case}"
    until = int(time.time() * 1_000)
    results = catalog.server.get(path, startTs=0, endTs=until)["data"]
    return [result["testCaseStatus"] for result in results]


def test_dbt_describes_models_and_the_next_run_stores_nothing(
    warehouse: Warehouse, tmp_path: Path
) -> None:
    catalog = warehouse.catalog
    artifacts = dbt_artifacts.write(tmp_path, revenue="What came in.")
    dbt = source(
        "dbt",
        "warehouse",
        type="DBT",
        dbtConfigSource=artifacts,
        dbtUpdateDescriptions=True,
    )
    words = {"op": "add", "path": "/columns/0/description", "value": "A person's words."}
    catalog.edit(catalog.table(f"{SALES}.revenue"), words)
    catalog.run("ingest", source=dbt, sink=SINK)

    revenue = catalog.table(f"{SALES}.revenue")
    assert revenue["description"] == "What came in."
    assert revenue["dataModel"]["modelType"] == "DBT"
    assert [tag["tagFQN"] for tag in revenue["dataModel"]["tags"]] == ["dbtTags.gold"]
    assert "open_orders" in lineage(catalog, "revenue")
    assert edge(catalog, "open_orders", "revenue")["sqlQuery"] == dbt_artifacts.SQL["revenue"]
    assert revenue["columns"][0]["description"] == "A person's words."
    case = f"{SALES}.revenue.day.{dbt_artifacts.TEST}"
    assert statuses_of(catalog, case) == ["Success"]

    head = catalog.head()
    catalog.run("ingest", source=dbt, sink=SINK)
    ingest_shop(catalog, warehouse.postgres)
    assert catalog.head() == head
    assert catalog.table(f"{SALES}.revenue") == revenue
    catalog.verify()


def test_profiler_reports_what_it_measured(warehouse: Warehouse) -> None:
    catalog, head = warehouse.catalog, warehouse.catalog.head()
    for _ in range(2):
        catalog.run(
            "profile",
            source=source(
                "postgres",
                "warehouse",
                warehouse.postgres.connection("shop"),
                type="Profiler",
                schemaFilterPattern={"includes": ["^sales$"]},
            ),
            processor={"type": "orm-profiler", "config": {}},
            sink=SINK,
        )
    path = f"/v1/tables/{SALES}.orders/tableProfile/latest"
    assert catalog.server.get(path)["profile"]["rowCount"] == 50
    assert catalog.head() == head
    catalog.verify()


def test_use_of_tables_is_counted(warehouse: Warehouse, tmp_path: Path) -> None:
    catalog = warehouse.catalog
    joined = (
        "SELECT o.id, c.name FROM sales.orders o"
        " JOIN sales.customers c ON o.customer_id = c.id WHERE o.id > 3"
    )
    warehouse.postgres.execute("shop", "-c", joined, "-o", "/dev/null")
    staged = str(tmp_path / "staged")

    def run() -> None:
        catalog.run(
            "usage",
            source=source(
                "postgres-usage",
                "warehouse",
                warehouse.postgres.connection("shop"),
                type="DatabaseUsage",
                queryLogDuration=1,
            ),
            processor={"type": "query-parser", "config": {}},
            stage={"type": "table-usage", "config": {"filename": staged}},
            bulkSink={"type": "metadata-usage", "config": {"filename": staged}},
        )

    run()
    use = catalog.server.get(f"/v1/usage/table/name/{SALES}.orders")["usage"]
    assert use[0]["dailyStats"]["count"] >= 1
    assert "percentileRank" in use[0]["dailyStats"]
    joins = catalog.server.get(f"/v1/tables/name/{SALES}.orders", fields="joins")["joins"]
    by_column = {each["columnName"]: each["joinedWith"] for each in joins["columnJoins"]}
    (other,) = by_column["customer_id"]
    assert other["fullyQualifiedName"] == f"{SALES}.customers.id"
    orders = catalog.table(f"{SALES}.orders")
    queries = catalog.server.get("/v1/queries", entityId=orders["id"], fields="usedBy")["data"]
    assert any("customer_id" in each["query"] for each in queries)

    head = catalog.head()
    run()
    assert catalog.head() == head
    catalog.verify()


def test_lineage_of_views(warehouse: Warehouse) -> None:
    catalog = warehouse.catalog
    views = source(
        "postgres-lineage",
        "warehouse",
        warehouse.postgres.connection("shop"),
        type="DatabaseLineage",
        queryLogDuration=1,
    )
    catalog.run("ingest", source=views, sink=SINK)
    assert lineage(catalog, "open_orders") == ["customers", "orders"]
    head = catalog.head()
    catalog.run("ingest", source=views, sink=SINK)
    assert catalog.head() == head
    catalog.verify()


def test_tests_of_data_run(warehouse: Warehouse) -> None:
    catalog = warehouse.catalog
    connection = {"config": warehouse.postgres.connection("shop")}
    counts = {
        "name": "orders_are_many",
        "testDefinitionName": "tableRowCountToBeBetween",
        "parameterValues": [
            {"name": "minValue", "value": "1"},
            {"name": "maxValue", "value": "1000"},
        ],
    }

    small = {
        "name": "ids_are_small",
        "testDefinitionName": "columnValuesToBeBetween",
        "columnName": "id",
        "computePassedFailedRowCount": True,
        "parameterValues": [
            {"name": "minValue", "value": "1"},
            {"name": "maxValue", "value": "10"},
        ],
    }

    def run() -> None:
        catalog.run(
            "test",
            source=source(
                "TestSuite",
                "warehouse",
                type="TestSuite",
                entityFullyQualifiedName=f"{SALES}.orders",
                serviceConnections=[{"serviceName": "warehouse", "serviceConnection": connection}],
            ),
            processor={"type": "orm-test-runner", "config": {"testCases": [counts, small]}},
            sink=SINK,
        )

    run()
    head = catalog.head()
    run()
    assert catalog.head() == head
    case = f"{SALES}.orders.orders_are_many"
    assert statuses_of(catalog, case) == ["Success", "Success"]
    failed = f"{SALES}.orders.id.ids_are_small"
    assert statuses_of(catalog, failed) == ["Failed", "Failed"]
    rows = catalog.server.get(f"/v1/dataQuality/testCases/{failed}/failedRowsSample")
    place = rows["columns"].index("id")
    assert sorted(row[place] for row in rows["rows"]) == list(range(11, 51))
    shown = catalog.server.get(f"/v1/dataQuality/testCases/name/{failed}")
    assert "sales.orders" in shown["inspectionQuery"]
    catalog.verify()


def has_model() -> bool:
    """Return True if the client's environment has what its workflow `classify` needs."""
    python = Path(COMMAND).with_name("python")
    needed = "import presidio_analyzer, spacy; spacy.load('en_core_web_md')"
    return subprocess.run([python, "-c", needed], capture_output=True, check=False).returncode == 0


def test_columns_are_classified_and_the_next_run_stores_nothing(warehouse: Warehouse) -> None:
    if not has_model():
        pytest.skip("the environment of METADATA_COMMAND has no presidio and en_core_web_md")
    catalog = warehouse.catalog
    statements = (
        "CREATE TABLE sales.payers (id int, mail text, card text)",
        "INSERT INTO sales.payers SELECT n, 'u' || n || '@example.com', '4111111111111111'"
        " FROM generate_series(1, 50) n",
    )
    for statement in statements:
        warehouse.postgres.execute("shop", "-c", statement)
    ingest_shop(catalog, warehouse.postgres)

    def run() -> None:
        catalog.run(
            "classify",
            source=source(
                "postgres",
                "warehouse",
                warehouse.postgres.connection("shop"),
                type="AutoClassification",
                schemaFilterPattern={"includes": ["^sales$"]},
                enableAutoClassification=True,
                storeSampleData=True,
            ),
            processor={"type": "tag-pii-processor", "config": {}},
            sink=SINK,
        )

    run()
    columns = catalog.table(f"{SALES}.payers")["columns"]
    labels = {each["name"]: [tag["tagFQN"] for tag in each["tags"]] for each in columns}
    assert labels == {"id": [], "mail": ["PII.Sensitive"], "card": ["PII.Sensitive"]}
    head = catalog.head()
    run()
    assert catalog.head() == head
    catalog.verify()
