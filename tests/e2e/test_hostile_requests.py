"""The hostile tests 12 and 29 on what a client may do within connections and requests."""

import re
import socket
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from typing import Any

import pytest

from api.edge.connections import MAX_PIPELINED
from tests.e2e.raw_server import Serving, answer, refusal, serving
from tests.waiting import until

FEW = 30
PATIENCE = 20.0


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    limits = {"CATALOG_MAX_CONNECTIONS": str(FEW), "CATALOG_RECEIVE_TIMEOUT": str(PATIENCE)}
    with serving(tmp_path_factory.mktemp("server"), **limits) as started:
        yield started


def everything(connection: socket.socket) -> bytes:
    """Return all bytes that come until the server closes."""
    received = b""
    with suppress(ConnectionResetError):
        while part := connection.recv(65_536):
            received += part
    return received


def test_hostile_29_few_pipelined_requests_are_answered_in_order(server: Serving) -> None:
    last = MAX_PIPELINED
    asked = [server.head("GET", "/v1/tables", X_Request_Id=f"r{number}") for number in range(last)]
    with server.connect() as connection:
        connection.sendall(b"".join(asked))
        received = b""
        while received.count(b"HTTP/1.1 200 OK") < last:
            received += connection.recv(65_536)
        connection.sendall(
            server.head("GET", "/v1/tables", X_Request_Id=f"r{last}", Connection="close")
        )
        received += everything(connection)
    assert received.count(b"HTTP/1.1 200 OK") == last + 1
    assert re.findall(r"x-request-id: (r\d+)", received.decode()) == [
        f"r{n}" for n in range(last + 1)
    ]


def test_hostile_29_many_pipelined_requests_end_the_connection(server: Serving) -> None:
    before = server.memory()
    block = b"GET /healthz HTTP/1.1\r\n\r\n" * 20_000
    with server.connect() as connection:
        connection.settimeout(1)
        with suppress(OSError):
            for _ in range(50):
                connection.sendall(block)
                assert server.served() < PATIENCE / 2
        received = everything(connection)
    assert received.count(b"HTTP/1.1 200") <= 2 * MAX_PIPELINED
    assert server.memory() - before < 32_000_000


def test_hostile_29_mistake_is_answered_after_what_was_asked_before(server: Serving) -> None:
    post = b"POST /v1/tables HTTP/1.1\r\nHost: x\r\n"
    mistakes = (
        post + b"Transfer-Encoding: chunked\r\n\r\nZZ\r\n",
        post + b"Content-Length: 99999999\r\n\r\n",
        b"GET /v1/tables HTTP/1.1\r\nBad Header: x\r\n\r\n",
    )
    for number, second in enumerate(mistakes):
        # Asked for the first time, so that a task answers it.
        path = f"/v1/search/query?q=orders{number}"
        first = server.head("GET", path, X_Request_Id="first")
        with server.connect() as connection:
            connection.sendall(first + second)
            status, headers, _ = answer(connection)
            assert (status, headers["x-request-id"]) == (200, "first")
            assert everything(connection) == b""
        # What is answered at once is answered before the mistake is met, which is told then.
        with server.connect() as connection:
            connection.sendall(first + second)
            head, *rest = everything(connection).split(b"HTTP/1.1 ")[1:]
            assert head.startswith(b"200 ")
            assert [each[:3] for each in rest] in ([b"400"], [b"413"])


STUCK = [
    b"GET / HTTP/1.1\r\n",
    b"POST /v1/tables HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n",
    b"GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n",
    b"POST /v1/tables HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n",
    b"GET /docs/openapi.json HTTP/1.1\r\nHost: x\r\n\r\n" * MAX_PIPELINED,
]


@pytest.mark.parametrize("authorized", [False, True])
@pytest.mark.parametrize("stuck", STUCK)
def test_hostile_29_clients_that_do_not_go_on_lock_nobody_out(
    server: Serving, stuck: bytes, authorized: bool
) -> None:
    if authorized:
        line = b"HTTP/1.1\r\nAuthorization: Bearer %b\r\n" % server.token.encode()
        stuck = stuck.replace(b"HTTP/1.1\r\n", line)
    # The first request for the document has it made, which takes longer than the attack may.
    assert server.ask(server.head("GET", "/docs/openapi.json"))[0] == 200
    with ExitStack() as attack:
        for _ in range(FEW + 5):
            connection = attack.enter_context(socket.socket())
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            connection.connect(("127.0.0.1", server.port))
            connection.sendall(stuck)
        # Those that are still being answered make no room until their client has stopped reading.
        asking = server.head("GET", "/v1/tables")
        until(lambda: server.ask(asking)[0] != 503, seconds=PATIENCE / 2)
        for _ in range(5):
            assert server.served() < PATIENCE / 2


def test_hostile_12_authorization_in_a_trailer_does_not_count(server: Serving) -> None:
    body = b'{"name": "trailed", "description": "x"}'
    head = b"POST /v1/glossaries HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    trailer = b"Authorization: Bearer %b\r\nX-Request-Id: mine\r\n\r\n" % server.token.encode()
    status, headers, _ = server.ask(head + b"%x\r\n%b\r\n0\r\n" % (len(body), body) + trailer)

    assert status == 401
    assert headers["x-request-id"] != "mine"


@pytest.mark.parametrize("protocol", ["h2c", "websocket", "anything"])
def test_upgrade_is_not_made_and_the_request_answered(server: Serving, protocol: str) -> None:
    asking: dict[str, Any] = {"Connection": "Upgrade", "Upgrade": protocol}
    with server.connect() as connection:
        connection.sendall(server.head("GET", "/v1/tables?limit=1", **asking))
        status, headers, _ = answer(connection)
        assert (status, headers["connection"]) == (200, "close")
        assert everything(connection) == b""
    given = server.ask(server.head("POST", "/v1/tables", Content_Length=2, **asking) + b"{}")
    assert refusal(given) == (400, "BAD_REQUEST")
