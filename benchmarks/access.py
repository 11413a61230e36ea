"""Costs of each request before its route: token and permission, the edge, the access line.

Constants with and without each part, in process: without a socket the figures are steady.
"""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from api.answers.responses import Finished
from api.app import Application, create_app
from api.callers.permissions import PUBLIC, Action, Permission
from api.callers.tokens.issuers import Issuer
from api.callers.tokens.minting import mint
from api.callers.tokens.verifier import open_verifier
from api.declaring.signatures import route
from api.services import make_services
from api.settings import Settings
from api.telemetry.logs import LogWriter, open_log_writer
from api.telemetry.metrics import Metrics
from api.telemetry.shared_counts import SharedCounts
from benchmarks.figures import Figure
from benchmarks.workspace import Workspace
from projections.wiring.stores import open_stores

_SECRET = "a secret for benchmarks, longer than thirty-two bytes"
_ROUNDS, _REQUESTS = 7, 1_000
_LIST, _OPEN, _GUARDED = "/v1/dataContracts", "/open", "/guarded"

Asgi = Callable[[Any, Any, Any], Awaitable[None]]


def measure(workspace: Workspace, large: bool) -> list[Figure]:
    """Microseconds that each part adds, beside a list of ten with all of them."""
    directory = workspace.contracts(1_000)
    with _unread_log(), open_log_writer(lambda: None) as writer:
        costs = asyncio.run(_measured(directory, writer))
    parts = {
        "token, rate limit and permission": costs["guarded"] - costs["open"],
        "request id and metrics": costs["open"] - costs["bare"],
        "access line": costs["logged"] - costs["guarded"],
    }
    whole = costs["list"]
    return [
        Figure(
            what=what,
            measured=f"{cost:.1f} us",
            yardstick=f"{whole:.1f} us (list of 10, all included)",
            ratio=cost / whole,
        )
        for what, cost in parts.items()
    ]


@contextmanager
def _unread_log() -> Iterator[None]:
    """Standard error thrown away: access lines are written to it."""
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


async def _measured(directory: Path, writer: LogWriter) -> dict[str, float]:
    """Microseconds of a request of each sort, rounds interleaved, median of the rounds."""
    stores = open_stores(directory, writable=False)

    def application(access_log: bool) -> Application:
        settings = Settings(data=str(directory), jwt_secret=_SECRET, access_log=access_log)
        services, metrics = make_services(settings, stores), Metrics(SharedCounts.made(1))
        app = create_app(services, open_verifier(settings), writer, metrics)
        listing = Permission(Action.LIST, "dataContract")
        for path, permission in ((_OPEN, PUBLIC), (_GUARDED, listing)):
            app.register(route("GET", path, permission, lambda _: Finished(b"{}"), {}))
        return app

    try:
        quiet, logging = application(False), application(True)
        sorts: dict[str, tuple[Asgi, str]] = {
            "bare": (super(Application, quiet).__call__, _OPEN),
            "open": (quiet, _OPEN),
            "guarded": (quiet, _GUARDED),
            "logged": (logging, _GUARDED),
            "list": (logging, _LIST),
        }
        rounds = [
            {name: await _cost(app, path) for name, (app, path) in sorts.items()}
            for _ in range(_ROUNDS)
        ]
    finally:
        stores.close()
    return {name: median(each[name] for each in rounds) for name in sorts}


async def _cost(app: Asgi, path: str) -> float:
    token = mint(Issuer(secret=_SECRET), "benchmark", ("reader",), 600)
    headers = [(b"host", b"x"), (b"authorization", f"Bearer {token}".encode())]
    statuses = []

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        if "status" in message:
            statuses.append(message["status"])

    started = time.perf_counter()
    for _ in range(_REQUESTS):
        scope: dict[str, Any] = {
            "type": "http",
            "method": "GET",
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "headers": headers,
            "http_version": "1.1",
            "scheme": "http",
            "root_path": "",
            "client": None,
            "server": None,
            "state": {},
        }
        await app(scope, receive, send)
    taken = time.perf_counter() - started
    assert set(statuses) == {200}, statuses
    return taken / _REQUESTS * 1e6
