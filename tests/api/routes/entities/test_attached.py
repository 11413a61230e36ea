"""Attached entities are found by the entity to which they are attached: its contract."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.api.conftest import Client, running_under

PATH = "/v1/dataContracts/entity"
NOBODY = "00000000-0000-0000-0000-000000000000"
POLICIES = """
[[rule]]
role = "admin"
allow = ["list", "view", "create", "edit", "delete"]

[[rule]]
role = "reader"
allow = ["list", "view"]
withhold = ["semantics"]

[[rule]]
role = "lister"
allow = ["list"]
"""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    directory: Path = tmp_path_factory.mktemp("attached")
    with running_under(directory, POLICIES) as client:
        client.schema()
        yield client


def contracted(world: Client, table: str, **body: Any) -> tuple[str, Any]:
    """The id of a new table, and its new contract."""
    entity = {"type": "table", "id": world.table(table)["id"]}
    return entity["id"], world.create("dataContracts", name=f"of {table}", entity=entity, **body)


def test_contract_is_found_by_its_entity(world: Client) -> None:
    table, contract = contracted(world, "plain", description="as agreed")
    found = world.request("GET", PATH, params={"entityId": table, "entityType": "table"})
    alone = world.request("GET", f"/v1/dataContracts/{contract['id']}")

    assert (found.status_code, found.json()) == (200, alone.json())
    assert found.headers["ETag"] == alone.headers["ETag"]
    known = world.request(
        "GET",
        PATH,
        params={"entityId": table, "entityType": "table"},
        headers={"If-None-Match": found.headers["ETag"]},
    )
    assert known.status_code == 304


def test_large_contract_is_found(world: Client) -> None:
    table, contract = contracted(world, "large", description="x" * 2_000_000)

    assert world.get(PATH, entityId=table, entityType="table")["id"] == contract["id"]


def test_deleted_contract_is_found_where_it_is_asked_for(world: Client) -> None:
    table, contract = contracted(world, "deleted")
    assert world.request("DELETE", f"/v1/dataContracts/{contract['id']}").status_code == 200
    params = {"entityId": table, "entityType": "table"}

    assert world.request("GET", PATH, params=params).status_code == 404
    assert world.get(PATH, **params, include="all")["deleted"] is True


@pytest.mark.parametrize(
    ("params", "status", "said"),
    [
        ({"entityType": "table"}, 400, "entityId"),
        ({"entityId": NOBODY}, 400, "entityType"),
        ({"entityId": "x", "entityType": "table"}, 400, "entityId"),
        ({"entityId": NOBODY, "entityType": "tables"}, 400, "entityType must be one of team, "),
        ({"entityId": NOBODY, "entityType": "table"}, 404, "is attached to the table"),
    ],
)
def test_what_is_asked_wrongly_is_refused(
    world: Client, params: dict[str, str], status: int, said: str
) -> None:
    answer = world.request("GET", PATH, params=params)

    assert (answer.status_code, said in answer.json()["message"]) == (status, True), answer.text


def test_entity_of_another_kind_has_no_such_contract(world: Client) -> None:
    table, _ = contracted(world, "mistaken")

    answer = world.request("GET", PATH, params={"entityId": table, "entityType": "topic"})

    assert answer.status_code == 404


def test_what_is_withheld_stays_so(world: Client) -> None:
    table, _ = contracted(
        world, "secret", semantics=[{"name": "r", "description": "d", "rule": "x", "enabled": True}]
    )
    params = {"entityId": table, "entityType": "table"}

    assert world.get(PATH, **params)["semantics"]
    shown = world.request("GET", PATH, params=params, role="reader")
    assert (shown.status_code, "semantics" in shown.json()) == (200, False)
    assert shown.headers["ETag"] != world.request("GET", PATH, params=params).headers["ETag"]
    assert world.request("GET", PATH, params=params, role="lister").status_code == 403
