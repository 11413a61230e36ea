"""Forwards messages from standard input to the agents' door of a catalog, and its answers back.

It opens no data directory and decides nothing: rights, bounds and audit are those of the server.
Each line is a message (specification 2026-07-28, `basic/transports/stdio`); the headers that HTTP
asks for are made of what stands in it.
"""

import http.client
import json
from base64 import b64encode
from collections.abc import Callable, Iterator
from typing import IO, Any
from urllib.parse import SplitResult, urlsplit

from domain.errors import InvalidInput

MOST_LINE = 1_000_000
"""Bytes of one message."""
MOST_ANSWER = 4_000_000
"""Bytes of one answer, which a catalog keeps far below."""
_SECONDS = 120.0
_VERSION = "io.modelcontextprotocol/protocolVersion"
_INTERNAL, _UNREADABLE = -32603, -32700


class Forwarder:
    """Sends messages to one catalog, each on a connection of its own."""

    def __init__(self, url: str, token: str) -> None:
        """Raises InvalidInput for what is no address of a catalog, or no token."""
        found = _parts(url)
        if found is None:
            raise InvalidInput(
                f"CATALOG_URL must be the address of a catalog such as https://catalog.example.org,"
                f" got {url[:80]!r}"
            )
        if not (token.isascii() and token.isprintable() and token):
            raise InvalidInput("CATALOG_TOKEN must be a token, as `catalog token` prints it")
        parts, self._host, self._port = found
        self._https = parts.scheme == "https"
        self._path = parts.path.rstrip("/").removesuffix("/mcp") + "/mcp"
        self._shown = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
        self._token = token
        self._version: str | None = None
        """The version of the legacy era that the server has agreed to."""

    def run(self, lines: IO[bytes], write: Callable[[bytes], object]) -> None:
        """Answer each line until there are no more; what has no answer is forwarded too."""
        for line in _bounded(lines):
            if (answer := self.answer(line)) is not None:
                write(answer + b"\n")

    def answer(self, line: bytes) -> bytes | None:
        """The line that answers a message; None for a notification."""
        try:
            message = json.loads(line) if len(line) <= MOST_LINE else None
        except (ValueError, RecursionError):
            message = None
        if not isinstance(message, dict):
            return _error(None, _UNREADABLE, f"a line is one message of at most {MOST_LINE} bytes")
        try:
            status, body = self._send(message, line)
        except (OSError, http.client.HTTPException) as error:
            status, body = 0, f"{self._shown} cannot be reached: {error}".encode()
        if "id" not in message:
            return None
        answer = _decoded(body)
        if "jsonrpc" not in answer:
            said = answer.get("message") or body.decode(errors="replace")[:500]
            told = f"the catalog answers {status}: {said}" if status else said
            return _error(message["id"], _INTERNAL, told)
        if message.get("method") == "initialize":
            self._version = answer.get("result", {}).get("protocolVersion")
        return body.strip()

    def _send(self, message: dict[str, Any], line: bytes) -> tuple[int, bytes]:
        kind = http.client.HTTPSConnection if self._https else http.client.HTTPConnection
        connection = kind(self._host, self._port, timeout=_SECONDS)
        try:
            connection.request("POST", self._path, line.strip(), self._headers(message))
            response = connection.getresponse()
            return response.status, response.read(MOST_ANSWER)
        finally:
            connection.close()

    def _headers(self, message: dict[str, Any]) -> dict[str, str]:
        headers = {
            "Authorization": f"Bearer {self._token}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }
        params = message.get("params")
        params = params if isinstance(params, dict) else {}
        meta = params.get("_meta")
        modern = meta.get(_VERSION) if isinstance(meta, dict) else None
        named = {"MCP-Protocol-Version": modern or self._version}
        if modern:
            named["Mcp-Method"] = message.get("method")
            named["Mcp-Name"] = params.get("uri", params.get("name"))
        return headers | {
            name: _encoded(value) for name, value in named.items() if isinstance(value, str)
        }


def _parts(url: str) -> tuple[SplitResult, str, int | None] | None:
    """The parts of an address of HTTP with host and port; None for what is no such address."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    return (parts, host, port) if host and parts.scheme in ("http", "https") else None


def _bounded(lines: IO[bytes]) -> Iterator[bytes]:
    """The lines that are not empty; a line that is too long is cut just beyond MOST_LINE."""
    while line := lines.readline(MOST_LINE + 1):
        rest = line
        while rest and not rest.endswith(b"\n"):
            rest = lines.readline(MOST_LINE)
        if line.strip():
            yield line


def _decoded(body: bytes) -> dict[str, Any]:
    try:
        answer = json.loads(body)
    except ValueError:
        return {}
    return answer if isinstance(answer, dict) else {}


def _encoded(value: str) -> str:
    """A value of a header; in Base64 where no header can hold the text."""
    is_plain = value.isascii() and value.isprintable() and value == value.strip()
    if is_plain and not value.startswith("=?base64?"):
        return value
    return f"=?base64?{b64encode(value.encode('utf-8', 'replace')).decode()}?="


def _error(id: Any, code: int, message: str) -> bytes:
    error = {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}
    return json.dumps(error, separators=(",", ":")).encode()
