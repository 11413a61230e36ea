"""Calls of agents beside the same reads over HTTP, in process: what their door adds.

Each pair reads the same entity, another one each time, so that no answer is remembered.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import unquote

import msgspec

from api.app import Application, create_app
from api.callers.tokens.issuers import Issuer
from api.callers.tokens.minting import mint
from api.callers.tokens.verifier import open_verifier
from api.services import make_services
from api.settings import Settings
from api.telemetry.logs import LogWriter
from api.telemetry.metrics import Metrics
from api.telemetry.shared_counts import SharedCounts
from benchmarks.figures import Figure
from benchmarks.generate import lines
from benchmarks.workspace import Workspace, catch_up, load
from projections.wiring.stores import open_stores

_SECRET = "a secret for benchmarks, longer than thirty-two bytes"
BUDGET_MS = 0.3
_ENTITIES, _TABLES, _ROUNDS = 5_000, 100, 7
_Request = tuple[str, str, bytes]
"""Method, address and body."""


def measure(workspace: Workspace, large: bool) -> list[Figure]:
    """Milliseconds of a call of each tool, and of the same read."""
    directory = workspace.fresh()
    stores = open_stores(directory)
    try:
        load(stores.log, lines(_ENTITIES))
        catch_up(stores)
    finally:
        stores.close()
    costs = asyncio.run(_measured(directory))
    return [
        Figure(
            what=f"{tool}, another entity each time",
            measured=f"{call:.2f} ms",
            yardstick=f"{read:.2f} ms (the same read over HTTP)",
            ratio=call / read,
            budget=f"{BUDGET_MS} ms more",
            met=call - read <= BUDGET_MS,
        )
        for tool, (call, read) in costs.items()
    ]


async def _measured(directory: Path) -> dict[str, tuple[float, float]]:
    """Tool -> milliseconds of a call and of the read, rounds interleaved, medians."""
    stores = open_stores(directory, writable=False)
    settings = Settings(data=str(directory), jwt_secret=_SECRET, access_log=False)
    services = make_services(settings, stores)
    verifier = open_verifier(settings)
    app = create_app(services, verifier, LogWriter(2, lambda: None), Metrics(SharedCounts.made(1)))
    try:
        page = await _ask(app, ("GET", f"/v1/tables?limit={_TABLES}", b""))
        tables = msgspec.json.decode(page)["data"]
        pairs: dict[str, tuple[Callable[[Any], _Request], Callable[[Any], _Request]]] = {
            "get_entities": (
                lambda table: _call("get_entities", entities=[_named(table)]),
                lambda table: ("GET", f"/v1/tables/{table['id']}?fields=owners,tags,domains", b""),
            ),
            "list_columns": (
                lambda table: _call("list_columns", entity=_named(table)),
                lambda table: ("GET", f"/v1/tables/{table['id']}/columns?fields=tags", b""),
            ),
            "get_lineage": (
                lambda table: _call("get_lineage", entity=_named(table)),
                lambda table: ("GET", f"/v1/lineage/table/{table['id']}", b""),
            ),
            "search_catalog": (
                lambda table: _call(
                    "search_catalog", query=unquote(_words(table)), kinds=["table"]
                ),
                lambda table: ("GET", f"/v1/search/query?q={_words(table)}&index=table", b""),
            ),
        }
        costs = {}
        for tool, made in pairs.items():
            sides: tuple[list[float], list[float]] = ([], [])
            for _ in range(_ROUNDS):
                for side, make in zip(sides, made, strict=True):
                    side.append(await _cost(app, [make(table) for table in tables]))
            costs[tool] = median(sides[0]), median(sides[1])
        return costs
    finally:
        services.close()
        stores.close()
        verifier.close()


def _named(table: Any) -> dict[str, str]:
    return {"kind": "table", "name": table["id"]}


def _words(table: Any) -> str:
    """Words that no search had before, so that its answer is not remembered."""
    return f"{table['name']}%20or%20unheard{next(_numbers)}"


_numbers = count()


def _call(tool: str, **arguments: Any) -> _Request:
    params = {"name": tool, "arguments": arguments}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return "POST", "/mcp", msgspec.json.encode(message)


async def _cost(app: Application, requests: Sequence[_Request]) -> float:
    started = time.perf_counter()
    for request in requests:
        await _ask(app, request)
    return (time.perf_counter() - started) / len(requests) * 1e3


async def _ask(app: Application, request: _Request) -> bytes:
    """The body of an answer that succeeds."""
    method, address, body = request
    path, _, query = address.partition("?")
    token = mint(Issuer(secret=_SECRET), "benchmark", ("reader",), 600)
    sent: list[bytes] = []

    waiting = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def receive() -> Any:
        if (message := next(waiting, None)) is None:
            # A client that waits for its answer sends nothing more.
            await asyncio.Event().wait()
        return message

    async def send(message: Any) -> None:
        assert message.get("status", 200) == 200, message
        sent.append(message.get("body", b""))

    scope: dict[str, Any] = {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": [
            (b"host", b"x"),
            (b"authorization", f"Bearer {token}".encode()),
            (b"content-type", b"application/json"),
            (b"content-length", b"%d" % len(body)),
        ],
        "http_version": "1.1",
        "scheme": "http",
        "root_path": "",
        "client": None,
        "server": None,
        "state": {},
    }
    await app(scope, receive, send)
    return b"".join(sent)
