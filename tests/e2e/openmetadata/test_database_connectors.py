"""Databases read by OpenMetadata's connectors: all of it, again, and as it changes."""

import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec

from tests.e2e.openmetadata.conftest import (
    SINK,
    Catalog,
    catalog_for_connectors,
    ingest_shop,
    needs_metadata,
    needs_postgres,
    shop_in_postgres,
    source,
)

pytestmark = needs_metadata

ORDERS = "warehouse.shop.sales.orders"
EDITS = [
    {"op": "add", "path": "/description", "value": "ours"},
    {"op": "add", "path": "/displayName", "value": "Orders"},
    {"op": "add", "path": "/tags/-", "value": {"tagFQN": "PII.Sensitive"}},
    {"op": "add", "path": "/columns/1/displayName", "value": "Customer"},
    {"op": "add", "path": "/columns/2/description", "value": "what became of it"},
    {"op": "add", "path": "/columns/2/tags/-", "value": {"tagFQN": "PII.Sensitive"}},
]
CHANGES = """
    DROP VIEW sales.open_orders;
    ALTER TABLE sales.orders DROP note, ADD channel text, ALTER status TYPE varchar(20);
    CREATE TABLE sales.suppliers (id bigint PRIMARY KEY);
    ALTER TABLE sales.orders ADD supplier_id bigint REFERENCES sales.suppliers (id);
    ALTER TABLE stock.shelf_5 ALTER label TYPE varchar(99);
    DROP TABLE stock.shelf_33;
"""


def tags(labels: Any) -> list[str]:
    return [label["tagFQN"] for label in labels]


def holds_the_shop(catalog: Catalog) -> None:
    """The catalog has what `shop.sql` says."""
    listed = [table for page in catalog.server.pages("/v1/tables", 20) for table in page]
    assert Counter(table["tableType"] for table in listed) == {
        "Regular": 39,
        "Partitioned": 1,
        "View": 1,
        "MaterializedView": 1,
    }
    orders, view = catalog.table(ORDERS), catalog.table("warehouse.shop.sales.open_orders")
    assert orders["description"] == "One row for each order."
    assert orders["columns"][2]["description"] == "open, paid or sent"
    assert orders["columns"][0]["constraint"] == "PRIMARY_KEY"
    (key,) = orders["tableConstraints"]
    assert key["referredColumns"] == ["warehouse.shop.sales.customers.id"]
    assert "JOIN sales.customers" in view["schemaDefinition"]
    movements = catalog.table("warehouse.shop.stock.movements")
    assert movements["tablePartition"]["columns"][0]["columnName"] == "moved_at"
    assert catalog.table('warehouse.shop.Old Stuff."Order.Lines"')["name"] == "Order.Lines"
    procedures = catalog.server.get("/v1/storedProcedures")["data"]
    assert [each["name"] for each in procedures] == ["close_orders", "on_hand"]


def kept_and_changed(catalog: Catalog) -> None:
    """Check that the texts of people are there, beside what became of the database by `CHANGES`."""
    orders, shelf = catalog.table(ORDERS), catalog.table("warehouse.shop.stock.shelf_5")
    assert (orders["description"], orders["displayName"]) == ("ours", "Orders")
    assert tags(orders["tags"]) == ["PII.Sensitive"]
    columns = {column["name"]: column for column in orders["columns"]}
    assert list(columns) == [
        "id",
        "customer_id",
        "status",
        "ordered_at",
        "channel",
        "supplier_id",
    ]
    assert columns["customer_id"]["displayName"] == "Customer"
    status = columns["status"]
    assert (status["dataLength"], status["description"]) == (20, "what became of it")
    assert tags(status["tags"]) == ["PII.Sensitive"]
    assert len(orders["tableConstraints"]) == 2
    # A column that goes is a new major version, a longer one is not.
    assert (int(orders["version"]), int(shelf["version"])) == (1, 0)
    versions = catalog.server.get(f"/v1/tables/{orders['id']}/versions")["versions"]
    assert {msgspec.json.decode(each)["updatedBy"] for each in versions} == {"ingestion-bot", "me"}


@needs_postgres
def test_database_is_followed_through_its_changes(tmp_path: Path) -> None:
    with shop_in_postgres() as postgres, catalog_for_connectors(tmp_path) as catalog:
        ingest_shop(catalog, postgres)
        holds_the_shop(catalog)
        head = catalog.head()

        ingest_shop(catalog, postgres)
        assert catalog.head() == head

        catalog.edit(catalog.table(ORDERS), *EDITS)
        postgres.execute("shop", "-c", CHANGES)
        ingest_shop(catalog, postgres)
        kept_and_changed(catalog)
        gone = [
            catalog.table(f"warehouse.shop.{name}")
            for name in ("sales.open_orders", "stock.shelf_33")
        ]
        assert [table["deleted"] for table in gone] == [True, True]

        head = catalog.head()
        ingest_shop(catalog, postgres)
        assert catalog.head() == head

        postgres.execute("shop", "-c", "CREATE TABLE stock.shelf_33 (id integer PRIMARY KEY)")
        ingest_shop(catalog, postgres)
        back = catalog.table("warehouse.shop.stock.shelf_33")
        assert (back["id"], back.get("deleted", False)) == (gone[1]["id"], False)
        catalog.verify()


def test_sqlite_file_is_read_and_read_again(tmp_path: Path) -> None:
    file = tmp_path / "shop.db"
    with closing(sqlite3.connect(file)) as database:
        database.executescript(
            "CREATE TABLE customers (id integer PRIMARY KEY, email varchar(120) NOT NULL);"
            "CREATE TABLE orders (id integer PRIMARY KEY,"
            " customer integer REFERENCES customers (id), amount numeric(10, 2));"
            "CREATE VIEW large AS SELECT id FROM orders WHERE amount > 100;"
        )
    connection = {"type": "SQLite", "databaseMode": str(file), "database": "shop"}
    shop = source("sqlite", "shop", connection, type="DatabaseMetadata")

    with catalog_for_connectors(tmp_path / "data") as catalog:
        catalog.run("ingest", source=shop, sink=SINK, ingestionPipelineFQN="shop.nightly")
        head = catalog.head()
        catalog.run("ingest", source=shop, sink=SINK, ingestionPipelineFQN="shop.nightly")

        runs = catalog.server.get("/v1/services/ingestionPipelines/shop.nightly/pipelineStatus")
        assert [run["pipelineState"] for run in runs["data"]] == ["success", "success"]
        assert {step["name"] for step in runs["data"][0]["status"]} >= {"OpenMetadata"}
        orders = catalog.table("shop.shop.main.orders")
        assert [column["name"] for column in orders["columns"]] == ["id", "customer", "amount"]
        assert [key["columns"] for key in orders["tableConstraints"]] == [["customer"]]
        assert catalog.table("shop.shop.main.large")["tableType"] == "View"
        assert catalog.head() == head
        catalog.verify()
