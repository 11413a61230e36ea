"""Rules for every request: its id, its methods, its media type, and the callers' limits."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from api.answers.bodies import has_left
from api.callers.client_address import client_addresses
from api.callers.limits import Places
from api.edge.connections import BoundedProtocol, bounded
from api.edge.request_log import RequestRecorder, request_id_of
from api.processes.server import bind
from api.telemetry.logs import AccessLog, LogWriter
from api.telemetry.metrics import Metrics
from api.telemetry.shared_counts import SharedCounts
from tests.api.conftest import Client, running


@pytest.mark.parametrize("given", ["abc-1", "A" * 128, "trace:00/01=x@y.z_+"])
def test_clean_request_id_is_taken_over(given: str) -> None:
    assert request_id_of([(b"host", b"x"), (b"x-request-id", given.encode())]) == given


@pytest.mark.parametrize("given", [b"", b"a" * 129, b"a b", b'"', b"\xff", b"a\tb", b"<x>"])
def test_unclean_request_id_is_replaced(given: bytes) -> None:
    made = request_id_of([(b"x-request-id", given)])

    assert made.encode() != given
    assert made != request_id_of([])


def test_request_id_is_in_header_body_and_event(client: Client) -> None:
    headers = {"X-Request-Id": "mine-1"}
    wrong = client.request("GET", "/nowhere", headers=headers)
    assert (wrong.headers["X-Request-Id"], wrong.json()["requestId"]) == ("mine-1", "mine-1")

    body = {"name": "g", "description": "x"}
    made = client.request("POST", "/v1/glossaries", headers=headers, json=body)
    assert made.headers["X-Request-Id"] == "mine-1"
    other = client.request("GET", "/v1/glossaries").headers["X-Request-Id"]
    assert other != client.request("GET", "/v1/glossaries").headers["X-Request-Id"]


@pytest.mark.parametrize(
    "path", ["/v1/tables", "/v1/dataContracts?limit=5000", "/v1/search/query?q=x", "/healthz"]
)
def test_head_is_get_without_a_body(empty: Client, path: str) -> None:
    got, head = (empty.request(method, path) for method in ("GET", "HEAD"))

    assert (head.status_code, head.content) == (got.status_code, b"")
    assert head.headers["Content-Type"] == got.headers["Content-Type"]
    if "limit" not in path and "search" not in path:
        assert head.headers["Content-Length"] == got.headers["Content-Length"]
    assert empty.http.head("/v1/tables").status_code == 401


@pytest.mark.parametrize(
    ("path", "methods"),
    [
        ("/v1/tables", "GET, HEAD, OPTIONS, POST, PUT"),
        ("/v1/tables/x", "DELETE, GET, HEAD, OPTIONS, PATCH"),
        ("/v1/tables/restore", "DELETE, GET, HEAD, OPTIONS, PATCH, PUT"),
        ("/healthz", "GET, HEAD, OPTIONS"),
        ("/", "GET, HEAD, OPTIONS"),
        ("/browse/table", "GET, HEAD, OPTIONS"),
    ],
)
def test_options_names_every_method(empty: Client, path: str, methods: str) -> None:
    response = empty.request("OPTIONS", path, role="nobody")

    assert response.status_code == 204
    assert empty.http.options(path).status_code == 401
    assert set(response.headers["Allow"].split(", ")) <= set(methods.split(", "))
    for method in response.headers["Allow"].split(", "):
        assert empty.http.request(method, path).status_code != 405


@pytest.mark.parametrize(
    ("method", "given", "status"),
    [
        ("POST", "application/json", 400),
        ("POST", "Application/JSON; charset=UTF-8", 400),
        ("POST", None, 400),
        ("POST", "application/json; charset=latin-1", 415),
        ("POST", "application/json-patch+json", 415),
        ("POST", "text/plain", 415),
        ("PUT", "application/x-www-form-urlencoded", 415),
        ("PATCH", "application/json-patch+json", 400),
        ("PATCH", "application/json", 400),
        ("PATCH", "application/merge-patch+json", 415),
    ],
)
def test_media_type_of_a_write_is_checked(
    empty: Client, method: str, given: str | None, status: int
) -> None:
    path = "/v1/tables" + "/018f0000-0000-7000-8000-000000000000" * (method == "PATCH")
    headers = {} if given is None else {"Content-Type": given}
    answered, body = empty.ask(method, path, headers=headers, content=b"{")

    assert answered == status, body
    if status == 415:
        assert body["errorType"] == "UNSUPPORTED_MEDIA_TYPE"
        assert "application/json" in body["message"]


def test_caller_over_its_rate_is_429(tmp_path: Path) -> None:
    with running(tmp_path, rate_limit=0.001, rate_burst=2) as client:
        for _ in range(2):
            assert client.ask("GET", "/v1/tables", role="reader")[0] == 200
        response = client.request("GET", "/v1/tables?limit=bad", role="reader")
        body = response.json()

        assert (response.status_code, body["code"], body["errorType"]) == (
            429,
            429,
            "LIMITS_EXCEPTION",
        )
        assert int(response.headers["Retry-After"]) >= 999
        assert client.ask("GET", "/v1/tables", role="admin")[0] == 200
        assert client.http.get("/healthz").status_code == 200


def test_client_that_has_left_is_noticed() -> None:
    stays: list[bool] = []
    begun, left = asyncio.Event(), asyncio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["path"] == "/stays":
            for _ in range(5):
                stays.append(await has_left(receive))
                await asyncio.sleep(0)
        else:
            begun.set()
            while not await has_left(receive):
                await asyncio.sleep(0)
            left.set()
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body"})

    async def leave(port: int) -> None:
        for path in (b"/stays", b"/leaves"):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"GET %b HTTP/1.1\r\nHost: x\r\n\r\n" % path)
            if path == b"/stays":
                assert (await reader.readline()).startswith(b"HTTP/1.1 204")
            else:
                await begun.wait()
            writer.close()
        await left.wait()

    async def serve() -> None:
        access_log = AccessLog(LogWriter(2, lambda: None), wanted=False)
        metrics, bodies = Metrics(SharedCounts.made(1)), Places(0, "bytes")
        edge = RequestRecorder(
            metrics, access_log, lambda scope: None, bodies, client_addresses(())
        )
        protocol = bounded(BoundedProtocol, edge, 10, 5.0)
        config = uvicorn.Config(app, http=protocol, lifespan="off", log_config=None, ws="none")
        server = uvicorn.Server(config)
        with bind("127.0.0.1", 0) as listener:
            serving = asyncio.create_task(server.serve([listener]))
            await asyncio.wait_for(leave(listener.getsockname()[1]), 30)
            server.should_exit = True
            await serving

    asyncio.run(serve())
    assert stays == [False] * 5
