"""The gate as callers of the API meet it."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.api.conftest import Client, running_under
from tests.api.routes.contracts.giving import made, new_table, put
from tests.api.routes.contracts.test_comparisons import NEW, OLD, POLICIES

EDITORS = """
[[rule]]
role = "half"
kinds = ["dataContract"]
allow = ["edit"]
"""


@pytest.fixture(scope="module")
def gated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    directory = tmp_path_factory.mktemp("gated")
    with running_under(directory, POLICIES + EDITORS, contract_gate="consumer") as client:
        client.schema()
        yield client


def test_a_break_is_refused_with_its_changes(gated: Client) -> None:
    contract = made(gated, OLD)

    answer = put(gated, contract["entity"], NEW)

    body = answer.json()
    assert (answer.status_code, body["errorType"]) == (409, "CONTRACT_BROKEN")
    assert body["message"] == (
        "this breaks the contract for those who read the data, as it was when it was last Active:"
        " 1 breaking changes (column.removed). A document announces them by a version that rises by"
        " its major number, or before 1.0.0 by its minor number, over 1.0.0"
    )
    compared = gated.request(
        "POST", f"/v1/dataContracts/{contract['id']}/compare", content=NEW.encode(), headers=YAML
    )
    assert {**compared.json(), "impact": None} == {**body["comparison"], "impact": None}
    assert gated.request("GET", f"/v1/dataContracts/{contract['id']}").json()["version"] == 0.1
    announced = put(gated, contract["entity"], NEW.replace("1.0.0", "2.0.0"))
    assert announced.status_code == 200


YAML = {"Content-Type": "application/yaml"}


def test_who_may_not_see_all_of_a_contract_is_not_told_its_changes(gated: Client) -> None:
    contract = made(gated, OLD + "slaProperties: [{property: latency, value: 4, unit: h}]")
    patch = [{"op": "remove", "path": "/sla"}]
    path = f"/v1/dataContracts/{contract['id']}"

    half = gated.request("PATCH", path, json=patch, role="half").json()

    assert (half["code"], "comparison" in half) == (409, False)
    assert (half["errorType"], "sla" in half["message"]) == ("CONTRACT_BROKEN", False)
    assert "comparison" in gated.request("PATCH", path, json=patch).json()


def test_bulk_writes_and_restored_contracts_are_held(gated: Client) -> None:
    columns = [{"name": "id", "dataType": "INT"}, {"name": "at", "dataType": "DATE"}]
    about = {"type": "table", "id": new_table(gated, columns=columns)["id"]}
    given: dict[str, Any] = {"name": "held", "entity": about, "entityStatus": "Active"}
    contract = gated.create("dataContracts", schema=columns, **given)
    bulk = [{**given, "schema": columns[:1]}]

    assert gated.request("DELETE", f"/v1/dataContracts/{contract['id']}").status_code == 200
    answer = gated.request("PUT", "/v1/dataContracts/bulk", json=bulk).json()

    assert answer["numberOfRowsFailed"] == 1
    assert "column.removed" in str(answer["failedRequest"])
    bulk[0]["schema"] = columns
    again = gated.request("PUT", "/v1/dataContracts/bulk", json=bulk).json()
    assert (again["numberOfRowsPassed"], again["numberOfRowsFailed"]) == (1, 0)
