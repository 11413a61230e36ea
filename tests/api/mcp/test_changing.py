"""Changes by agents: shown before they are stored, stored once, never over what others wrote."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from api.paths.entity_pages import entity_address
from tests.api.conftest import Client, RunFilled, running_under
from tests.api.mcp.agent import Agent, table
from tests.api.pages.conftest import Browser

ORDERS = table("orders")
PATH = f"/v1/tables/name/{ORDERS['name']}"
APPENDING = {"act": "append_description", "text": "Checked."}
POLICIES = """
[[rule]]
role = "admin"
allow = ["list", "view", "search", "create", "edit", "delete", "audit"]

[[rule]]
role = "viewer"
allow = ["list", "view", "search"]

[[rule]]
role = "ownerless"
allow = ["list", "view", "search", "edit"]
withhold = ["owners"]
"""


def fill(client: Client) -> None:
    client.schema()
    client.create("users", name="annabel", email="ann@example.org")
    client.table("orders", description="All orders.")


@pytest.fixture
def shop(tmp_path: Path, run_filled: RunFilled) -> Iterator[Client]:
    with run_filled(tmp_path, fill, mcp="write") as client:
        yield client


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory: pytest.TempPathFactory, run_filled: RunFilled) -> Iterator[Client]:
    """Such a catalog, for changes that are all refused."""
    with run_filled(tmp_path_factory.mktemp("unchanged"), fill, mcp="write") as client:
        yield client


def change(agent: Agent, *changes: Any, **more: Any) -> Any:
    given = {"version": 0.1, "dry_run": False, **more}
    return agent.call("change_entity", entity=ORDERS, changes=list(changes), **given)


def refused(agent: Agent, *changes: Any, **more: Any) -> str:
    given = {"version": 0.1, "dry_run": False, **more}
    return agent.refusal("change_entity", entity=ORDERS, changes=list(changes), **given)


def test_tool_is_there_where_the_setting_says_so(shop: Client, empty: Client) -> None:
    tool = Agent(shop).tools()["change_entity"]
    assert tool["annotations"] == {"destructiveHint": True, "idempotentHint": True}
    assert "change_entity" not in Agent(empty).tools()
    response = Agent(empty).send("tools/call", {"name": "change_entity"}, "change_entity")
    assert "Unknown tool" in response.json()["error"]["message"]


def test_definitions_of_all_tools_are_short(shop: Client) -> None:
    tools = Agent(shop).result("tools/list")["tools"]
    assert len(json.dumps(tools, separators=(",", ":"))) <= 12_000


def test_dry_run_shows_what_would_be_stored(shop: Client) -> None:
    agent = Agent(shop)
    shown = agent.call("change_entity", entity=ORDERS, version=0.1, changes=[APPENDING])
    assert (shown["stored"], shown["version"]) == (False, "0.2")
    assert shown["diff"] == [
        {
            "field": "description",
            "how": "updated",
            "old": "All orders.",
            "new": "All orders.\n\nChecked.",
        }
    ]
    assert shop.get(PATH)["version"] == 0.1
    stored = change(agent, APPENDING)
    assert (stored["stored"], stored["version"], stored["diff"]) == (True, "0.2", shown["diff"])
    assert shop.get(PATH)["description"] == "All orders.\n\nChecked."
    assert stored["position"] == shop.services.stores.log.head()


def test_large_change_is_stored_whole(shop: Client) -> None:
    text = "word " * 19_000
    stored = change(Agent(shop), {"act": "append_description", "text": text})
    assert "[95,013 characters]" in stored["diff"][0]["new"]
    assert shop.get(PATH)["description"] == f"All orders.\n\n{text}"


def test_two_agents_append_at_once_and_nothing_is_lost(shop: Client) -> None:
    def append(number: int) -> Any:
        text = {"act": "append_description", "text": f"By {number}."}
        given = {"entity": ORDERS, "version": 0.1, "changes": [text], "dry_run": False}
        return Agent(shop).called("change_entity", **given)

    with ThreadPoolExecutor(8) as agents:
        results = list(agents.map(append, range(8)))
    stored = [number for number, each in enumerate(results) if not each["isError"]]
    assert len(stored) == 1
    for each in results:
        assert not each["isError"] or "is at version 0.2, not 0.1" in each["content"][0]["text"]
    assert shop.get(PATH)["description"] == f"All orders.\n\nBy {stored[0]}."


def test_half_resolvable_owners_store_nothing_and_near_names_are_told(shop: Client) -> None:
    shop.search_until(lambda answer: answer["hits"]["total"]["value"] == 1, q="annabel")
    owners = {"act": "add_owners", "names": ["annabel", "anabel"]}
    said = refused(Agent(shop), APPENDING, owners)
    assert "nothing is changed, as there is no user or team named 'anabel'" in said
    assert "instead of anabel there is annabel" in said
    assert shop.get(PATH)["version"] == 0.1
    stored = change(Agent(shop), {"act": "add_owners", "names": ["annabel"]})
    assert stored["diff"][0]["field"] == "owners"


def test_same_key_stores_nothing_twice(shop: Client) -> None:
    agent = Agent(shop)
    first, again = (change(agent, APPENDING, key="k-1") for _ in range(2))
    assert again["version"] == first["version"] == "0.2"
    assert shop.get(PATH)["version"] == 0.2
    assert "another request" in refused(agent, {**APPENDING, "text": "Other."}, key="k-1")
    # A dry run is no use of the key.
    shown = agent.call("change_entity", entity=ORDERS, version=0.2, changes=[APPENDING], key="k-2")
    assert shown["stored"] is False
    assert change(agent, APPENDING, version=0.2, key="k-2")["version"] == "0.3"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"act": "add_owners"}, "change 1: add_owners needs names"),
        ({"act": "add_owners", "names": ["x"], "text": "x"}, "takes no text"),
        ({"act": "append_description", "names": ["x"]}, "takes no names"),
        ({"act": "set_description", "text": "x"}, "set_description needs replaces"),
        ({"act": "append_description", "replaces": ""}, "takes no replaces"),
        ({"act": "append_description"}, "append_description needs text"),
        ({"act": "delete"}, "Invalid enum value 'delete'"),
        ({"act": "set_description", "replaces": "All", "text": "x"}, "not the present text"),
    ],
)
def test_change_that_does_not_fit_is_refused(unchanged: Client, given: Any, said: str) -> None:
    assert said in refused(Agent(unchanged), given)
    assert unchanged.get(PATH)["version"] == 0.1


@pytest.mark.parametrize("version", [0.14, 0.06, 1e-9])
def test_version_that_is_none_is_not_taken_for_another(unchanged: Client, version: float) -> None:
    said = refused(Agent(unchanged), APPENDING, version=version)
    assert said == f"version is one such as 0.3, got {version}"


def test_change_that_changes_nothing_is_not_stored(shop: Client) -> None:
    same = {"act": "set_description", "replaces": "All orders.", "text": "All orders."}
    answer = change(Agent(shop), same)
    assert (answer["stored"], answer["version"], answer["diff"]) == (False, "0.1", [])


def test_who_may_not_edit_stores_nothing(tmp_path: Path) -> None:
    with running_under(tmp_path, POLICIES, mcp="write") as client:
        fill(client)
        assert "change_entity" not in Agent(client, "viewer").tools()
        owners = {"act": "add_owners", "names": ["annabel"]}
        said = refused(Agent(client, "ownerless"), owners)
        assert "withheld" in said
        answer = change(Agent(client, "ownerless"), APPENDING)
        assert answer["stored"] is True


def test_history_audit_and_pages_name_person_agent_and_door(shop: Client) -> None:
    change(Agent(shop), APPENDING)
    via = {"door": "mcp", "what": "change_entity", "client": "tests 1"}
    newest = Agent(shop).call("get_history", entity=ORDERS)["versions"][0]
    assert (newest["actor"], newest["via"]) == ("the-admin", via)
    position = newest["position"]
    (event,) = shop.get("/v1/audit/events", after=position - 1, limit=1)["data"]
    assert (event["actor"], event["via"]) == ("the-admin", via)
    for path in (
        entity_address("table", ORDERS["name"], "history"),
        "/audit",
        f"/audit/{position}",
    ):
        page = Browser(shop, "admin").get(path).text
        assert "over MCP, <code><bdi>change_entity</bdi></code>" in page, path
        assert "which calls itself <bdi>tests 1</bdi>" in page
