"""The wire of the Model Context Protocol, in both eras."""

from base64 import b64encode
from typing import Any

import pytest

from tests.api.conftest import Client
from tests.api.mcp.agent import LEGACY, META, MODERN, Agent, headers, message

PARSE, INVALID, METHOD, PARAMS, MISMATCH, VERSION = -32700, -32600, -32601, -32602, -32020, -32022


def post(client: Client, body: Any, given: dict[str, str]) -> tuple[int, Any]:
    content = {"content": body} if isinstance(body, bytes | str) else {"json": body}
    typed = {"Content-Type": "application/json"} if "content" in content else {}
    response = client.request("POST", "/mcp", headers={**typed, **given}, **content)
    return response.status_code, response.json() if response.content else None


def modern(method: str = "tools/list", **changed: Any) -> dict[str, Any]:
    """A modern request; of what is changed None is left out."""
    request = message(method, {}, modern=True)
    meta = request["params"]["_meta"]
    for key, value in changed.items():
        if value is None:
            del meta[f"{META}{key}"]
        else:
            meta[f"{META}{key}"] = value
    return request


def test_modern_client_discovers(empty: Client) -> None:
    result = Agent(empty).result("server/discover")
    assert result["supportedVersions"] == [MODERN, LEGACY, "2025-06-18"]
    assert result["capabilities"].keys() >= {"tools"}
    assert (result["resultType"], result["cacheScope"]) == ("complete", "private")
    assert result["ttlMs"] > 0
    assert result["_meta"][f"{META}serverInfo"]["name"] == "metadata-catalog"


@pytest.mark.parametrize(
    ("asked", "given"), [(LEGACY, LEGACY), ("2025-06-18", "2025-06-18"), ("2024-11-05", LEGACY)]
)
def test_legacy_client_initializes(empty: Client, asked: str, given: str) -> None:
    request = message("initialize", {"protocolVersion": asked, "capabilities": {}}, modern=False)
    status, body = post(empty, request, {})
    assert status == 200
    assert body["result"]["protocolVersion"] == given
    assert "resultType" not in body["result"]
    # The notification that follows has no answer.
    done = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert post(empty, done, {"MCP-Protocol-Version": given}) == (202, None)
    assert Agent(empty, modern=False).result("ping") == {}


@pytest.mark.parametrize("is_modern", [True, False])
def test_tools_are_listed_in_both_eras(empty: Client, is_modern: bool) -> None:
    result = Agent(empty, modern=is_modern).result("tools/list")
    assert len(result["tools"]) >= 6
    assert ("ttlMs" in result, "resultType" in result) == (is_modern, is_modern)


@pytest.mark.parametrize(
    ("body", "given", "status", "code"),
    [
        ("{", {}, 400, PARSE),
        ('{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', {}, 400, PARSE),
        (b"\xff", {}, 400, PARSE),
        ([message("ping", modern=False)], {}, 400, INVALID),
        ({"jsonrpc": "1.0", "id": 1, "method": "ping"}, {}, 400, INVALID),
        ({"jsonrpc": "2.0", "id": None, "method": "ping"}, {}, 400, INVALID),
        ({"jsonrpc": "2.0", "id": True, "method": "ping"}, {}, 400, INVALID),
        ({"jsonrpc": "2.0", "id": 1, "result": {}}, {}, 400, INVALID),
        ({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": []}, {}, 400, INVALID),
        ({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"_meta": 1}}, {}, 400, PARAMS),
        (message("nothing", modern=False), headers("nothing", modern=False), 200, METHOD),
        (message("nothing", modern=True), headers("nothing", modern=True), 404, METHOD),
        # A method of the other era is no method of this one.
        (message("ping", modern=True), headers("ping", modern=True), 404, METHOD),
        (
            message("server/discover", modern=False),
            headers("server/discover", modern=False),
            200,
            METHOD,
        ),
        # Header and body of a version must agree, whichever era each is of.
        (modern(), headers("tools/list", modern=False), 400, MISMATCH),
        (modern(), {}, 400, MISMATCH),
        (
            modern(protocolVersion="1900-01-01"),
            {**headers("tools/list", modern=True), "MCP-Protocol-Version": "1900-01-01"},
            400,
            VERSION,
        ),
        (message("ping", modern=False), {"MCP-Protocol-Version": "1900-01-01"}, 400, VERSION),
        (modern(protocolVersion=None), headers("tools/list", modern=True), 400, PARAMS),
        (modern(clientCapabilities=None), headers("tools/list", modern=True), 400, PARAMS),
        (modern(), headers("tools/call", modern=True), 400, MISMATCH),
        (modern(), {"MCP-Protocol-Version": MODERN}, 400, MISMATCH),
        (
            message("tools/call", {"name": "search_catalog"}, modern=True),
            headers("tools/call", "get_entities", modern=True),
            400,
            MISMATCH,
        ),
        (
            message("tools/call", {"name": "search_catalog"}, modern=True),
            headers("tools/call", "=?base64?!?=", modern=True),
            400,
            MISMATCH,
        ),
        (
            message("tools/call", {"name": "nothing"}, modern=True),
            headers("tools/call", "nothing", modern=True),
            200,
            PARAMS,
        ),
        (
            message("tools/call", {"name": "search_catalog", "arguments": []}, modern=False),
            headers("tools/call", modern=False),
            400,
            PARAMS,
        ),
    ],
)
def test_message_that_is_refused(
    empty: Client, body: Any, given: dict[str, str], status: int, code: int
) -> None:
    answered, error = post(empty, body, given)
    assert (answered, error["error"]["code"]) == (status, code), error
    if isinstance(body, dict) and isinstance(body.get("id"), int) and code != INVALID:
        assert error["id"] == body["id"]
    if code == VERSION:
        assert error["error"]["data"]["supported"] == [MODERN, LEGACY, "2025-06-18"]


def test_name_in_base64_is_compared_as_what_it_stands_for(empty: Client) -> None:
    encoded = f"=?base64?{b64encode(b'search_catalog').decode()}?="
    params = {"name": "search_catalog", "arguments": {}}
    result = Agent(empty).send("tools/call", params, encoded).json()["result"]
    assert result["structuredContent"]["total"] == 0


def test_id_may_be_a_text(empty: Client) -> None:
    request = message("ping", modern=False) | {"id": "a-1"}
    assert post(empty, request, {}) == (200, {"jsonrpc": "2.0", "id": "a-1", "result": {}})
