"""The bytes of bodies belong to callers, from before a body is read until its request has ended."""

import asyncio
import gzip
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
from litestar import Request

from api.answers.bodies import MAX_BODY_BYTES, read_body
from api.callers.client_address import client_addresses
from api.callers.limits import Places
from api.callers.permissions import Principal
from api.edge.request_log import RequestRecorder
from api.errors import ClientLeft, TooLarge, TooManyRequests
from api.pages.frame.routing import TOKEN_FIELD
from api.telemetry.logs import AccessLog, LogWriter
from api.telemetry.metrics import Metrics
from api.telemetry.shared_counts import SharedCounts
from tests.api.conftest import Client, running, token
from tests.api.pages.conftest import HTML, OWN, Browser

PATIENCE = 60
MOST, MOST_TOGETHER = 60, 100
WHOLE = {"type": "http.request", "body": b"x" * 40, "more_body": False}
LEFT = {"type": "http.disconnect"}
Works = Callable[[bytes], Awaitable[None]]


class Requests:
    """Requests whose bodies come when a test says so, inside an edge."""

    def __init__(self) -> None:
        access_log = AccessLog(LogWriter(2, lambda: None), wanted=False)
        metrics, self.places = Metrics(SharedCounts.made(1)), Places(MOST_TOGETHER, "bytes")
        self._edge = RequestRecorder(
            metrics, access_log, lambda scope: None, self.places, client_addresses(())
        )

    def start(
        self,
        received: "asyncio.Future[Any]",
        *,
        caller: str | None = "ann",
        work: Works | None = None,
        **headers: str,
    ) -> "asyncio.Task[None]":
        """A request with a body of up to `MOST` bytes; `work` is done once all of it is read."""
        scope: Any = {
            "type": "http",
            "method": "PUT",
            "path": "/",
            "headers": [
                (name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()
            ],
        }
        if caller is not None:
            scope["user"] = Principal(caller, ())

        async def receive() -> Any:
            return await received

        async def send(_: Any) -> None:
            raise AssertionError

        async def app(scope: Any, receive: Any, send: Any) -> None:
            body = await read_body(Request(scope, receive, send), MOST)
            if work is not None:
                await work(body)

        return asyncio.create_task(self._edge(scope, receive, send, app))

    def left(self, caller: str = "ann") -> int:
        """The bytes that a caller may still have."""
        for size in range(MOST_TOGETHER, -1, -1):
            try:
                with self.places.held(caller, size):
                    return size
            except TooManyRequests:
                pass
        raise AssertionError


async def begun() -> None:
    """Let what was started come to where it waits."""
    await asyncio.sleep(0)


def future() -> "asyncio.Future[Any]":
    return asyncio.get_running_loop().create_future()


@pytest.mark.parametrize(
    ("headers", "size"),
    [
        ({"content_length": "40"}, 40),
        ({"transfer_encoding": "chunked"}, MOST),
        ({"content_length": "0"}, 0),
        ({}, 0),
    ],
)
def test_bytes_are_taken_before_a_body_is_read(headers: dict[str, str], size: int) -> None:
    async def test() -> None:
        requests, received = Requests(), future()
        request = requests.start(received, **headers)
        await begun()
        assert requests.left() == MOST_TOGETHER - size
        received.set_result({**WHOLE, "body": b"x" * min(size, 40)})
        await request
        assert requests.left() == MOST_TOGETHER

    asyncio.run(asyncio.wait_for(test(), PATIENCE))


@pytest.mark.parametrize(("first", "second"), [("ann", "bo"), (None, "ann"), ("ann", None)])
def test_bodies_that_are_still_coming_are_bounded_for_each_caller(
    first: str | None, second: str | None
) -> None:
    async def test() -> None:
        requests, never = Requests(), future()
        unfinished = [requests.start(never, caller=first, content_length="50") for _ in range(2)]
        await begun()
        with pytest.raises(TooManyRequests, match="you have 100 bytes under way"):
            await requests.start(never, caller=first, content_length="1")
        whole = future()
        whole.set_result(WHOLE)
        await requests.start(whole, caller=second, content_length="40")
        # No bytes are no bytes too many.
        empty = future()
        empty.set_result({**WHOLE, "body": b""})
        await requests.start(empty, caller=first)
        for each in unfinished:
            each.cancel()
        await asyncio.wait(unfinished)

    asyncio.run(asyncio.wait_for(test(), PATIENCE))


async def _fails(_: bytes) -> None:
    raise ZeroDivisionError


@pytest.mark.parametrize(
    ("message", "work", "error"),
    [
        (WHOLE, None, None),
        (WHOLE, _fails, ZeroDivisionError),
        (LEFT, None, ClientLeft),
        ({**WHOLE, "body": b"x" * 51}, None, TooLarge),
        (None, None, asyncio.CancelledError),
    ],
)
def test_bytes_are_given_back_however_the_request_ends(
    message: Any, work: Works | None, error: type[BaseException] | None
) -> None:
    async def test() -> None:
        requests, received = Requests(), future()
        request = requests.start(received, work=work, content_length="50")
        await begun()
        assert requests.left() == 50
        if message is None:
            request.cancel()
        else:
            received.set_result(message)
        (ended,) = await asyncio.gather(request, return_exceptions=True)
        assert type(ended) is (error or type(None))
        assert requests.left() == MOST_TOGETHER

    asyncio.run(asyncio.wait_for(test(), PATIENCE))


def test_body_keeps_its_own_bytes_until_its_request_has_ended() -> None:
    async def test() -> None:
        requests, received, done = Requests(), future(), future()
        request = requests.start(received, work=lambda _: done, transfer_encoding="chunked")
        await begun()
        received.set_result(WHOLE)
        await begun()
        await begun()
        # It is all there, and 40 bytes long.
        assert requests.left() == MOST_TOGETHER - 40
        done.set_result(None)
        await request
        assert requests.left() == MOST_TOGETHER

    asyncio.run(asyncio.wait_for(test(), PATIENCE))


def test_body_above_what_is_allowed_takes_nothing() -> None:
    async def test() -> None:
        requests = Requests()
        with pytest.raises(TooLarge):
            await requests.start(future(), content_length=str(MOST + 1))
        assert requests.left() == MOST_TOGETHER

    asyncio.run(asyncio.wait_for(test(), PATIENCE))


ID = "018f0000-0000-7000-8000-000000000000"
READS = [
    ("POST", "/v1/tables"),
    ("PUT", "/v1/tables"),
    ("PATCH", f"/v1/tables/{ID}"),
    ("PUT", "/v1/tables/bulk"),
    ("PUT", "/v1/tables/restore"),
    ("DELETE", "/v1/tables/deleteStale"),
    ("PUT", f"/v1/tables/{ID}/tableProfile"),
    ("PUT", f"/v1/tables/{ID}/sampleData"),
    ("PUT", f"/v1/tables/{ID}/joins"),
    ("PUT", f"/v1/usage/table/{ID}"),
    ("PUT", "/v1/lineage"),
    ("PUT", "/v1/dataQuality/testCases/logicalTestCases"),
    ("POST", "/v1/search/aggregate"),
]


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """An application in which the administrator and those who are not signed in have no bytes."""
    with running(tmp_path_factory.mktemp("full")) as client:
        app: Any = client.http.app
        for caller in ("the-admin", ""):
            app.edge.bodies.take(caller, MAX_BODY_BYTES)
        yield client


@pytest.mark.parametrize(("method", "path"), READS)
def test_every_route_takes_the_bytes_of_its_body(full: Client, method: str, path: str) -> None:
    answered, body = full.ask(method, path, json=[])
    assert (answered, body["errorType"]) == (429, "LIMITS_EXCEPTION")
    assert body["message"] == f"you have {MAX_BODY_BYTES} bytes of bodies under way: wait for some"
    assert full.ask(method, path, json=[], role="editor")[0] != 429


def test_forms_take_the_bytes_of_their_bodies(full: Client) -> None:
    nobody = full.http.post("/sign-in", data={"token": token("admin")}, headers={**HTML, **OWN})
    assert nobody.status_code == 429
    places: Any = full.http.app
    places.edge.bodies.give_back("", MAX_BODY_BYTES)
    admin, editor = Browser(full, "admin"), Browser(full, "editor")
    assert admin.post("/sign-out", {TOKEN_FIELD: "x"}).status_code == 429
    assert editor.post("/sign-out", {TOKEN_FIELD: "x"}).status_code == 403


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/v1/tables"),
        ("PUT", "/v1/tables"),
        ("PATCH", "/v1/tables/018f0000-0000-7000-8000-000000000000"),
        ("PUT", "/v1/tables/bulk"),
        ("PUT", "/v1/lineage"),
        ("POST", "/v1/search/aggregate"),
        ("POST", "/mcp"),
    ],
)
@pytest.mark.parametrize("encoding", ["gzip", "br", "gzip, gzip"])
def test_packed_body_is_refused_where_nobody_unpacks_it(
    empty: Client, method: str, path: str, encoding: str
) -> None:
    headers = {"Content-Type": "application/json", "Content-Encoding": encoding}
    response = empty.request(method, path, content=gzip.compress(b"{}"), headers=headers)

    assert response.status_code == 415, response.text
    assert f"Content-Encoding must be identity, got '{encoding}'" in response.text


def test_body_that_is_said_to_be_as_it_is_is_taken(empty: Client) -> None:
    body = {"name": "words", "description": "Words"}
    headers = {"Content-Encoding": "Identity"}
    assert empty.request("PUT", "/v1/glossaries", json=body, headers=headers).status_code == 201
