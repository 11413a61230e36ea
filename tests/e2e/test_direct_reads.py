"""Reads that a connection answers itself: in order, within bounds, and as through a task."""

import json
import re
import socket
from collections.abc import Iterator
from itertools import accumulate, pairwise
from pathlib import Path
from random import Random

import pytest

from api.callers.tokens.minting import find_minter, mint
from api.settings import read_settings
from tests.e2e.raw_server import Serving, answer, serving

_LENGTH = re.compile(rb"content-length: (\d+)\r\n")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with serving(tmp_path_factory.mktemp("direct")) as started:
        for number in range(30):
            name = f"g{number:02}"
            head = started.head("POST", "/v1/glossaries", Content_Length=len(body(name)))
            assert started.ask(head + body(name))[0] == 201
        yield started


def body(name: str) -> bytes:
    return b'{"name":"%b","description":"%b"}' % (name.encode(), name.encode() * 100)


def answers(connection: socket.socket, count: int) -> list[tuple[bytes, bytes]]:
    """Status line and body of so many answers, which come one after the other."""
    received, taken = b"", []
    while len(taken) < count:
        head, separator, rest = received.partition(b"\r\n\r\n")
        length = int(_LENGTH.search(head + b"\r\n")[1]) if separator else 0  # type: ignore[index]
        if separator and len(rest) >= length:
            taken.append((head.partition(b"\r\n")[0], rest[:length]))
            received = rest[length:]
        else:
            part = connection.recv(65_536)
            assert part, received
            received += part
    assert received == b""
    return taken


def test_requests_that_come_together_are_answered_in_order(server: Serving) -> None:
    paths = [f"/v1/glossaries/name/g{number:02}" for number in range(12)]
    requests = [server.head("GET", path) for path in paths]
    requests[3:3] = [server.head("GET", "/v1/glossaries?limit=500")]
    requests[7:7] = [server.head("GET", "/v1/nothing")]
    apart = [server.ask(request)[2] for request in requests]
    with server.connect() as connection:
        connection.sendall(b"".join(requests))
        together = answers(connection, len(requests))

    assert [status[9:12] for status, _ in together].count(b"404") == 1
    for (_, got), alone in zip(together, apart, strict=True):
        if b"requestId" not in got:
            assert json.loads(got) == alone


def test_kept_connection_is_answered_again_and_again(server: Serving) -> None:
    request = server.head("GET", "/v1/glossaries?limit=3")
    with server.connect() as connection:
        texts = set()
        for _ in range(200):
            connection.sendall(request)
            texts.add(answers(connection, 1)[0])

    assert len(texts) == 1


def test_connection_answers_below_both_base_paths(server: Serving) -> None:
    paths = ["/glossaries?limit=3", "/glossaries/name/g01", "/glossaries?limit=500"]
    requests = [server.head("GET", f"{base}/v1{path}") for path in paths for base in ("", "/api")]
    with server.connect() as connection:
        texts = []
        for request in [*requests, *requests]:
            connection.sendall(request)
            texts.append(answers(connection, 1)[0])

    assert {status for status, _ in texts} == {b"HTTP/1.1 200 OK"}
    assert texts[0::2] == texts[1::2]
    assert texts[:6] == texts[6:]


def test_request_that_is_known_by_its_bytes_keeps_its_base_path(server: Serving) -> None:
    for path, body in (
        ("/v1/services/databaseServices", {"name": "s", "serviceType": "Mysql"}),
        ("/v1/databases", {"name": "d", "service": "s"}),
        ("/v1/databaseSchemas", {"name": "s", "database": "s.d"}),
        ("/v1/tables", {"name": "t", "databaseSchema": "s.d.s", "columns": []}),
    ):
        text = json.dumps(body).encode()
        head = server.head("PUT", path, Content_Length=len(text))
        assert server.ask(head + text)[0] in (200, 201)
    with server.connect() as connection:
        for _ in range(3):
            for base, shown in (("", False), ("/api", True)):
                connection.sendall(server.head("GET", f"{base}/v1/tables?limit=1"))
                ((_, text),) = answers(connection, 1)
                assert ("columns" in json.loads(text)["data"][0]) is shown


@pytest.mark.parametrize("seed", range(6))
def test_requests_are_answered_in_order_however_they_are_cut(server: Serving, seed: int) -> None:
    random = Random(seed)
    paths = ["/v1/glossaries?limit=3", "/v1/glossaries/name/g01", "/v1/nothing", "/v1/users"]
    requests = [server.head("GET", path) for path in paths]
    requests.append(server.head("PUT", "/v1/glossaries", Content_Length=2) + b"{}")
    apart = [[server.ask(request)[::2] for _ in range(2)][1] for request in requests]
    wanted = random.choices(range(len(requests)), k=40)
    sent = b"".join(requests[number] for number in wanted)
    # Often at the end of a request, so that many come alone and are known by their bytes.
    ends = list(accumulate(len(requests[number]) for number in wanted))
    cuts = sorted({*random.sample(ends, 30), *random.sample(range(len(sent)), 10), len(sent)})
    together: list[tuple[bytes, bytes]] = []
    with server.connect() as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for start, end in pairwise([0, *cuts]):
            connection.sendall(sent[start:end])
            if end in ends and random.random() < 0.5:
                # So that what follows comes alone.
                together += answers(connection, ends.index(end) + 1 - len(together))
        together += answers(connection, len(wanted) - len(together))

    got = [(int(status[9:12]), json.loads(text)) for status, text in together]
    for _, text in (*got, *apart):
        text.pop("requestId", None)
    assert got == [apart[number] for number in wanted], f"{seed=}"


def test_repeated_request_that_needs_its_route_is_counted_once(tmp_path: Path) -> None:
    limits = {"CATALOG_RATE_LIMIT": "0.001", "CATALOG_RATE_BURST": "10"}
    with serving(tmp_path, **limits) as started:
        # The usual caller has asked already whether the server is ready.
        started.token = mint(
            find_minter(read_settings({}, data=str(tmp_path))), "bo", ["admin"], 60
        )
        head = started.head("POST", "/v1/glossaries", Content_Length=len(body("g")))
        made = started.ask(head + body("g"))[2]
        again = started.head("GET", "/v1/glossaries/name/g")
        known = [started.ask(again)[0] for _ in range(2)]
        gone = started.ask(started.head("DELETE", f"/v1/glossaries/{made['id']}"))[0]
        missing = [started.ask(again)[0] for _ in range(7)]

    assert (known, gone) == ([200] * 2, 200)
    assert missing == [404] * 6 + [429]


def test_request_may_come_byte_by_byte(server: Serving) -> None:
    request = server.head("GET", "/v1/glossaries?limit=1")
    with server.connect() as connection:
        for place in range(len(request)):
            connection.sendall(request[place : place + 1])
        status, _, page = answer(connection)

    assert (status, len(page["data"])) == (200, 1)


@pytest.mark.parametrize(
    "head",
    [
        {"Connection": "close"},
        {"Content_Length": "0"},
        {"Transfer_Encoding": "chunked"},
        {"Expect": "100-continue"},
        {"Upgrade": "websocket", "Connection": "upgrade"},
    ],
)
def test_request_of_another_form_is_answered_too(server: Serving, head: dict[str, str]) -> None:
    request = server.head("GET", "/v1/glossaries?limit=1", **head)
    if "Transfer_Encoding" in head:
        request += b"0\r\n\r\n"
    plain = server.ask(server.head("GET", "/v1/glossaries?limit=1"))
    status, _, page = server.ask(request)

    assert (status, page) == (200, plain[2])


def test_old_version_of_http_ends_the_connection(server: Serving) -> None:
    request = server.head("GET", "/v1/glossaries?limit=1").replace(b"HTTP/1.1", b"HTTP/1.0")
    with server.connect() as connection:
        connection.sendall(request)
        status, headers, page = answer(connection)
        assert connection.recv(1) == b""

    assert (status, headers["connection"], len(page["data"])) == (200, "close", 1)


def test_stream_in_an_old_version_of_http_has_no_chunks(server: Serving) -> None:
    asked = server.head("GET", "/v1/audit/events", Accept="application/x-ndjson")
    bodies = []
    for request in (asked, asked.replace(b"HTTP/1.1", b"HTTP/1.0")):
        received = b""
        with server.connect() as connection:
            connection.sendall(request)
            if request == asked:
                while not received.endswith(b"0\r\n\r\n"):
                    received += connection.recv(65_536)
            else:
                while part := connection.recv(65_536):
                    received += part
        head, _, body = received.partition(b"\r\n\r\n")
        bodies.append(body)
    assert (b"transfer-encoding" in head, b"connection: close" in head) == (False, True)
    lines = [json.loads(line) for line in bodies[1].splitlines()]
    assert len(lines) > 30
    assert "paging" in lines[-1]
    assert bodies[0].endswith(b"\r\n0\r\n\r\n")
    assert len(bodies[0]) > len(bodies[1])


def test_head_and_headers_are_those_of_a_task(server: Serving) -> None:
    path = "/v1/glossaries/name/g00"
    _, direct, _ = server.ask(server.head("GET", path))
    _, tasked, _ = server.ask(server.head("GET", path, Content_Length=0))

    assert direct.keys() == tasked.keys()
    different = {"date", "x-request-id"}
    assert {k: v for k, v in direct.items() if k not in different} == {
        k: v for k, v in tasked.items() if k not in different
    }


def test_client_that_does_not_read_is_not_answered_without_end(server: Serving) -> None:
    """Answers that wait for a client are bounded: later requests are not read until it reads on."""
    request = server.head("GET", "/v1/glossaries?limit=30")
    before = server.memory()
    sent = 0
    with server.connect() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        connection.settimeout(0.5)
        try:
            while sent < 64_000_000:
                sent += connection.send(request * 100)
        except (TimeoutError, ConnectionResetError, BrokenPipeError):
            pass
        grown = server.memory() - before

    assert sent < 64_000_000
    assert grown < 32_000_000
    assert server.served() < 5


def test_connections_that_end_after_a_direct_read_leave_nothing(tmp_path: Path) -> None:
    with serving(tmp_path) as started:
        request = started.head("GET", "/v1/users?limit=7")
        for round_number in range(4):
            if round_number == 1:
                before = started.memory()
            for _ in range(500):
                assert started.ask(request)[0] == 200
        grown = started.memory() - before
        started.process.terminate()
        started.process.wait(20)
        lines = started.lines()

    assert [line for line in lines if line.get("level") not in ("info", None)] == []
    assert grown < 5_000_000


def test_access_log_has_a_line_for_each_direct_read(tmp_path: Path) -> None:
    with serving(tmp_path, CATALOG_ACCESS_LOG="true") as started:
        for _ in range(5):
            assert started.ask(started.head("GET", "/v1/users?limit=7"))[0] == 200
        started.process.terminate()
        started.process.wait(20)
        lines = [line for line in started.lines() if line.get("route") == "/v1/users"]

    assert [line["status"] for line in lines] == [200] * 5
    assert len({line["request_id"] for line in lines}) == 5
    assert all(line["caller"] and line["bytes"] > 0 for line in lines)
