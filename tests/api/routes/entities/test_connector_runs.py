"""Runs of a connector, as OpenMetadata's were seen, and what they leave of what people wrote."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from replay_tool.commands import main
from tests.api.conftest import Client, environment_of, running
from tests.api.connector import SCHEMA, Connector, column
from tests.waiting import until

EDITS = [
    {"op": "add", "path": "/description", "value": "ours"},
    {"op": "add", "path": "/displayName", "value": "Orders"},
    {"op": "add", "path": "/tags/-", "value": {"tagFQN": "PII.Sensitive"}},
    {"op": "add", "path": "/columns/1/displayName", "value": "Customer"},
    {"op": "add", "path": "/columns/2/description", "value": "what became of it"},
    {"op": "add", "path": "/columns/2/tags/-", "value": {"tagFQN": "PII.Sensitive"}},
]


@pytest.fixture
def connector(tmp_path: Path) -> Iterator[Connector]:
    """A connector that has run once; afterwards the read models must be as the log says."""
    with running(tmp_path) as client:
        client.create("classifications", name="PII", description="-")
        client.create("tags", name="Sensitive", classification="PII", description="-")
        connector = Connector(client)
        connector.run()
        yield connector
        until(lambda: are_at_the_head(client))
        verified = CliRunner().invoke(
            main, ["verify", "--data", str(tmp_path)], env=environment_of(tmp_path)
        )
        assert verified.exit_code == 0, verified.output


def are_at_the_head(client: Client) -> bool:
    """True if the read models hold all of the log."""
    reports = client.get("/v1/system/projections")["projections"]
    return all(report["lag"] == 0 for report in reports)


def head(client: Client) -> int:
    """The last position of the log."""
    position: int = client.get("/v1/system/projections")["head"]
    return position


def table(client: Client, name: str = "orders") -> Any:
    return client.get(f"/v1/tables/name/{SCHEMA}.{name}", fields="*", include="all")


def edit(client: Client) -> None:
    """A person's work on the table of orders."""
    headers = {"Content-Type": "application/json-patch+json"}
    path = f"/v1/tables/{table(client)['id']}"
    assert client.request("PATCH", path, json=EDITS, headers=headers).status_code == 200


def curated(client: Client) -> tuple[Any, ...]:
    """Return the texts of people on the table of orders and on its columns, by columns' names."""
    shown = table(client)

    def texts(one: Any) -> tuple[Any, ...]:
        tags = [tag["tagFQN"] for tag in one["tags"]]
        return one.get("displayName"), one.get("description"), tags

    return texts(shown), {each["name"]: texts(each) for each in shown["columns"]}


CURATED = (
    ("Orders", "ours", ["PII.Sensitive"]),
    {
        "id": (None, None, []),
        "customer": ("Customer", None, []),
        "status": (None, "what became of it", ["PII.Sensitive"]),
    },
)


def test_first_run_brings_all_of_the_source(connector: Connector) -> None:
    client = connector.client
    orders = table(client)
    (key,) = orders["tableConstraints"]
    assert key["referredColumns"] == [f"{SCHEMA}.customers.id"]
    assert [each["name"] for each in orders["columns"]] == ["id", "customer", "status"]
    assert table(client, "open_orders")["schemaDefinition"].startswith("create view")
    assert client.get("/v1/storedProcedures")["paging"]["total"] == 1
    assert [
        client.get(f"/v1/{each}")["paging"]["total"] for each in ("databases", "databaseSchemas")
    ] == [1, 1]


def test_later_runs_store_nothing(connector: Connector) -> None:
    before = head(connector.client)
    connector.run()
    connector.run()
    assert head(connector.client) == before


def test_use_is_reported_again_without_a_trace_in_the_log(connector: Connector) -> None:
    client, at = connector.client, int(time.time() * 1_000)
    day = datetime.fromtimestamp(at / 1_000, UTC).date()
    until(lambda: are_at_the_head(client))
    connector.report_use("orders", day, at)
    before = head(client)
    connector.report_use("orders", day, at + 1_000)
    assert head(client) == before
    fqn = f"{SCHEMA}.orders"
    (use,) = client.get(f"/v1/usage/table/name/{fqn}")["usage"]
    assert use["dailyStats"] == {"count": 1, "percentileRank": 0.0}
    (joins,) = client.get(f"/v1/tables/name/{fqn}", fields="joins")["joins"]["columnJoins"]
    assert joins["joinedWith"] == [{"fullyQualifiedName": f"{SCHEMA}.customers.id", "joinCount": 1}]
    connector.run()
    assert head(client) == before


def test_what_people_wrote_survives_a_source_that_changes(connector: Connector) -> None:
    client, orders = connector.client, connector.tables["orders"]
    edit(client)
    connector.run()
    assert curated(client) == CURATED

    orders["description"] = "theirs"
    orders["columns"] = [
        column("id", constraint="PRIMARY_KEY", description="theirs"),
        column("customer", "INT"),
        column("status", "VARCHAR", dataLength=20, description="theirs again"),
        column("channel", "TEXT"),
    ]
    connector.run()
    (texts, columns) = curated(client)
    assert texts == CURATED[0]
    assert columns == CURATED[1] | {"id": (None, "theirs", []), "channel": (None, None, [])}
    before = head(client)
    connector.run()
    assert head(client) == before


@pytest.mark.parametrize(
    ("columns", "step"),
    [
        ([column("id"), column("label", "TEXT"), column("email", "TEXT")], "minor"),
        ([column("id"), column("label", "TEXT", dataLength=9)], "minor"),
        ([column("id")], "major"),
        ([column("id"), column("label", "TEXT", dataLength=0)], "major"),
    ],
    ids=["new", "longer", "dropped", "shorter"],
)
def test_changed_columns_make_the_step_of_their_kind(
    connector: Connector, columns: list[Any], step: str
) -> None:
    client = connector.client
    connector.tables["customers"]["columns"] = columns
    connector.run()
    assert table(client, "customers")["version"] == {"minor": 0.2, "major": 1.1}[step]
    versions = client.get(f"/v1/tables/{table(client, 'customers')['id']}/versions")["versions"]
    assert [msgspec.json.decode(each)["updatedBy"] for each in versions] == ["the-bot"] * 2


def test_dropped_table_goes_and_comes_back_as_people_described_it(connector: Connector) -> None:
    client = connector.client
    edit(client)
    dropped = connector.tables.pop("orders")
    keys, connector.keys = connector.keys, {}
    connector.run()
    gone = table(client)
    assert gone["deleted"]
    until(lambda: are_at_the_head(client))
    assert connector.found("orders") == []

    connector.tables["orders"], connector.keys = dropped, keys
    connector.run()
    assert table(client)["id"] == gone["id"]
    assert "deleted" not in table(client)
    assert curated(client) == CURATED
