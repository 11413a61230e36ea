"""Columns for agents: each once, however many there are and whatever changes meanwhile."""

from collections.abc import Iterator

import pytest

from tests.api.conftest import Client, running
from tests.api.mcp.agent import Agent, table

WIDE = 1_500


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with running(tmp_path_factory.mktemp("wide")) as client:
        client.schema()
        columns = [
            {"name": f"column_{n}", "dataType": "INT", "description": f"Number {n} of many."}
            for n in range(WIDE)
        ]
        nested = {"name": "place", "dataType": "STRUCT", "children": columns[:2]}
        client.table("wide", columns=[*columns, nested])
        yield client


def test_walk_meets_each_column_once(wide: Client) -> None:
    pages = list(Agent(wide).pages("list_columns", entity=table("wide")))
    names = [column["name"] for page in pages for column in page["columns"]]
    assert names == [
        *(f"column_{n}" for n in range(WIDE)),
        "place",
        "place.column_0",
        "place.column_1",
    ]
    assert {(page["total"], page["matching"]) for page in pages} == {(WIDE + 3, WIDE + 3)}
    assert len(pages) > 5


def test_column_that_is_sought_costs_little(wide: Client) -> None:
    answer = Agent(wide).call("list_columns", entity=table("wide"), matching="column_1499")
    assert [each["name"] for each in answer["columns"]] == ["column_1499"]
    assert "cursor" not in answer


def test_pages_are_of_one_moment(wide: Client) -> None:
    wide.table("moving", columns=[{"name": f"c{n}", "dataType": "INT"} for n in range(700)])
    agent = Agent(wide)
    pages = agent.pages("list_columns", entity=table("moving"))
    first = next(pages)
    other = [{"op": "replace", "path": "/columns", "value": [{"name": "new", "dataType": "INT"}]}]
    path = f"/v1/tables/name/{table('moving')['name']}"
    assert wide.request("PATCH", path, json=other).status_code == 200
    names = [column["name"] for page in (first, *pages) for column in page["columns"]]
    assert names == [f"c{n}" for n in range(700)]
    now = agent.call("list_columns", entity=table("moving"))
    assert [each["name"] for each in now["columns"]] == ["new"]
    then = agent.call("list_columns", entity=table("moving"), as_of="0.1")
    assert then["total"] == 700
    at_first = agent.call("list_columns", entity=table("moving"), as_of=f"@{first['position']}")
    assert (at_first["columns"], at_first["position"]) == (then["columns"], first["position"])


def test_cursor_of_another_caller_is_refused(wide: Client) -> None:
    first = Agent(wide).call("list_columns", entity=table("wide"))
    said = Agent(wide, "reader").refusal(
        "list_columns", entity=table("wide"), cursor=first["cursor"]
    )
    assert "another caller" in said
    said = Agent(wide).refusal("list_columns", entity=table("moving"), cursor=first["cursor"])
    assert "another call" in said


@pytest.mark.deep
def test_table_of_thirteen_thousand_columns_is_read_page_by_page(wide: Client) -> None:
    """The number is that of a table which clients have been seen to choke on."""
    columns = [
        {"name": f"c{n}", "dataType": "VARCHAR", "dataLength": 10, "description": "d" * 200}
        for n in range(13_000)
    ]
    wide.table("widest", columns=columns)
    pages = list(Agent(wide).pages("list_columns", entity=table("widest")))
    names = [column["name"] for page in pages for column in page["columns"]]
    assert names == [f"c{n}" for n in range(13_000)]
