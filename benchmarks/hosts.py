"""Hosts over one log in PostgreSQL: when one shows what another has written, and what they serve.

The rates are of hosts, database and client on the same processors: what the hosts themselves take
for each request says more than they do.
"""

import asyncio
import http.client
import itertools
import json
import math
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from benchmarks.figures import Figure
from benchmarks.load import CONNECTIONS, send
from benchmarks.postgres_server import PostgresServer, find_binaries, new_schema
from benchmarks.postgres_server import running as database_running
from benchmarks.running import Server, await_answer, running
from benchmarks.workspace import Workspace

BUDGET_MS = 100.0
_WRITERS = (1, 8)
_SECONDS = 6.0
_HOSTS = (1, 2, 4)
_ROUNDS, _LOAD_SECONDS = 3, 3.0
_LISTED = 200
_PATH = "/v1/services/databaseServices"


def measure(workspace: Workspace, large: bool) -> list[Figure]:
    """Each writer puts an entity on a host, then lists at its position on the other one."""
    binaries = find_binaries()
    if binaries is None:
        print("skipped: there is no PostgreSQL on this machine", file=sys.stderr)
        return []
    with database_running(binaries, fsync=True) as database:
        with _hosts(database, 2) as hosts:
            figures = [_figure(hosts, writers) for writers in _WRITERS]
        return [*figures, *_served(database)]


@contextmanager
def _hosts(database: PostgresServer, number: int) -> Iterator[list[Server]]:
    """So many servers over a new log, each with a data directory of its own."""
    url = database.url(new_schema())
    with ExitStack() as stack:
        hosts = []
        for _ in range(number):
            directory = stack.enter_context(TemporaryDirectory())
            options = ["--port=0", f"--data={directory}", f"--database={url}"]
            command = [sys.executable, "-m", "api.commands", "serve", *options]
            host = stack.enter_context(running(Path(directory), command, "admin"))
            await_answer(f"http://{host.host}:{host.port}/readyz")
            hosts.append(host)
        yield hosts


class Served(msgspec.Struct, frozen=True):
    """Work that some hosts did under load, together."""

    rate: float
    """Requests a second."""
    work: float
    """Microseconds of processor time that the hosts took for each."""


def _served(database: PostgresServer) -> list[Figure]:
    """Lists of ten and writes, by as many connections, to one host and spread over several."""
    rounds: list[dict[tuple[str, int], Served]] = []
    for _ in range(_ROUNDS):
        seen = {}
        for number in _HOSTS:
            with _hosts(database, number) as hosts:
                bodies = _bodies()
                filled = itertools.islice(bodies, _LISTED)
                asyncio.run(
                    send(hosts[0], (hosts[0].put(_PATH, each) for each in filled), math.inf)
                )
                seen["lists of ten", number] = _load(hosts, _lists)
                seen["writes", number] = _load(hosts, partial(_writes, bodies))
        rounds.append(seen)

    def told(what: str, number: int) -> Figure:
        def median(of: Callable[[Served], float]) -> float:
            return statistics.median(of(each[what, number]) for each in rounds)

        one = statistics.median(each[what, 1].rate for each in rounds)
        return Figure(
            what=f"{what}, {CONNECTIONS} connections, HTTP processes: {number}",
            measured=f"{median(lambda s: s.rate):,.0f}/s, {median(lambda s: s.work):,.0f} us each",
            yardstick=f"{one:,.0f}/s by one",
            ratio=statistics.median(
                each[what, number].rate / each[what, 1].rate for each in rounds
            ),
        )

    return [told(what, number) for what in ("lists of ten", "writes") for number in _HOSTS]


def _bodies() -> Iterator[bytes]:
    for number in count():
        yield msgspec.json.encode({"name": f"s{number}", "serviceType": "Mysql"})


def _lists(host: Server) -> Iterator[bytes]:
    return itertools.repeat(host.request(f"{_PATH}?limit=10"))


def _writes(bodies: Iterator[bytes], host: Server) -> Iterator[bytes]:
    """Requests with bodies that all connections share, each of which is sent once."""
    return (host.put(_PATH, body) for body in bodies)


def _load(hosts: list[Server], requests: Callable[[Server], Iterator[bytes]]) -> Served:
    """Keeps all hosts busy for some seconds, by connections that are spread over them."""

    async def ask() -> int:
        until = time.perf_counter() + _LOAD_SECONDS
        clients = [
            send(host, requests(host), until)
            for host in hosts
            for _ in range(CONNECTIONS // len(hosts))
        ]
        return sum(map(len, await asyncio.gather(*clients)))

    before, began = sum(host.work() for host in hosts), time.perf_counter()
    done = asyncio.run(ask())
    seconds = time.perf_counter() - began
    work = sum(host.work() for host in hosts) - before
    return Served(done / seconds, work / done * 1e6)


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
