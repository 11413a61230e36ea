"""Two hosts over one log in PostgreSQL: from a write on one to a list on the other that has it."""

import http.client
import json
import statistics
import sys
import threading
import time
from contextlib import ExitStack, closing
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.figures import Figure
from benchmarks.postgres_server import find_binaries, new_schema
from benchmarks.postgres_server import running as database_running
from benchmarks.running import Server, await_answer, running
from benchmarks.workspace import Workspace

BUDGET_MS = 100.0
_WRITERS = (1, 8)
_SECONDS = 6.0
_PATH = "/v1/services/databaseServices"


def measure(workspace: Workspace, large: bool) -> list[Figure]:
    """Each writer puts an entity on a host, then lists at its position on the other one."""
    binaries = find_binaries()
    if binaries is None:
        print("skipped: there is no PostgreSQL on this machine", file=sys.stderr)
        return []
    with ExitStack() as stack:
        database = stack.enter_context(database_running(binaries, fsync=True))
        url = database.url(new_schema())
        hosts = []
        for _ in range(2):
            directory = stack.enter_context(TemporaryDirectory())
            options = ["--port=0", f"--data={directory}", f"--database={url}"]
            command = [sys.executable, "-m", "api.commands", "serve", *options]
            host = stack.enter_context(running(Path(directory), command, "admin"))
            await_answer(f"http://{host.host}:{host.port}/readyz")
            hosts.append(host)
        return [_figure(hosts, writers) for writers in _WRITERS]


def _figure(hosts: list[Server], writers: int) -> Figure:
    seen: list[tuple[float, float]] = []
    ends = time.perf_counter() + _SECONDS
    threads = [
        threading.Thread(target=_write, args=(hosts, f"{writers}-{place}", ends, seen))
        for place in range(writers)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    waited, again = (sorted(column) for column in zip(*seen, strict=True))
    p99, p99_again = (column[len(column) * 99 // 100] for column in (waited, again))
    return Figure(
        what=f"a write on one host, from its answer to a list on the other: {writers} clients",
        measured=f"p50 {statistics.median(waited):.1f}, p99 {p99:.1f} ms of {len(seen):,}",
        yardstick=f"p50 {statistics.median(again):.1f}, p99 {p99_again:.1f} ms (the list again)",
        ratio=statistics.median(waited) / statistics.median(again),
        budget=f"p99 < {BUDGET_MS:.0f} ms",
        met=p99 < BUDGET_MS,
    )


def _write(hosts: list[Server], name: str, ends: float, seen: list[tuple[float, float]]) -> None:
    """Write until the time is over; notes milliseconds of each list, and of the same list again."""
    with ExitStack() as stack:
        clients = [
            (stack.enter_context(closing(http.client.HTTPConnection(host.host, host.port))), host)
            for host in hosts
        ]
        for number in count():
            if time.perf_counter() > ends:
                return
            (writer, reader) = (clients[number % 2], clients[1 - number % 2])
            body = json.dumps({"name": f"{name}-{number}", "serviceType": "Mysql"})
            position = _ask(*writer, "PUT", _PATH, body)[0]
            took = [_ask(*reader, "GET", f"{_PATH}?limit=10", "", position)[1] for _ in range(2)]
            seen.append((took[0], took[1]))


def _ask(
    client: http.client.HTTPConnection,
    host: Server,
    method: str,
    path: str,
    body: str,
    position: str = "0",
) -> tuple[str, float]:
    """The position that an answer names, and the milliseconds that it took."""
    headers = {"Authorization": f"Bearer {host.token}", "X-Catalog-Position": position}
    if body:
        headers["Content-Type"] = "application/json"
    began = time.perf_counter()
    client.request(method, path, body or None, headers)
    answer = client.getresponse()
    answer.read()
    assert answer.status in (200, 201), answer.status
    return answer.headers["X-Catalog-Position"] or "", (time.perf_counter() - began) * 1e3
