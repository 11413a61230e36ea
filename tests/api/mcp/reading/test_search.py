"""Searches for agents: hits that say enough to choose, counts, filters, and the past."""

from collections.abc import Iterator
from typing import Any

import pytest

from api.mcp.reading import search
from projections.search.answers.queries import search_response
from tests.api.conftest import Client, running
from tests.api.mcp.agent import Agent, table

TABLES = 60


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with running(tmp_path_factory.mktemp("found")) as client:
        client.schema()
        ann = client.create("users", name="ann", email="ann@example.org")
        for number in range(TABLES):
            owners = [{"type": "user", "id": ann["id"]}] if number % 2 else []
            client.table(f"sales{number:02}", description="Sales. " * 100, owners=owners)
        first = client.get(f"/v1/tables/name/{table('sales00')['name']}")
        client.create(
            "dataContracts",
            name="promise",
            entity={"type": "table", "id": first["id"]},
        )
        client.search_until(lambda answer: answer["hits"]["total"]["value"] == 1, q="promise")
        yield client


def test_hits_come_in_pages_each_once(found: Client) -> None:
    pages = list(Agent(found).pages("search_catalog", query="sales", kinds=["table"], limit=50))
    names = [hit["name"] for page in pages for hit in page["hits"]]
    assert {page["total"] for page in pages} == {TABLES}
    assert sorted(names) == [table(f"sales{number:02}")["name"] for number in range(TABLES)]


def test_pages_are_of_one_moment(found: Client) -> None:
    for number in range(20):
        found.table(f"moving{number:02}")
    found.search_until(lambda answer: answer["hits"]["total"]["value"] == 20, q="moving*")
    asked = {"query": "moving*", "kinds": ["table"], "limit": 10}
    pages = Agent(found).pages("search_catalog", **asked)
    first = next(pages)
    # It would be the first of all, and push another one to the second page.
    found.create("tables", name="moving", databaseSchema="service.database.schema", columns=[])
    found.search_until(lambda answer: answer["hits"]["total"]["value"] == 21, q="moving*")
    names = [hit["name"] for page in (first, *pages) for hit in page["hits"]]
    assert sorted(names) == [table(f"moving{number:02}")["name"] for number in range(20)]
    assert Agent(found).call("search_catalog", **asked)["total"] == 21


def test_page_is_of_the_position_that_it_tells(
    found: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(20):
        found.table(f"passing{number:02}")
    found.search_until(lambda answer: answer["hits"]["total"]["value"] == 20, q="passing*")
    searches = iter([True])

    def search_before_a_commit(*asked: Any) -> Any:
        answer = search_response(*asked)
        if next(searches, False):
            # It would be the first of all, and push another one to the second page.
            found.table("passing")
            found.search_until(lambda answer: answer["hits"]["total"]["value"] == 21, q="passing*")
        return answer

    monkeypatch.setattr(search, "search_response", search_before_a_commit)
    pages = list(Agent(found).pages("search_catalog", query="passing*", kinds=["table"], limit=10))
    names = [hit["name"] for page in pages for hit in page["hits"]]
    assert names == [table(f"passing{number:02}")["name"] for number in range(20)]
    assert {page["total"] for page in pages} == {20}


def test_hit_says_enough_to_choose(found: Client) -> None:
    answer = Agent(found).call("search_catalog", query="name:sales00", kinds=["table"])
    (hit,) = answer["hits"]
    assert hit["kind"] == "table"
    assert hit["text"].startswith("Sales. Sales. ")
    assert hit["text"].endswith("… [700 characters]")
    assert hit["contract"]["kind"] == "dataContract"


def test_filters_narrow(found: Client) -> None:
    answer = Agent(found).call("search_catalog", filters={"owner": "ann"}, kinds=["table"])
    assert answer["total"] == TABLES // 2
    assert all(hit["owners"] == ["ann"] for hit in answer["hits"])
    assert Agent(found).call("search_catalog", filters={"service": "none"})["total"] == 0


def test_counts_alone(found: Client) -> None:
    answer = Agent(found).call("search_catalog", query="sales*", limit=0)
    assert answer["hits"] == []
    assert answer["kinds"]["table"] == TABLES
    assert answer["kinds"].keys() <= {"table", "dataContract"}


def test_search_of_the_past(found: Client) -> None:
    before = Agent(found).call("search_catalog", query="newcomer")
    assert before["total"] == 0
    found.table("newcomer")
    found.search_until(lambda answer: answer["hits"]["total"]["value"] == 1, q="newcomer")
    now = Agent(found).call("search_catalog", query="newcomer")
    assert (now["total"], now["position"] > before["position"]) == (1, True)
    then = Agent(found).call("search_catalog", query="newcomer", as_of=f"@{before['position']}")
    assert (then["total"], then["position"]) == (0, before["position"])


def test_version_is_no_moment_of_a_search(found: Client) -> None:
    refused = Agent(found).refusal("search_catalog", as_of="1.0")
    assert refused == "as_of: a version is of one entity: give a time, or @position"
