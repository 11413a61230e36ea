"""The hostile tests 26 and 29 on a real socket, and what the access log says of it all."""

import json
import resource
import socket
import struct
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from api.callers.tokens.minting import find_minter, mint
from api.services import MAX_STREAMS, UNSENT_BYTES
from api.settings import read_settings
from domain.event_store.opening import open_event_log
from tests.depth import first_alone
from tests.e2e.conftest import catalog
from tests.e2e.raw_server import CONNECTIONS, Serving, answer, refusal, serving
from tests.waiting import until

MANY = first_alone(2_000, 10_000)
"""Connections of clients that ask nothing more."""
PATIENCE = 60.0
"""Seconds that a client waits for what must come, also on a machine that is busy."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with serving(tmp_path_factory.mktemp("server")) as started:
        yield started


def test_hostile_29_long_address_is_414(server: Serving) -> None:
    for size in (16_400, 65_536, 1_000_000):
        given = server.ask(server.head("GET", "/v1/tables?after=" + "a" * size))
        assert refusal(given) == (414, "URI_TOO_LONG")
    status, _, body = server.ask(server.head("GET", "/v1/tables?after=" + "a" * 16_000))
    assert (status, body["errorType"]) == (400, "BAD_REQUEST")


def test_hostile_29_many_or_large_headers_are_431(server: Serving) -> None:
    many = {f"x_{number}": "y" for number in range(200)}
    for headers in (many, {"x_large": "y" * 40_000}, {"x_huge": "y" * 5_000_000}):
        given = server.ask(server.head("GET", "/v1/tables", **headers))
        assert refusal(given) == (431, "HEADERS_TOO_LARGE")


@pytest.mark.parametrize(
    ("method", "path", "length"),
    [
        ("GET", "/v1/tables", 100_000_000),
        ("DELETE", "/v1/tables/x", 1_000_000),
        ("DELETE", "/v1/tables/x?y=/deleteStale", 1_000_000),
        ("DELETE", "/v1/tables/deleteStale", 100_000_000),
        ("POST", "/v1/tables", 100_000_000),
        ("PUT", "/nowhere", 100_000_000),
    ],
)
def test_hostile_29_large_body_is_413_and_not_read(
    server: Serving, method: str, path: str, length: int
) -> None:
    before = server.memory()
    announced = server.head(method, path, Content_Length=length)
    assert refusal(server.ask(announced)) == (413, "PAYLOAD_TOO_LARGE")

    chunk = b"100000\r\n" + b"x" * 0x100000 + b"\r\n"
    unannounced = server.head(method, path, Transfer_Encoding="chunked") + chunk * 30
    status, _, _ = server.ask(unannounced)
    # Who does not wait for the body may have answered by then.
    early = {"GET": 200, "DELETE": 400}.get(method, 404 if path == "/nowhere" else 413)
    assert status in (413, early)
    assert server.memory() - before < 64_000_000


def test_bodies_that_never_end_take_bounded_memory(server: Serving) -> None:
    def put(length: int) -> bytes:
        return server.head("PUT", "/v1/tables", Content_Length=length, Connection="close")

    before, part = server.memory(), b"x" * 8_999_999
    with ExitStack() as unfinished:
        for _ in range(14):
            connection = unfinished.enter_context(server.connect())
            with suppress(BrokenPipeError, ConnectionResetError):
                connection.sendall(put(len(part) + 1) + part)
        status, headers, body = server.ask(put(9_000_000))
        assert (status, body["errorType"]) == (429, "LIMITS_EXCEPTION")
        assert headers["retry-after"] == "1"
        assert server.memory() - before < 120_000_000
        server.served()
    # All have left, which gives their bytes back.
    until(lambda: server.ask(put(len(part)) + part)[0] == 400)


def test_clients_that_break_off_a_pipeline_leave_nothing_in_the_log(server: Serving) -> None:
    requests = [server.head("GET", f"/v1/search/query?q=a&size={size}") for size in range(1, 7)]
    for number in range(20):
        with server.connect() as connection:
            connection.sendall(b"".join(requests))
            time.sleep(0.002 * (number % 6))
            # It is reset, without a goodbye.
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    server.served()
    assert "handler is closed" not in server.log.read_text()


@pytest.mark.parametrize(
    "garbage",
    [b"\x16\x03\x01\x02\x00\x01", b"GET / HTTP/9\r\n\r\n", b"GET http://[ HTTP/1.1\r\n\r\n"],
)
def test_hostile_29_what_is_no_http_is_400(server: Serving, garbage: bytes) -> None:
    assert refusal(server.ask(garbage + b"\r\n\r\n")) == (400, "BAD_REQUEST")


def test_hostile_29_slow_head_and_slow_body_are_408(server: Serving) -> None:
    head = server.head("POST", "/v1/tables", Content_Length=100)
    slow = [
        (b"GET /v1/tables HT", b"TP/1.1\r\nx"),
        (head[:-2], b"x-b: y"),
        (head + b'{"name":', b" "),
    ]
    with ExitStack() as waiting:
        connections = [waiting.enter_context(server.connect()) for _ in slow]
        for connection, (part, _) in zip(connections, slow, strict=True):
            connection.sendall(part)
        server.served()
        time.sleep(0.1)
        for connection, (_, drip) in zip(connections, slow, strict=True):
            connection.sendall(drip)
        for connection in connections:
            connection.settimeout(PATIENCE)
            status, _, body = answer(connection)
            assert (status, body["code"]) == (408, 408)


def test_hostile_29_connection_that_asks_nothing_is_closed(server: Serving) -> None:
    with server.connect() as connection:
        connection.settimeout(PATIENCE)
        assert connection.recv(1) == b""


def test_connection_that_sends_empty_lines_after_an_answer_is_closed(server: Serving) -> None:
    """The second request has a head that the server knows already."""
    with server.connect() as connection:
        connection.settimeout(PATIENCE)
        for _ in range(2):
            connection.sendall(server.head("GET", "/v1/tables?limit=1"))
            assert answer(connection)[0] == 200
            connection.sendall(b"\r\n")
        assert connection.recv(1) == b""


@pytest.mark.skipif(
    resource.getrlimit(resource.RLIMIT_NOFILE)[1] < 20_000, reason="so many files are forbidden"
)
@pytest.mark.parametrize("are_allowed", [False, True])
@pytest.mark.parametrize("many", MANY)
def test_hostile_29_ten_thousand_idle_connections_hold_nobody_up(
    tmp_path: Path, many: int, are_allowed: bool
) -> None:
    allowed = many + 100 if are_allowed else CONNECTIONS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 20_000), hard))
    limits = {"CATALOG_MAX_CONNECTIONS": str(allowed), "CATALOG_RECEIVE_TIMEOUT": "60"}
    with serving(tmp_path, **limits) as server, ExitStack() as idle:
        idle.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        before = server.memory()
        request = server.head("GET", "/healthz")
        for number in range(many):
            connection = idle.enter_context(server.connect())
            if number % 2:
                connection.sendall(request)
                assert answer(connection)[0] == 200
            elif number % 10 == 0:
                connection.sendall(b"GET / HT")
        taken = sorted(server.served() for _ in range(50))
        assert taken[25] < 0.25
        held = min(allowed, many)
        assert server.memory() - before < 8_000_000 + held * 16_000
        open_files = len(list(Path(f"/proc/{server.process.pid}/fd").iterdir()))
        assert held <= open_files < held + 100


def test_hostile_29_caller_over_its_rate_is_429(tmp_path: Path) -> None:
    limits = {"CATALOG_RATE_LIMIT": "0.01", "CATALOG_RATE_BURST": "20"}
    with serving(tmp_path, **limits) as server:
        answers = [server.ask(server.head("GET", "/v1/tables")) for _ in range(30)]
        statuses = [status for status, _, _ in answers]

    assert statuses == sorted(statuses)
    assert set(statuses) == {200, 429}
    assert answers[-1][2]["errorType"] == "LIMITS_EXCEPTION"
    assert int(answers[-1][1]["retry-after"]) > 60


def test_hostile_26_client_that_leaves_or_does_not_read_stops_the_stream(tmp_path: Path) -> None:
    lines = [
        '{"entityType":"databaseService","name":"s","serviceType":"Mysql"}',
        '{"entityType":"database","name":"d","service":"s"}',
        '{"entityType":"databaseSchema","name":"x","database":"s.d"}',
    ]
    count, size = 500, 32_500
    contract = {"entityType": "dataContract", "description": "x" * size}
    for name in (f"c{number:05}" for number in range(count)):
        table = {"entityType": "table", "name": name, "databaseSchema": "s.d.x"}
        entity = {"type": "table", "fullyQualifiedName": f"s.d.x.{name}"}
        lines += [json.dumps(table), json.dumps({**contract, "name": name, "entity": entity})]
    file = tmp_path / "catalog.jsonl"
    file.write_text("\n".join(lines))
    assert catalog("import", str(file), "--data", str(tmp_path)).returncode == 0

    with serving(tmp_path) as server:
        request = server.head("GET", "/v1/dataContracts?limit=1000000", Connection="close")
        whole = count * size

        def all_are_listed() -> bool:
            status, _, body = server.ask(server.head("GET", "/v1/dataContracts?limit=0"))
            return status == 200 and body["paging"]["total"] == count

        until(all_are_listed)
        with server.connect() as leaving:
            leaving.sendall(request)
            assert leaving.recv(1_000).startswith(b"HTTP/1.1 200")
        # One that reads far less than LEAST_RATE is left like one that reads nothing, one that
        # reads more is not.
        with ExitStack() as open_ones:
            stuck, slow, steady = (open_ones.enter_context(server.connect()) for _ in range(3))
            for each in (stuck, slow, steady):
                each.sendall(request)
            with ThreadPoolExecutor(1) as reading:
                received = reading.submit(read_at_a_pace, steady, 250_000)
                # The time between two questions is the client's pace.
                until(partial(ends, server, slow, 2_000, 4), every=0.05)

    assert received.result() > whole
    assert [each["status"] for each in streams(server)] == [200] * 4
    assert [each["bytes"] > whole for each in streams(server)].count(True) == 1


@pytest.mark.deep
def test_hostile_26_streams_of_many_callers_that_do_not_read_take_bounded_memory(
    tmp_path: Path,
) -> None:
    columns = [{"name": f"c{n}", "dataType": "INT", "description": "x" * 900} for n in range(5_000)]
    table = {"entityType": "table", "databaseSchema": "s.d.x", "columns": columns}
    lines = [
        '{"entityType":"databaseService","name":"s","serviceType":"Mysql"}',
        '{"entityType":"database","name":"d","service":"s"}',
        '{"entityType":"databaseSchema","name":"x","database":"s.d"}',
        *(json.dumps({**table, "name": f"t{number}"}) for number in range(3)),
    ]
    file = tmp_path / "catalog.jsonl"
    file.write_text("\n".join(lines))
    assert catalog("import", str(file), "--data", str(tmp_path)).returncode == 0
    minter = find_minter(read_settings(data=str(tmp_path)))

    with serving(tmp_path, CATALOG_RECEIVE_TIMEOUT="60") as server, ExitStack() as unread:

        def streamed() -> int:
            status, _, _ = server.ask(server.head("GET", "/v1/tables/name/s.d.x.t2"))
            return status

        until(lambda: streamed() == 200)
        before = server.memory()
        statuses = []
        for number in range(4 * MAX_STREAMS):
            server.token = mint(minter, f"caller-{number % 4}", ("reader",), 600)
            client = unread.enter_context(server.connect())
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            client.sendall(server.head("GET", "/v1/tables?fields=columns"))
            statuses.append(int(client.recv(12).split()[1]))
        grown = server.memory() - before
        server.served()
        unread.close()
        until(lambda: streamed() == 200)

    assert grown < UNSENT_BYTES + 128_000_000
    assert statuses[0] == 200
    assert {200, 429} <= set(statuses) <= {200, 429, 503}


def ends(server: Serving, client: socket.socket, size: int, count: int) -> bool:
    """True once so many streams have ended; while they have not, the client reads on."""
    if len(streams(server)) < count:
        assert client.recv(size, socket.MSG_WAITALL)
        return False
    return True


def read_at_a_pace(client: socket.socket, size: int) -> int:
    """Read so many bytes every 50 ms until the connection ends; returns how many came in all."""
    received = 0
    while part := client.recv(size, socket.MSG_WAITALL):
        received += len(part)
        time.sleep(0.05)
    return received


def streams(server: Serving) -> list[dict[str, Any]]:
    """Of the log, the lines of answers that were large."""
    return [each for each in server.lines() if each.get("bytes", 0) > 10_000]


def test_request_with_two_hosts_is_400_and_spaces_around_a_token_are_none_of_it(
    server: Serving,
) -> None:
    hosts = server.head("GET", "/v1/tables").replace(b"Host: x\r\n", b"Host: x\r\nHost: y\r\n")
    spaced = server.head("GET", "/v1/tables").replace(b"\r\n\r\n", b" \t\r\n\r\n")

    assert refusal(server.ask(hosts)) == (400, "BAD_REQUEST")
    assert server.ask(spaced)[0] == 200


def test_log_has_a_line_for_each_request_and_no_secret(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        secret_text = (tmp_path / "secret").read_text().strip()
        parts = server.token.split(".")
        tokens = [".".join(each) for each in (parts[::-1], [*parts[:2], "AAAA"], parts[:2])]
        bad = [*tokens, secret_text, "x" * 9_000, parts[1]]
        for token in bad:
            for header in (f"Bearer {token}", f"Basic {token}", token):
                plain = f"GET /v1/tables HTTP/1.1\r\nHost: x\r\nAuthorization: {header}\r\n\r\n"
                assert server.ask(plain.encode())[0] == 401
        for path in (f"/v1/tables?token={server.token}", f"/{server.token}", f"/v1/{secret_text}"):
            server.ask(server.head("GET", path))
        made = {"name": "g", "description": secret_text}
        body = json.dumps(made).encode()
        head = server.head(
            "POST", "/v1/glossaries", Content_Length=len(body), X_Request_Id="mine-7"
        )
        status, headers, _ = server.ask(head + body)
        assert (status, headers["x-request-id"]) == (201, "mine-7")
        server.ask(b"GET /" + server.token.encode() + b" HTTP/x\r\n\r\n")
        server.ask(server.head("GET", "/healthz", X_Request_Id="last"))
        until(lambda: any(line.get("request_id") == "last" for line in server.lines()))
        text = server.log.read_text()
        lines = server.lines()

    assert [part for part in (*parts[1:], secret_text, "x" * 50) if part in text] == []
    (write,) = (line for line in lines if line.get("request_id") == "mine-7")
    assert write.pop("timestamp").startswith("20")
    assert write.pop("ms") > 0
    assert write.pop("bytes") > 100
    log = open_event_log(tmp_path / "events.db")
    assert write.pop("position") == log.head()
    log.close()
    assert write == {
        "event": "request",
        "level": "info",
        "request_id": "mine-7",
        "method": "POST",
        "route": "/v1/glossaries",
        "status": 201,
        "caller": "me",
        "client": "127.0.0.1",
        "roles": ["admin"],
    }
    refused = [line for line in lines if line.get("status") == 401]
    assert len(refused) == 18
    assert {line.get("caller") for line in refused} == {None}


def test_log_without_requests_is_quiet(tmp_path: Path) -> None:
    with serving(tmp_path, CATALOG_ACCESS_LOG="false") as server:
        server.served()
        # Search is built from what a first start makes, if the log has it when building begins.
        events = [line["event"] for line in server.lines()]
        assert [event for event in events if event != "the read model is built"] == []
