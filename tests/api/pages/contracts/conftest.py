"""A contract with two versions, a result of each, and what is made of its table."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.api.conftest import Client, running_under
from tests.api.routes.contracts.giving import put

NOW = int(time.time() * 1_000)
COLUMNS = [{"name": name, "dataType": "INT"} for name in ("id", "total")]
ALL = '["list", "view", "search", "create", "edit", "delete"]'
POLICIES = f"""
[[rule]]
role = "admin"
allow = {ALL}

[[rule]]
role = "reader"
allow = ["list", "view"]

[[rule]]
role = "ownerless"
allow = {ALL}

[[rule]]
role = "ownerless"
kinds = ["table"]
withhold = ["owners"]

[[rule]]
role = "termless"
allow = {ALL}

[[rule]]
role = "termless"
kinds = ["dataContract"]
withhold = ["termsOfUse"]

[[rule]]
role = "undocumented"
allow = ["list", "view"]

[[rule]]
role = "undocumented"
kinds = ["dataContract"]
withhold = ["odcs"]

[[rule]]
role = "unlinked"
allow = ["list", "view"]
kinds = ["table", "dataContract"]
"""
FQN = "service.database.schema.orders.dataContract_orders"


def document(*columns: str, version: str = "1.0.0", **keys: Any) -> str:
    properties = ", ".join(f"{{name: {name}, physicalType: INT}}" for name in columns)
    said = "".join(f"{key}: {value}\n" for key, value in keys.items())
    return (
        f"apiVersion: v3.1.0\nkind: DataContract\nid: orders\nversion: {version}\n"
        f"status: active\nschema: [{{name: orders, properties: [{properties}]}}]\n{said}"
    )


def draw(client: Client, beginning: Any, end: Any, **details: Any) -> None:
    """Draw an edge of the lineage between two tables."""
    edge = {
        "fromEntity": {"id": beginning["id"], "type": "table"},
        "toEntity": {"id": end["id"], "type": "table"},
        "lineageDetails": details,
    }
    answer = client.request("PUT", "/v1/lineage", json={"edge": edge})
    assert answer.status_code == 200, answer.text


def report(client: Client, contract_id: str, at: int, status: str, **keys: Any) -> None:
    """Report a result of a contract."""
    body = {"timestamp": at, "contractExecutionStatus": status, **keys}
    answer = client.request("PUT", f"/v1/dataContracts/{contract_id}/results", json=body)
    assert answer.status_code == 200, answer.text


def fill(client: Client) -> Any:
    """Create the catalog; returns its contract."""
    client.schema()
    user = client.create("users", name="annabel", email="annabel@example.org")
    orders = client.table("orders", columns=COLUMNS)
    sums = client.table("sums", columns=COLUMNS, owners=[{"id": user["id"], "type": "user"}])
    copy = client.table("copied", columns=COLUMNS)
    columns = [f"{each['fullyQualifiedName']}.total" for each in (orders, sums)]
    mapping = {"fromColumns": columns[:1], "toColumn": columns[1]}
    draw(client, orders, sums, columnsLineage=[mapping])
    draw(client, orders, copy)
    made = put(client, orders, document("id", "total"))
    assert made.status_code == 201, made.text
    changed = put(client, orders, document("id", "<new>", version="2.0.0"))
    assert changed.status_code == 200, changed.text
    return changed.json()


@pytest.fixture(scope="module")
def promised(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """Such a catalog, for tests that write nothing but results."""
    with running_under(tmp_path_factory.mktemp("promised"), POLICIES) as client:
        contract = fill(client)
        report(
            client,
            contract["id"],
            NOW - 60_000,
            "Success",
            dataContractVersion=0.1,
            result="all of <1> kept",
        )
        yield client
