"""A server of several processes, which its tests kill and stop."""

import json
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.e2e.conftest import NO_AUTHORITIES, Server, serving
from tests.waiting import until

TIMEOUT = 4.0


class Family:
    """A supervisor and its children."""

    def __init__(self, server: Server, log: Path) -> None:
        self.server = server
        self._log = log

    def children(self) -> dict[str, int]:
        """Process ids by command: `project`, and the workers by the order of their start."""
        pid = self.server.process.pid
        found: dict[str, int] = {}
        workers = 0
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            try:
                said = Path(f"/proc/{child}/cmdline").read_text().split("\0")
                said += Path(f"/proc/{child}/comm").read_text().split()
            except (FileNotFoundError, ProcessLookupError):
                continue  # it has ended since the list was read
            if "project" in said:
                found["project"] = int(child)
            elif "worker" in said:
                workers += 1
                found[f"worker-{workers}"] = int(child)
        return found

    def said(self, event: str) -> list[dict[str, Any]]:
        """The lines of the log about an event."""
        lines = [json.loads(line) for line in self._log.read_text().splitlines() if line[0] == "{"]
        return [line for line in lines if line["event"].startswith(event)]


@contextmanager
def family(directory: Path, *, interpreters: bool = False, **environment: str) -> Iterator[Family]:
    file = directory / "log"
    settings = {"CATALOG_WORKER_TIMEOUT": str(TIMEOUT), "CATALOG_ACCESS_LOG": "false"}
    with (
        file.open("w") as log,
        serving(
            directory / "d",
            "--workers",
            "2",
            log=log,
            interpreters=interpreters,
            **{**settings, **environment},
        ) as server,
    ):
        # A process that has given no sign of life yet may be silent for long.
        until(lambda: all_serve(server))
        yield Family(server, file)


@contextmanager
def clients(server: Server, number: int) -> Iterator[list[httpx.Client]]:
    """Clients with a connection each, opened one after the other."""
    with ExitStack() as stack:
        opened = []
        for _ in range(number):
            client = httpx.Client(
                base_url=server.http.base_url,
                headers=server.http.headers,
                timeout=60,
                verify=NO_AUTHORITIES,
            )
            opened.append(stack.enter_context(client))
            assert client.get("/healthz").status_code == 200
        yield opened


def metric(client: httpx.Client, name: str) -> float:
    """A metric as one worker shows it; 0 when there is none."""
    answer = client.get("/metrics")
    assert answer.status_code == 200, answer.text
    found = re.search(rf"^{re.escape(name)} (\S+)$", answer.text, re.MULTILINE)
    return float(found[1]) if found else 0.0


def shares(client: httpx.Client) -> list[float]:
    """Return the share of connections that each worker has."""
    return [metric(client, f'catalog_connections{{worker="{number}"}}') for number in (1, 2)]


def all_serve(server: Server) -> bool:
    """True if every worker takes connections."""
    with clients(server, 6) as asking:
        return min(shares(asking[0])) > 0
