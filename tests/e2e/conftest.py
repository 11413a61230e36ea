"""Real processes: the `catalog` and `catalog-replay` commands, and a server on a socket."""

import os
import re
import signal
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import httpx
import pytest

from api.callers.tokens.minting import find_minter, mint
from api.settings import read_settings
from tests.e2e import forked
from tests.waiting import until

SHARED = Path(__file__).parents[3] / "shared" / "data"

needs_shared_catalogs = pytest.mark.skipif(
    not SHARED.exists(), reason="the shared catalogs are not beside this checkout"
)


def run(
    module: str, *arguments: str, given: bytes | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end; a server takes a free port, as another may have the usual one.

    `given` is what the command finds in a pipe on its standard input.
    """
    variables = {"CATALOG_PORT": "0", **os.environ, **environment}
    return forked.run(module, arguments, variables, timeout=600, given=given)


def catalog(
    *arguments: str, given: bytes | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run `catalog`."""
    return run("api.commands", *arguments, given=given, **environment)


def replay(
    *arguments: str, given: bytes | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run `catalog-replay`."""
    return run("replay_tool.commands", *arguments, given=given, **environment)


def admin_token(directory: Path, **environment: str) -> str:
    """A token as `catalog token` prints it for an administrator, without a process of its own."""
    settings = read_settings({**os.environ, **environment}, data=str(directory))
    lifetime = min(86_400, settings.jwt_max_lifetime)
    return mint(find_minter(settings), "me", ("admin",), lifetime)


NO_AUTHORITIES = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""Trusts nobody, which plain HTTP needs not: each client would load the system's certificates
otherwise, which takes it 50 ms."""


class Server:
    """A running `catalog serve`, asked over its socket."""

    def __init__(self, process: forked.Forked, address: str, token: str) -> None:
        self.process = process
        headers = {"Authorization": f"Bearer {token}"}
        self.http = httpx.Client(
            base_url=address, headers=headers, timeout=120, verify=NO_AUTHORITIES
        )

    def get(self, path: str, **params: Any) -> Any:
        """The body of a GET that succeeds."""
        response = self.http.get(path, params=params)
        assert response.status_code == 200, response.text
        return response.json()

    def post(self, path: str, **body: Any) -> Any:
        """The body of a POST that succeeds."""
        response = self.http.post(path, json=body)
        assert response.status_code == 201, response.text
        return response.json()

    def cpu_seconds(self) -> float:
        """Seconds of processor time that the server process has used in all its threads."""
        # `man 5 proc` counts fields from 1; the third is the first after the name in brackets.
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        user, system = int(fields[14 - 3]), int(fields[15 - 3])
        return (user + system) / os.sysconf("SC_CLK_TCK")

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Stop the server; returns its exit code."""
        self.http.close()
        self.process.send_signal(number)
        return self.process.wait(120)

    def pages(self, path: str, limit: int, **params: Any) -> Iterator[list[Any]]:
        """The items of each page, following `after` to the end."""
        cursor: dict[str, str] = {}
        while True:
            answer = self.get(path, limit=limit, **params, **cursor)
            yield answer["data"]
            if not answer["paging"].get("after"):
                return
            cursor = {"after": answer["paging"]["after"]}


@contextmanager
def serving(
    directory: Path,
    *arguments: str,
    token: str | None = None,
    log: IO[str] | None = None,
    interpreters: bool = False,
    **environment: str,
) -> Iterator[Server]:
    """A server over a data directory, ready, on a free port.

    It is asked with `token`, or with one of its own, and logs to `log`, or to our standard error.
    Several processes are forked, as the server is, unless `interpreters` is True.
    """
    workers = int(arguments[arguments.index("--workers") + 1]) if "--workers" in arguments else 1
    spares = 1 + workers if workers > 1 and not interpreters else 0
    process = forked.serve(directory, *arguments, err=log, spares=spares, **environment)
    try:
        assert process.stdout is not None
        said = process.stdout.readline()
        address = re.search(r"http://\S+(?=,)", said)
        assert address is not None, said
        if token is None:
            token = admin_token(directory, **environment)
        server = Server(process, address[0], token)
        try:
            until_ready(server)
            yield server
        finally:
            server.http.close()
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait(120)
        if process.stdout is not None:
            process.stdout.close()


def until_ready(server: Server, seconds: float = 300) -> None:
    """Wait until the server is ready and, if the caller may ask, its projections at the head."""

    def is_ready() -> bool:
        with suppress(httpx.TransportError):
            if server.http.get("/readyz").status_code == 200:
                answer = server.http.get("/v1/system/projections")
                assert answer.status_code in (200, 403), answer.text
                reports = answer.json().get("projections", [])
                return all(report["lag"] == 0 for report in reports)
        return False

    until(is_ready, seconds=seconds)
