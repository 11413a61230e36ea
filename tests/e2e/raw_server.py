"""A server with narrow limits, asked by bytes on a socket."""

import json
import re
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tests.e2e import forked
from tests.e2e.conftest import admin_token
from tests.waiting import until

TIMEOUT = 2.0
CONNECTIONS = 200


class Serving:
    """A server with narrow limits, asked by bytes."""

    def __init__(self, process: forked.Forked, port: int, token: str, log: Path) -> None:
        self.process = process
        self.port = port
        self.token = token
        self.log = log

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), 10)

    def head(self, method: str, path: str, **headers: Any) -> bytes:
        lines = [f"{method} {path} HTTP/1.1", "Host: x", f"Authorization: Bearer {self.token}"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        return "\r\n".join([*lines, "", ""]).encode()

    def ask(self, request: bytes) -> tuple[int, dict[str, str], Any]:
        """Status, headers and body of the answer to a request on a connection of its own."""
        with self.connect() as connection:
            with suppress(BrokenPipeError, ConnectionResetError):
                connection.sendall(request)
            return answer(connection)

    def served(self) -> float:
        """Seconds that a list takes; it must be answered."""
        started = time.perf_counter()
        status, _, body = self.ask(self.head("GET", "/v1/tables?limit=1", Connection="close"))
        assert (status, len(body["data"]) <= 1) == (200, True)
        return time.perf_counter() - started

    def memory(self) -> int:
        """Bytes that the server holds."""
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        found = re.search(r"VmRSS:\s+(\d+) kB", text)
        assert found is not None
        return int(found[1]) * 1024

    def lines(self) -> list[dict[str, Any]]:
        """The lines of the log so far, each of them JSON."""
        return [json.loads(line) for line in self.log.read_text().splitlines()]


def answer(connection: socket.socket) -> tuple[int, dict[str, str], Any]:
    received = b""
    while b"\r\n\r\n" not in received:
        part = connection.recv(65_536)
        assert part, received
        received += part
    head, _, body = received.partition(b"\r\n\r\n")
    first, *rest = head.decode().split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in rest)}
    while len(body) < int(headers["content-length"]):
        body += connection.recv(65_536)
    return int(first.split()[1]), headers, json.loads(body) if body else None


@contextmanager
def serving(directory: Path, **settings: str) -> Iterator[Serving]:
    log = directory / "log"
    narrow = {
        "CATALOG_MAX_CONNECTIONS": str(CONNECTIONS),
        "CATALOG_RECEIVE_TIMEOUT": str(TIMEOUT),
        **settings,
    }
    with log.open("a") as stderr:
        process = forked.serve(directory, err=stderr, **narrow)
    try:
        assert process.stdout is not None
        found = re.search(r":(\d+),", process.stdout.readline())
        assert found is not None, log.read_text()
        served = Serving(process, int(found[1]), admin_token(directory), log)

        def is_ready() -> bool:
            # Before that it does not listen yet, or the read models are still being built.
            with suppress(OSError, KeyError):
                ready = served.ask(served.head("GET", "/readyz", Connection="close"))
                return ready[0] == 200
            return False

        until(is_ready)
        log.write_text("")
        yield served
    finally:
        process.terminate()
        process.wait(30)
        if process.stdout is not None:
            process.stdout.close()


def refusal(given: tuple[int, dict[str, str], Any]) -> tuple[int, str]:
    """Status and type of an error that has the one shape and ends the connection."""
    status, headers, body = given
    assert headers["connection"] == "close"
    assert sorted(body) == ["code", "errorType", "message", "requestId"]
    assert (body["code"], body["requestId"]) == (status, headers["x-request-id"])
    return status, body["errorType"]
