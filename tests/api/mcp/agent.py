"""An agent in either era of the protocol, which checks that answers fit the schemas of tools."""

from collections.abc import Iterator
from functools import cache
from typing import Any

from jsonschema_rs import Draft202012Validator

from api.mcp.schemas import schema_of
from api.mcp.tools import TOOLS
from tests.api.conftest import Client

MODERN, LEGACY = "2026-07-28", "2025-11-25"
META = "io.modelcontextprotocol/"


def message(method: str, params: dict[str, Any] | None = None, *, modern: bool) -> dict[str, Any]:
    """A request as clients of an era write it."""
    given = dict(params or {})
    if modern:
        given["_meta"] = {
            f"{META}protocolVersion": MODERN,
            f"{META}clientCapabilities": {},
            f"{META}clientInfo": {"name": "tests", "version": "1"},
        }
    return {"jsonrpc": "2.0", "id": 7, "method": method, "params": given}


def headers(method: str, name: str | None = None, *, modern: bool) -> dict[str, str]:
    """The headers of such a request."""
    common = {"Accept": "application/json, text/event-stream"}
    if not modern:
        return {**common, "MCP-Protocol-Version": LEGACY}
    named = {} if name is None else {"Mcp-Name": name}
    return {**common, "MCP-Protocol-Version": MODERN, "Mcp-Method": method, **named}


class Agent:
    """A client of the agents' door, with the token of a role."""

    def __init__(self, client: Client, role: str = "admin", *, modern: bool = True) -> None:
        self.client = client
        self.role = role
        self.modern = modern

    def send(
        self, method: str, params: dict[str, Any] | None = None, name: str | None = None
    ) -> Any:
        """The response of HTTP to a request."""
        return self.client.request(
            "POST",
            "/mcp",
            role=self.role,
            json=message(method, params, modern=self.modern),
            headers=headers(method, name, modern=self.modern),
        )

    def result(self, method: str, **params: Any) -> Any:
        """The result of a request that succeeds."""
        response = self.send(method, params)
        assert response.status_code == 200, response.text
        return response.json()["result"]

    def tools(self) -> dict[str, Any]:
        """Name -> definition of each tool that is listed."""
        return {tool["name"]: tool for tool in self.result("tools/list")["tools"]}

    def called(self, tool: str, **arguments: Any) -> Any:
        """The result of a call, which may be a refusal."""
        response = self.send("tools/call", {"name": tool, "arguments": arguments}, tool)
        assert response.status_code == 200, response.text
        return response.json()["result"]

    def call(self, tool: str, **arguments: Any) -> Any:
        """The answer of a tool, which fits the schema that the tool has."""
        result = self.called(tool, **arguments)
        assert not result["isError"], result
        answer = result["structuredContent"]
        (text,) = result["content"]
        assert len(text["text"]) <= 16_000
        _schema(tool).validate(answer)
        return answer

    def refusal(self, tool: str, **arguments: Any) -> str:
        """What a tool says that refuses a call."""
        result = self.called(tool, **arguments)
        assert result["isError"], result
        (text,) = result["content"]
        said: str = text["text"]
        return said

    def pages(self, tool: str, **arguments: Any) -> Iterator[Any]:
        """The answers of a tool, by its cursors from the first one to the last one."""
        answer = self.call(tool, **arguments)
        yield answer
        while cursor := answer.get("cursor"):
            answer = self.call(tool, **arguments, cursor=cursor)
            yield answer


@cache
def _schema(tool: str) -> Draft202012Validator:
    """The schema of all that a tool answers, of which clients are shown the beginning."""
    return Draft202012Validator(schema_of(TOOLS[tool].gives))


def table(name: str) -> dict[str, str]:
    """A table of `Client.schema`, as a call names it."""
    return {"kind": "table", "name": f"service.database.schema.{name}"}
