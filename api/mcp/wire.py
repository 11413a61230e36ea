"""Messages of the Model Context Protocol (MCP): read from requests, checked, and answered.

There are two eras. A request of the modern one (specification 2026-07-28, `basic/versioning` and
`basic/transports/streamable-http`) names its version in `_meta`, and its headers repeat what
proxies need to know. A client of the legacy one (2025-11-25, 2025-06-18) begins with `initialize`.
Header and `_meta` together tell the era. Nothing is remembered between two requests.
"""

from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from domain.errors import InvalidInput, shown
from domain.patches.json_input import decode
from domain.release import RELEASE

MODERN = ("2026-07-28",)
LEGACY = ("2025-11-25", "2025-06-18")
SUPPORTED = (*MODERN, *LEGACY)
PARSE_ERROR, INVALID_REQUEST, UNKNOWN_METHOD, INVALID_PARAMS = -32700, -32600, -32601, -32602
INTERNAL_ERROR, HEADER_MISMATCH, UNSUPPORTED_VERSION = -32603, -32020, -32022
_META = "io.modelcontextprotocol/"
_NAMED_BY: Mapping[str, str] = MappingProxyType(
    {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
)
"""Method -> the parameter that the header `Mcp-Name` repeats."""
_ENCODED = ("=?base64?", "?=")
"""The marks before and behind a header's value that is Base64 of UTF-8."""
_SERVER = {"name": "metadata-catalog", "version": RELEASE}
_CAPABILITIES: Mapping[str, Any] = {"tools": {}, "resources": {}, "prompts": {}}
_MOST_CLAIMED = 200
"""Characters of a client's name that are kept."""

Id = int | str


class Refused(Exception):
    """A message that is answered with an error of the protocol."""

    def __init__(
        self,
        code: int,
        message: str,
        *,
        status: int = 400,
        id: Id | None = None,
        data: Any = None,
    ) -> None:
        """`status` is that of HTTP; `id` is that of the request, where it could be read."""
        super().__init__(message)
        self.code = code
        self.status = status
        self.id = id
        self.data = data

    def body(self) -> bytes:
        """The JSON of the error response."""
        error = {"code": self.code, "message": str(self)}
        if self.data is not None:
            error["data"] = self.data
        of = {} if self.id is None else {"id": self.id}
        return msgspec.json.encode({"jsonrpc": "2.0", **of, "error": error})


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """A request that is well-formed and of a version that is spoken here."""

    id: Id
    method: str
    params: dict[str, Any]
    is_modern: bool
    client: str | None
    """The name and version that the client gives itself, which nothing proves."""

    def result(self, fields: Mapping[str, Any], *, fresh_ms: int | None = None) -> bytes:
        """The JSON of the response; `fresh_ms` is how long a client may keep a cacheable one."""
        result = dict(fields)
        if self.is_modern:
            result["resultType"] = "complete"
            result["_meta"] = {f"{_META}serverInfo": _SERVER}
            if fresh_ms is not None:
                result |= {"ttlMs": fresh_ms, "cacheScope": "private"}
        return msgspec.json.encode({"jsonrpc": "2.0", "id": self.id, "result": result})

    def refused(self, code: int, message: str, *, status: int = 200) -> Refused:
        """The error of this request; an unknown method has a status of its own in the modern era.

        A legacy client would take a 404 for the end of a session.
        """
        if code == UNKNOWN_METHOD and self.is_modern:
            status = 404
        return Refused(code, message, status=status, id=self.id)

    def hello(self, instructions: str) -> bytes | None:
        """The answer to the request that opens a conversation; None for any other request."""
        told = {"capabilities": _CAPABILITIES, "instructions": instructions}
        if self.is_modern and self.method == "server/discover":
            return self.result({"supportedVersions": SUPPORTED, **told}, fresh_ms=300_000)
        if not self.is_modern and self.method == "initialize":
            asked = self.params.get("protocolVersion")
            version = asked if asked in LEGACY else LEGACY[0]
            return self.result({"protocolVersion": version, **told, "serverInfo": _SERVER})
        return None


def read_call(headers: Iterable[tuple[bytes, bytes]], body: bytes) -> Call | None:
    """The request in a body; None for a notification, which has no answer. Raises Refused."""
    message = _message(body)
    id, method = message.get("id"), message.get("method")
    if not isinstance(method, str):
        raise Refused(INVALID_REQUEST, "the message has no method: requests are sent here, alone")
    if "id" not in message:
        return None
    if not isinstance(id, str | int) or isinstance(id, bool):
        raise Refused(INVALID_REQUEST, "id must be a text or a whole number")
    params = message.get("params", {})
    if not isinstance(params, dict):
        raise Refused(INVALID_REQUEST, "params must be an object", id=id)
    meta = params.get("_meta", {})
    if not isinstance(meta, dict):
        raise Refused(INVALID_PARAMS, "_meta must be an object", id=id)
    given = _headers(headers)
    is_modern = _check_version(given, meta, id)
    if is_modern:
        _check_modern(given, meta, method, params, id)
    return Call(
        id=id,
        method=method,
        params=params,
        is_modern=is_modern,
        client=_claimed(meta.get(f"{_META}clientInfo"), given.get("user-agent")),
    )


def _message(body: bytes) -> dict[str, Any]:
    if body.lstrip()[:1] == b"[":
        raise Refused(INVALID_REQUEST, "messages are sent one by one, not in a batch")
    try:
        message = decode(body, dict[str, Any], "the message")
    except InvalidInput as error:
        raise Refused(PARSE_ERROR, error.message) from None
    if message.get("jsonrpc") != "2.0":
        raise Refused(INVALID_REQUEST, 'jsonrpc must be "2.0"')
    return message


def _headers(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """The headers that this protocol reads; one that comes twice gets a value that never fits."""
    given: dict[str, str] = {}
    for name, value in headers:
        if name in (b"mcp-protocol-version", b"mcp-method", b"mcp-name", b"user-agent"):
            key = name.decode()
            given[key] = "\0" if key in given else value.decode("latin-1").strip()
    return given


def _check_version(given: Mapping[str, str], meta: Mapping[str, Any], id: Id) -> bool:
    """True for a request of the modern era; raises Refused for what is of no era."""
    header, told = given.get("mcp-protocol-version"), meta.get(f"{_META}protocolVersion")
    if told is not None and header != told:
        raise Refused(
            HEADER_MISMATCH,
            f"the header MCP-Protocol-Version says {shown(header)}, and _meta {shown(told)}",
            id=id,
        )
    if header is None:
        # Only `initialize` comes without one in the legacy eras that are spoken here.
        return False
    if header not in SUPPORTED:
        data = {"supported": SUPPORTED, "requested": header[:_MOST_CLAIMED]}
        raise Refused(UNSUPPORTED_VERSION, "Unsupported protocol version", id=id, data=data)
    return header in MODERN


def _check_modern(
    given: Mapping[str, str],
    meta: Mapping[str, Any],
    method: str,
    params: Mapping[str, Any],
    id: Id,
) -> None:
    """Raise Refused for a modern request without its fields, or with headers that say otherwise."""
    for field, kind in (("protocolVersion", str), ("clientCapabilities", dict)):
        if not isinstance(meta.get(f"{_META}{field}"), kind):
            raise Refused(INVALID_PARAMS, f"_meta must have {_META}{field}", id=id)
    expected = {"mcp-method": method}
    if (parameter := _NAMED_BY.get(method)) is not None:
        expected["mcp-name"] = params.get(parameter, "")
    for name, value in expected.items():
        if _plain(given.get(name)) != value:
            raise Refused(HEADER_MISMATCH, f"the header {name} must be {shown(value)}", id=id)


def _plain(value: str | None) -> str | None:
    """The value of a header that may be in Base64; None where it cannot be read."""
    before, after = _ENCODED
    if value is None or not (value.startswith(before) and value.endswith(after)):
        return value
    try:
        return b64decode(value[len(before) : -len(after)], validate=True).decode()
    except (NotBase64, ValueError):
        return None


def _claimed(info: Any, agent: str | None) -> str | None:
    """The name that a client gives itself: name and version, else its User-Agent."""
    if isinstance(info, dict):
        parts = [info.get("name"), info.get("version")]
        agent = " ".join(each for each in parts if isinstance(each, str)) or agent
    text = "".join(each for each in agent or "" if each.isprintable())
    return text[:_MOST_CLAIMED] or None
