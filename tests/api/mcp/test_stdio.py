"""Messages over standard input are answered as over HTTP, and what stands between is told."""

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from api.mcp.stdio import MOST_LINE, Forwarder
from domain.errors import InvalidInput
from tests.api.mcp.agent import MODERN, message
from tests.e2e.conftest import Server, catalog, serving


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("served")) as started:
        yield started


def token_of(server: Server) -> str:
    return server.http.headers["Authorization"].removeprefix("Bearer ")


def forwarded(server: Server, *messages: Any, token: str | None = None) -> list[Any]:
    """The answers to messages; a text is a line as it is."""
    lines = [each if isinstance(each, str) else json.dumps(each) for each in messages]
    written: list[bytes] = []
    forwarder = Forwarder(str(server.http.base_url), token or token_of(server))
    forwarder.run(io.BytesIO("\n".join(lines).encode()), written.append)
    assert all(each.endswith(b"\n") and b"\n" not in each[:-1] for each in written)
    return [json.loads(each) for each in written]


def test_command_forwards_until_its_input_ends(server: Server, tmp_path: Path) -> None:
    done = catalog("mcp", "--url", str(server.http.base_url), CATALOG_TOKEN=token_of(server))
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize("url", ["http://x:abc", "http://x:99999", "http://", "ftp://x", "x"])
def test_address_that_is_none_is_told(url: str) -> None:
    with pytest.raises(InvalidInput, match="CATALOG_URL must be the address"):
        Forwarder(url, "token")


def test_line_that_is_nested_deeply_is_told_and_ends_nothing(server: Server) -> None:
    deep = "[" * 20_000 + "]" * 20_000
    refused, answer = forwarded(server, deep, message("tools/list", modern=True))
    assert refused["error"]["code"] == -32700
    assert answer["result"]["tools"]


def test_command_without_a_token_says_so(tmp_path: Path) -> None:
    done = catalog("mcp", CATALOG_TOKEN="")
    assert done.returncode == 2
    assert done.stderr == "error: CATALOG_TOKEN must be a token, as `catalog token` prints it\n"


def test_both_eras_are_forwarded(server: Server) -> None:
    call = {"name": "search_catalog", "arguments": {"query": "x"}}
    answers = forwarded(
        server,
        message("initialize", {"protocolVersion": "2025-06-18"}, modern=False),
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        message("tools/call", call, modern=False),
        message("server/discover", modern=True),
        message("tools/call", call, modern=True),
        "",
    )
    assert [each["id"] for each in answers] == [7] * 4
    assert answers[0]["result"]["protocolVersion"] == "2025-06-18"
    assert answers[1]["result"]["structuredContent"]["total"] == 0
    assert answers[2]["result"]["supportedVersions"][0] == MODERN
    assert answers[3]["result"]["structuredContent"]["total"] == 0


def test_name_that_no_header_holds_is_forwarded(server: Server) -> None:
    (answer,) = forwarded(server, message("tools/call", {"name": "tôol\n"}, modern=True))
    assert answer["error"]["message"].startswith("Unknown tool")


@pytest.mark.parametrize(
    ("line", "code"),
    [("{", -32700), ("[]", -32700), ("x" * (MOST_LINE + 10), -32700), ('{"id": 1}', -32600)],
    ids=["no JSON", "a batch", "too long", "no method"],
)
def test_line_that_is_no_message_is_refused(server: Server, line: str, code: int) -> None:
    refused, answered = forwarded(server, line, message("ping", modern=False))
    assert refused["error"]["code"] == code
    assert answered["result"] == {}


def test_refusal_of_the_server_is_told(server: Server) -> None:
    (answer,) = forwarded(server, message("ping", modern=False), token="nobody")
    assert answer["error"]["message"] == ("the catalog answers 401: a valid bearer token is needed")
    assert answer["id"] == 7


def test_catalog_that_is_not_there_is_told() -> None:
    written: list[bytes] = []
    line = json.dumps(message("ping", modern=False)).encode()
    Forwarder("http://127.0.0.1:1", "token").run(io.BytesIO(line), written.append)
    assert b"http://127.0.0.1:1 cannot be reached" in written[0]


@pytest.mark.parametrize("url", ["", "catalog.example.org", "ftp://x", "http://"])
def test_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput, match="CATALOG_URL must be the address"):
        Forwarder(url, "token")
