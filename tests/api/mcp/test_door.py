"""The agents' door: who is let in, what is shown to whom, and how refusals look."""

import ast
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.api.conftest import Client, running, running_under
from tests.api.mcp.agent import Agent, headers, message, table

POLICIES = """
[[rule]]
role = "admin"
allow = ["list", "view", "search", "create", "edit", "delete", "audit"]

[[rule]]
role = "tables"
kinds = ["table"]
allow = ["list", "view", "search"]
withhold = ["description", "columns.tags"]

[[rule]]
role = "blind"
kinds = ["table"]
allow = ["list", "view", "search"]
withhold = ["columns"]

[[rule]]
role = "viewer"
kinds = ["user"]
allow = ["view"]
"""


def test_other_methods_are_not_there(empty: Client) -> None:
    for method in ("GET", "DELETE", "PUT"):
        assert empty.request(method, "/mcp").status_code == 405


def test_door_that_is_off_is_not_there(tmp_path: Path) -> None:
    with running(tmp_path, mcp="off") as client:
        assert Agent(client).send("tools/list").status_code == 404


def test_start_loads_no_tools() -> None:
    """In a process of its own, as this one may have called some."""
    program = "import api.app, sys; print([n for n in sys.modules if n.startswith('api.mcp.')])"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, check=True
    )
    assert sorted(ast.literal_eval(done.stdout)) == [
        "api.mcp.door",
        "api.mcp.protected_resource",
        "api.mcp.wire",
    ]


def test_caller_without_a_token_is_refused_as_the_api_does(empty: Client) -> None:
    response = empty.http.post("/mcp", json=message("ping", modern=False))
    assert response.status_code == 401
    assert response.headers["WWW-Authenticate"].startswith("Bearer")
    assert response.json()["errorType"] == "UNAUTHORIZED"


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        (None, 200),
        ("http://testserver.local", 200),
        ("http://evil.example", 403),
        ("null", 403),
        ("http://[", 403),
    ],
)
def test_pages_of_other_sites_are_refused(empty: Client, origin: str | None, status: int) -> None:
    given = {"Origin": origin} if origin else {}
    response = empty.request("POST", "/mcp", json=message("ping", modern=False), headers=given)
    assert response.status_code == status


def test_body_that_is_no_json_is_refused_by_its_type(empty: Client) -> None:
    given = {"Content-Type": "text/plain"}
    assert empty.request("POST", "/mcp", content="{}", headers=given).status_code == 415


def test_body_is_bounded(empty: Client) -> None:
    request = message("ping", {"x": "y" * 1_000_000}, modern=False)
    assert empty.request("POST", "/mcp", json=request).status_code == 413


def test_definitions_are_short(empty: Client) -> None:
    tools = Agent(empty).result("tools/list")["tools"]
    assert len(json.dumps(tools, separators=(",", ":"))) <= 12_000
    for tool in tools:
        assert tool["inputSchema"]["additionalProperties"] is False
        assert tool["annotations"] == {"readOnlyHint": True, "idempotentHint": True}


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("list_columns", {"limt": 1}, "there is no argument 'limt'; arguments are entity, "),
        ("search_catalog", {"limt": 1}, "there is no argument 'limt': did you mean limit?"),
        ("search_catalog", {"limit": 51}, "Expected `int` <= 50 - at `$.limit`"),
        ("search_catalog", {"kinds": ["tabel"]}, "kind must be one of table"),
        ("search_catalog", {"query": "a AND"}, "q: "),
        ("get_entities", {"entities": []}, "Expected `array` of length >= 1"),
        ("get_lineage", {"entity": table("none")}, "not found; search_catalog finds names"),
        ("get_lineage", {"entity": table("x"), "as_of": "tomorrow"}, "as_of: "),
        ("get_lineage", {"entity": table("x"), "as_of": "2999-01-01"}, "yet to come"),
        ("list_columns", {"entity": {"kind": "user", "name": "x"}}, "a user has no columns"),
        ("list_columns", {"entity": table("x"), "cursor": "x"}, "the cursor is of another"),
        ("get_history", {"entity": table("x"), "since": "x"}, "since: "),
    ],
)
def test_refusal_says_in_a_sentence_what_is_allowed(
    empty: Client, tool: str, arguments: dict[str, Any], said: str
) -> None:
    assert said in Agent(empty).refusal(tool, **arguments)


def test_tools_are_shown_to_those_who_may_call_them(tmp_path: Path) -> None:
    with running_under(tmp_path, POLICIES) as client:
        viewer = Agent(client, "viewer")
        assert "get_entities" in viewer.tools()
        assert "search_catalog" not in viewer.tools()
        response = viewer.send("tools/call", {"name": "search_catalog"}, "search_catalog")
        assert response.json()["error"]["message"] == "Unknown tool: 'search_catalog'"
        # A kind whose tables may be viewed is no lineage.
        assert "get_lineage" not in Agent(client, "tables").tools()
        assert Agent(client, "stranger").send("tools/list").status_code == 403


def test_withheld_fields_stay_so(tmp_path: Path) -> None:
    with running_under(tmp_path, POLICIES) as client:
        client.schema()
        client.create("classifications", name="Secret", description="s")
        client.create("tags", name="Plan", description="s", classification="Secret")
        tagged = [{"tagFQN": "Secret.Plan", "source": "Classification"}]
        client.table(
            "orders",
            description="the secret plan",
            columns=[{"name": "total", "dataType": "INT", "tags": tagged}],
        )
        client.ask(
            "PATCH",
            "/v1/tables/name/service.database.schema.orders",
            json=[{"op": "replace", "path": "/description", "value": "another secret plan"}],
        )
        entity = table("orders")
        assert "another secret plan" in json.dumps(
            Agent(client).call("get_entities", entities=[entity])
        )
        seeing = Agent(client, "tables")
        shown = [
            seeing.call("get_entities", entities=[entity]),
            seeing.call("list_columns", entity=entity),
            seeing.call("get_history", entity=entity),
            seeing.call("search_catalog", query="orders"),
        ]
        assert "total" in json.dumps(shown)
        assert "secret" not in json.dumps(shown).lower()
        (one,) = seeing.call("get_entities", entities=[entity], fields=["description"])["entities"]
        assert "withheld" in one["error"]
        assert "withheld" in seeing.refusal("get_history", entity=entity, field="description")
        assert "withheld" in seeing.refusal("list_columns", entity=entity, tags=["Secret.Plan"])
        assert "withheld" in Agent(client, "blind").refusal("list_columns", entity=entity)
        other = {"kind": "user", "name": "ann"}
        (one,) = seeing.call("get_entities", entities=[other])["entities"]
        assert one["error"] == "you have no permission to view user"


def test_each_call_counts_for_the_rate_limit(tmp_path: Path) -> None:
    with running(tmp_path, rate_limit=0.001, rate_burst=2) as client:
        agent = Agent(client)
        assert [agent.send("tools/list").status_code for _ in range(3)] == [200, 200, 429]


class Broken:
    """Measurements of which nothing can be read."""

    def close(self) -> None:
        """Close nothing."""


def test_tool_that_fails_tells_no_more_than_the_id_of_the_call(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with running(tmp_path, services={"measurements": Broken()}) as client:
        client.schema()
        client.table("orders")
        response = Agent(client).send(
            "tools/call",
            {"name": "get_quality", "arguments": {"entity": table("orders")}},
            "get_quality",
        )
        error = response.json()["error"]
        assert error["code"] == -32603
        assert response.headers["X-Request-Id"] in error["message"]
        assert [each.tool for each in caplog.records if each.name == "catalog.mcp"] == [  # type: ignore[attr-defined]
            "get_quality"
        ]


def test_legacy_and_modern_calls_are_answered_alike(empty: Client) -> None:
    answers = [
        Agent(empty, modern=modern).call("search_catalog", query="nothing")
        for modern in (True, False)
    ]
    for each in answers:
        del each["request_id"]
    assert answers[0] == answers[1]


def test_request_id_of_an_answer_is_that_of_the_log(empty: Client) -> None:
    response = empty.request(
        "POST",
        "/mcp",
        json=message("tools/call", {"name": "search_catalog"}, modern=True),
        headers={**headers("tools/call", "search_catalog", modern=True), "X-Request-Id": "mine"},
    )
    assert response.json()["result"]["structuredContent"]["request_id"] == "mine"
