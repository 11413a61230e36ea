"""A server in a process of its own: where it listens, who may ask, what memory it takes."""

import os
import re
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import Request, urlopen

import msgspec

from api.callers.tokens.issuers import Issuer
from api.callers.tokens.minting import mint

_ADDRESS = re.compile(rb"http://([\d.]+):(\d+)")
_PATIENCE = 60.0


class Server(msgspec.Struct, frozen=True):
    """A server that answers."""

    host: str
    port: int
    pid: int
    token: str

    def request(self, path: str, *, keep: bool = True) -> bytes:
        """The bytes of a GET request."""
        connection = "keep-alive" if keep else "close"
        return (
            f"GET {path} HTTP/1.1\r\nHost: {self.host}:{self.port}\r\n"
            f"Authorization: Bearer {self.token}\r\nConnection: {connection}\r\n\r\n"
        ).encode()

    def put(self, path: str, content: bytes, method: str = "PUT") -> bytes:
        """The bytes of a PUT of JSON, or of another method, over a kept connection."""
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: {self.host}:{self.port}\r\n"
            f"Authorization: Bearer {self.token}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(content)}\r\n\r\n"
        )
        return head.encode() + content

    def ask(self, path: str, body: bytes | None = None) -> bytes:
        """The answer to a GET, or to a PUT of JSON; raises HTTPError for all but success."""
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        address = f"http://{self.host}:{self.port}{path}"
        method = "GET" if body is None else "PUT"
        with urlopen(Request(address, body, headers, method=method)) as response:
            answer: bytes = response.read()
            return answer

    def memory(self, key: str = "VmRSS") -> float:
        """A line of the process's status in MB: VmRSS, VmHWM, RssAnon, ..."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        line = next(line for line in status.splitlines() if line.startswith(f"{key}:"))
        return int(line.split()[1]) / 1024

    def work(self) -> float:
        """CPU seconds of the process so far."""
        user, system = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


@contextmanager
def running(
    directory: Path, command: Sequence[str] | None = None, role: str = "reader"
) -> Iterator[Server]:
    """The benchmarks' server, or another command, over a data directory until the block ends."""
    command = command or [sys.executable, "-m", "benchmarks.server", str(directory)]
    secret = secrets.token_hex(32)
    environment = {**os.environ, "CATALOG_JWT_SECRET": secret}
    with (
        (directory / "server.log").open("w") as said,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=said, env=environment) as process,
    ):
        try:
            assert process.stdout is not None
            found = _ADDRESS.search(process.stdout.readline())
            assert found is not None, "the server did not say where it listens"
            token = mint(Issuer(secret=secret), "benchmark", (role,), 86_400)
            host, port = found[1].decode(), int(found[2])
            await_answer(f"http://{host}:{port}/healthz")
            yield Server(host, port, process.pid, token)
        finally:
            process.terminate()


def await_answer(address: str) -> None:
    deadline = time.monotonic() + _PATIENCE
    while not answers(address):
        assert time.monotonic() < deadline, f"{address} does not answer"
        time.sleep(0.005)


def answers(address: str) -> bool:
    """True if an address gives a 200 now."""
    try:
        with urlopen(address, timeout=_PATIENCE) as response:
            return bool(response.status == 200)
    except URLError:
        return False
