"""The access log of a server whose standard error is read late, or never."""

import json
import os
import socket
import subprocess
import sys
import threading
from contextlib import closing, suppress
from pathlib import Path

import httpx
import pytest

from tests.depth import first_alone
from tests.e2e.conftest import Server, serving
from tests.waiting import until


@pytest.mark.parametrize("blocking", [True, False])
def test_log_that_is_read_late_stalls_no_request_and_loses_no_line(
    tmp_path: Path, blocking: bool
) -> None:
    reading, writing = os.pipe()
    os.set_blocking(writing, blocking)
    received = b""

    def read() -> None:
        nonlocal received
        while part := os.read(reading, 65_536):
            received += part

    reader = threading.Thread(target=read)
    with os.fdopen(writing, "w") as log, serving(tmp_path, log=log) as server:
        # More lines than a pipe holds.
        for _ in range(600):
            server.get("/v1/system/version")
        reader.start()
        server.get("/v1/glossaries")
        metrics = server.http.get("/metrics").text
        assert server.stop() == 0
    reader.join(30)
    os.close(reading)

    lines = [json.loads(line) for line in received.splitlines() if line.startswith(b"{")]
    routes = [line["route"] for line in lines if line.get("event") == "request"]
    assert routes.count("/v1/system/version") == 600
    assert routes[-2:] == ["/v1/glossaries", "/metrics"]
    assert "catalog_log_lines_dropped_total 0.0" in metrics.splitlines()


def test_server_whose_log_is_never_read_answers_and_stops(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    with os.fdopen(writing, "w") as log, serving(tmp_path, log=log) as server:
        for _ in range(600):
            server.get("/v1/system/version")
        assert server.stop() == 0
    os.close(reading)


def test_server_whose_log_nobody_can_read_any_more_answers_and_stops(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    with os.fdopen(writing, "w") as log, serving(tmp_path, log=log) as server:
        os.close(reading)
        for _ in range(10):
            server.get("/v1/system/version")
        assert server.stop() == 0


@pytest.mark.parametrize("workers", first_alone("1", "2"))
def test_server_whose_log_has_no_space_answers_and_stops(tmp_path: Path, workers: str) -> None:
    with (
        open("/dev/full", "w") as log,
        serving(tmp_path, "--workers", workers, log=log) as server,
    ):
        server.get("/v1/glossaries")
        assert server.stop() == 0


def is_alive(server: Server) -> bool:
    with suppress(httpx.TransportError):
        return server.http.get("/healthz").status_code == 200
    return False


def test_server_that_can_tell_nobody_where_it_listens_serves(tmp_path: Path) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
    command = [sys.executable, "-m", "api.commands", "serve", f"--port={port}"]
    with open("/dev/full", "w") as full:
        process = subprocess.Popen([*command, f"--data={tmp_path}"], stdout=full, stderr=full)
    server = Server(process, f"http://127.0.0.1:{port}", token="none")
    try:
        until(lambda: is_alive(server), seconds=60)
        assert server.stop() == 0
    finally:
        process.kill()
        process.wait(30)


@pytest.mark.parametrize("trusted", [None, "127.0.0.0/8"])
def test_line_has_the_address_of_the_client_and_a_header_counts_from_trusted_proxies_alone(
    tmp_path: Path, trusted: str | None
) -> None:
    setting = {} if trusted is None else {"CATALOG_TRUSTED_PROXIES": trusted}
    forwarded = {"X-Forwarded-For": "198.51.100.7, 203.0.113.9"}
    with (
        (tmp_path / "log").open("w") as log,
        serving(tmp_path / "data", log=log, **setting) as server,
    ):
        # A plain read, which no route answers, and a write.
        for _ in range(2):
            server.http.get("/v1/tables?limit=3", headers=forwarded)
        server.http.post("/v1/glossaries", json={}, headers=forwarded)
        url = server.http.base_url
        with closing(socket.create_connection((url.host, url.port or 80))) as connection:
            connection.sendall(b"nonsense\r\n\r\n")
            while connection.recv(1_000):
                pass
        assert server.stop() == 0

    told = (tmp_path / "log").read_text().splitlines()
    lines = [json.loads(line) for line in told if line.startswith("{")]
    asked = [line for line in lines if line.get("event") == "request"]
    named = [line["client"] for line in asked if line["route"] in ("/v1/tables", "/v1/glossaries")]
    assert named == ["127.0.0.1" if trusted is None else "203.0.113.9"] * 3
    assert [line["client"] for line in asked if not line["route"]] == ["127.0.0.1"]
