"""What breaks if a column goes, and who must know: contracts, tests, readers at any distance."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.api.conftest import Client, running, running_under
from tests.api.mcp.agent import Agent, table
from tests.api.mcp.reading.test_lineage import draw

POLICIES = """
[[rule]]
role = "admin"
allow = ["list", "view", "search", "create", "edit", "delete"]

[[rule]]
role = "tables"
kinds = ["table", "lineageEdge"]
allow = ["view"]
withhold = ["owners"]
"""


def fill(client: Client) -> None:
    client.schema()
    people = {
        name: client.create("users", name=name, email=f"{name}@e.org") for name in ("ann", "bob")
    }
    owned = {name: [{"type": "user", "id": each["id"]}] for name, each in people.items()}
    columns = [{"name": name, "dataType": "INT"} for name in ("id", "total")]
    orders = client.table("orders", columns=columns, owners=owned["ann"])
    sums = client.table("sums", columns=[{"name": "sum", "dataType": "INT"}], owners=owned["bob"])
    client.create("services/dashboardServices", name="boards", serviceType="Looker")
    board = client.create("dashboards", name="board", service="boards", owners=owned["bob"])
    other = client.table("other")
    name = orders["fullyQualifiedName"]
    mapping = {
        "fromColumns": [f"{name}.total"],
        "toColumn": f"{sums['fullyQualifiedName']}.sum",
    }
    draw(client, orders, sums, columnsLineage=[mapping])
    draw(client, sums, board | {"type": "dashboard"})
    draw(client, orders, other)
    client.create(
        "dataContracts",
        name="promise",
        entity={"type": "table", "id": orders["id"]},
        schema=[columns[1]],
        semantics=[
            {"name": "kept", "description": "d", "enabled": True, "rule": '{"var": "total"}'}
        ],
        owners=owned["bob"],
    )
    client.create(
        "dataQuality/testDefinitions",
        name="filled",
        entityType="COLUMN",
        testPlatforms=["OpenMetadata"],
        description="d",
    )
    client.create(
        "dataQuality/testCases",
        name="total_filled",
        entityLink=f"<#E::table::{name}::columns::total>",
        testDefinition="filled",
    )


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with running(tmp_path_factory.mktemp("shop")) as client:
        fill(client)
        yield client


def names(rows: list[Any]) -> dict[str, str]:
    return {row["name"].rpartition(".")[2]: row["why"] for row in rows}


def test_column_that_goes_breaks_what_names_it_and_what_is_made_of_it(shop: Client) -> None:
    answer = Agent(shop).call(
        "check_impact", entity=table("orders"), change="drop_column", column="total"
    )
    assert names(answer["breaks"]) == {
        "dataContract_promise": "names the column in schema",
        "total_filled": "it tests it",
        "sums": "it is made of it",
    }
    assert names(answer["may_break"]) == {
        "dataContract_promise": "mentions the name in semantic rule kept",
        "other": "it is made of the entity",
    }
    assert names(answer["look_again"]) == {"board": "it is made of what is hit"}
    (sums,) = [each for each in answer["breaks"] if each["kind"] == "table"]
    assert sums["columns"] == [f"{table('sums')['name']}.sum"]
    asked = {each["name"]: {one["kind"] for one in each["owns"]} for each in answer["ask"]}
    assert asked == {"ann": {"table"}, "bob": {"table", "dataContract", "dashboard"}}


def test_column_of_another_type_may_break_the_same(shop: Client) -> None:
    answer = Agent(shop).call(
        "check_impact", entity=table("orders"), change="retype_column", column="total"
    )
    assert answer["breaks"] == []
    assert names(answer["may_break"]).keys() == {
        "dataContract_promise",
        "total_filled",
        "sums",
        "other",
    }


def test_entity_that_goes_takes_its_contract_and_breaks_its_readers(shop: Client) -> None:
    answer = Agent(shop).call("check_impact", entity=table("orders"), change="delete")
    assert names(answer["breaks"]).keys() == {
        "dataContract_promise",
        "total_filled",
        "sums",
        "other",
    }


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"change": "delete", "column": "total"}, "delete takes no column"),
        ({"change": "drop_column"}, "every other change needs one"),
        ({"change": "drop_column", "column": "none"}, "has no column 'none'"),
    ],
)
def test_change_that_means_nothing_is_refused(shop: Client, given: Any, said: str) -> None:
    assert said in Agent(shop).refusal("check_impact", entity=table("orders"), **given)


def test_many_hits_come_in_pages(shop: Client) -> None:
    hub = shop.table("hub", columns=[{"name": "x" * 200, "dataType": "INT"}])
    for number in range(90):
        name = f"reader_{number}_" + "y" * 150
        draw(shop, hub, shop.table(name))
    pages = list(Agent(shop).pages("check_impact", entity=table("hub"), change="delete"))
    told = [each["name"] for page in pages for each in page["breaks"]]
    assert len(pages) > 1
    assert len(told) == len(set(told)) == 90
    assert {page["total"] for page in pages} == {90}


def test_who_may_not_see_contracts_tests_and_owners_is_told_of_none(tmp_path: Path) -> None:
    with running_under(tmp_path, POLICIES) as client:
        fill(client)
        answer = Agent(client, "tables").call(
            "check_impact", entity=table("orders"), change="drop_column", column="total"
        )
        assert names(answer["breaks"]).keys() == {"sums"}
        said = json.dumps(answer)
        assert all(each not in said for each in ("promise", "filled", "board", "ann", "bob"))
