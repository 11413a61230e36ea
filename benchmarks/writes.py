"""Writes over HTTP, acknowledged when they are durable, beside bare appends that are synced.

An application that only stores the same bodies, durably and together, under the same server shows
how much of that is to be had over HTTP.
"""

import itertools
import math
import os
import selectors
import socket
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from benchmarks.bare import bare
from benchmarks.figures import Figure
from benchmarks.running import Server, running
from benchmarks.workspace import Workspace

ONE_CLIENT, MANY_CLIENTS = 2.5, 1.3
"""Milliseconds of the server's processor time for a PUT."""
LISTS_BESIDE, BULK = 3.0, 3_000
CLIENTS = 32
_COLUMNS = 20
_BULK = 500
"""Tables in one bulk request."""
_CONTRACTS = 1_000
_ROUNDS, _SECONDS = 5, 2.0
_RECORD = bytes(4_096)
_SCHEMA = "written.db.public"
_LIST = "/v1/dataContracts?limit=10"
_PARENTS = (
    ("/v1/services/databaseServices", {"name": "written", "serviceType": "Mysql"}),
    ("/v1/databases", {"name": "db", "service": "written"}),
    ("/v1/databaseSchemas", {"name": "public", "database": "written.db"}),
)

Requests = Iterator[bytes]


class Round(msgspec.Struct):
    """Result of one round, in operations a second and in milliseconds."""

    synced: float
    one: float
    many: float
    one_work: float
    """Milliseconds of processor time for each of these."""
    many_work: float
    bulk: float
    quiet_p99: float
    beside_p99: float
    bare_one: float
    bare_many: float


def measure(workspace: Workspace, large: bool) -> list[Figure]:
    """Tables put by one client and by many, and lists beside them."""
    directory = workspace.contracts(_CONTRACTS)
    with (
        running(directory, role="admin") as server,
        bare(workspace.fresh(), {"stored": b"{}"}, "") as storing,
    ):
        for path, body in _PARENTS:
            drive(server, [iter([_put(server, path, body)])], math.inf)
        numbers = itertools.count()
        drive(server, [_tables(server, numbers)], time.perf_counter() + 1)
        rounds = [_round(server, storing, directory, numbers) for _ in range(_ROUNDS)]
    return [
        _one_client(rounds),
        _many_clients(rounds),
        *_work(rounds),
        *_stored(rounds),
        _bulk(rounds),
        _lists(rounds),
    ]


def _round(
    server: Server, storing: Server, directory: Path, numbers: "itertools.count[int]"
) -> Round:
    until = time.perf_counter() + _SECONDS
    synced = _synced_appends(directory / "yardstick", until) / _SECONDS
    (one, one_work), (many, many_work) = (
        _worked(server, _tables(server, numbers), clients) for clients in (1, CLIENTS)
    )
    bodies = _tables(storing, itertools.count(), "/stored")
    bare_one, bare_many = (_rate(storing, bodies, clients) for clients in (1, CLIENTS))
    bulk = _BULK * _rate(server, _bulks(server, numbers), 1)
    lists = itertools.repeat(server.request(_LIST))
    quiet = drive(server, [lists], time.perf_counter() + _SECONDS)
    beside = _lists_beside_writers(server, numbers)
    return Round(
        synced=synced,
        one=one,
        many=many,
        one_work=one_work,
        many_work=many_work,
        bulk=bulk,
        quiet_p99=_p99(quiet),
        beside_p99=_p99(beside),
        bare_one=bare_one,
        bare_many=bare_many,
    )


def _worked(server: Server, requests: Requests, clients: int) -> tuple[float, float]:
    """Requests a second, and the milliseconds of the server's processor time that each took."""
    before, began = server.work(), time.perf_counter()
    rate = _rate(server, requests, clients)
    seconds = time.perf_counter() - began
    return rate, (server.work() - before) / (rate * seconds) * 1e3


def _rate(server: Server, requests: Requests, clients: int) -> float:
    """Requests a second that so many clients are answered together."""
    began = time.perf_counter()
    taken = drive(server, [requests] * clients, began + _SECONDS)
    return len(taken) / (time.perf_counter() - began)


def _lists_beside_writers(server: Server, numbers: "itertools.count[int]") -> list[float]:
    """Seconds taken by lists that one client asks for while many write."""
    writers = [_tables(server, numbers) for _ in range(CLIENTS)]
    until = time.perf_counter() + _SECONDS
    lists = itertools.repeat(server.request(_LIST))
    return drive(server, [lists, *writers], until, counted=1)


def _synced_appends(file: Path, until: float) -> int:
    """Append records of 4 kB to a file, each synced before the next, and return their number."""
    appended = 0
    descriptor = os.open(file, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    try:
        while time.perf_counter() < until:
            os.write(descriptor, _RECORD)
            os.fsync(descriptor)
            appended += 1
    finally:
        os.close(descriptor)
        file.unlink()
    return appended


def _tables(server: Server, numbers: "itertools.count[int]", path: str = "/v1/tables") -> Requests:
    for number in numbers:
        yield _put(server, path, _table(number))


def _bulks(server: Server, numbers: "itertools.count[int]") -> Requests:
    while True:
        tables = [_table(number) for number in itertools.islice(numbers, _BULK)]
        yield _put(server, "/v1/tables/bulk", tables)


def _table(number: int) -> dict[str, object]:
    columns = [
        {"name": f"column_{n}", "dataType": "BIGINT", "description": f"What column {n} holds."}
        for n in range(_COLUMNS)
    ]
    return {"name": f"table_{number}", "databaseSchema": _SCHEMA, "columns": columns}


def _put(server: Server, path: str, body: object) -> bytes:
    return server.put(path, msgspec.json.encode(body))


class _Client:
    """One kept connection, on which a request follows when the answer to the last one is whole."""

    def __init__(self, server: Server, requests: Requests) -> None:
        self.requests = requests
        self.socket = socket.create_connection((server.host, server.port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.taken: list[float] = []
        self._began = 0.0
        self._received = b""

    def send(self) -> bool:
        """Send the next request; False when there is none."""
        request = next(self.requests, None)
        if request is None:
            return False
        self._began = time.perf_counter()
        self.socket.sendall(request)
        return True

    def receive(self) -> bool:
        """Take what has come; returns whether the answer is whole now."""
        received = self.socket.recv(1 << 18)
        assert received, "the server closed a connection"
        self._received += received
        head, end, body = self._received.partition(b"\r\n\r\n")
        if not end:
            return False
        length = int(head.lower().partition(b"\ncontent-length:")[2].split(b"\r", 1)[0])
        if len(body) < length:
            return False
        assert head.startswith(b"HTTP/1.1 20"), self._received
        self.taken.append(time.perf_counter() - self._began)
        self._received = b""
        return True


def drive(
    server: Server, requests: list[Requests], until: float, counted: int | None = None
) -> list[float]:
    """Seconds taken by each request of the first `counted` clients (None: of all) until a time."""
    clients = [_Client(server, each) for each in requests]
    with selectors.DefaultSelector() as selector:
        for client in clients:
            selector.register(client.socket, selectors.EVENT_READ, client)
            client.send()
        while selector.get_map():
            for key, _ in selector.select():
                client = key.data
                if client.receive() and (time.perf_counter() >= until or not client.send()):
                    selector.unregister(client.socket)
                    client.socket.close()
    return [seconds for client in clients[:counted] for seconds in client.taken]


def _p99(taken: list[float]) -> float:
    return sorted(taken)[math.ceil(0.99 * len(taken)) - 1] * 1e3


def _median(rounds: list[Round], value: Callable[[Round], float]) -> float:
    return statistics.median(map(value, rounds))


def _one_client(rounds: list[Round]) -> Figure:
    return Figure(
        what=f"PUT of tables with {_COLUMNS} columns, one client",
        measured=f"{_median(rounds, lambda each: each.one):,.0f}/s",
        yardstick=f"{_median(rounds, lambda each: each.synced):,.0f} synced appends of 4 kB/s",
        ratio=_median(rounds, lambda each: each.one / each.synced),
    )


def _many_clients(rounds: list[Round]) -> Figure:
    return Figure(
        what=f"the same, {CLIENTS} clients with one token",
        measured=f"{_median(rounds, lambda each: each.many):,.0f}/s",
        yardstick=f"{_median(rounds, lambda each: each.one):,.0f}/s by one client",
        ratio=_median(rounds, lambda each: each.many / each.one),
    )


def _work(rounds: list[Round]) -> list[Figure]:
    """The processor time of the server, which a slow disk does not change."""
    figures = []
    for what, budget, work in (
        ("one client", ONE_CLIENT, lambda each: each.one_work),
        (f"{CLIENTS} clients", MANY_CLIENTS, lambda each: each.many_work),
    ):
        milliseconds = _median(rounds, work)
        figures.append(
            Figure(
                what=f"processor time of the server for such a PUT, {what}",
                measured=f"{milliseconds:.2f} ms",
                budget=f"<= {budget} ms",
                met=milliseconds <= budget,
            )
        )
    return figures


def _stored(rounds: list[Round]) -> list[Figure]:
    """Measure an application that does nothing but store the bodies."""
    one = _median(rounds, lambda each: each.bare_one)
    return [
        Figure(
            what="the bodies only stored, by a bare application, one client",
            measured=f"{one:,.0f}/s",
            yardstick=f"{_median(rounds, lambda each: each.synced):,.0f} synced appends of 4 kB/s",
            ratio=_median(rounds, lambda each: each.bare_one / each.synced),
        ),
        Figure(
            what=f"the same, {CLIENTS} clients",
            measured=f"{_median(rounds, lambda each: each.bare_many):,.0f}/s",
            yardstick=f"{one:,.0f}/s by one client",
            ratio=_median(rounds, lambda each: each.bare_many / each.bare_one),
        ),
    ]


def _bulk(rounds: list[Round]) -> Figure:
    rate = _median(rounds, lambda each: each.bulk)
    return Figure(
        what=f"bulk PUT of {_BULK} such tables, one client",
        measured=f"{rate:,.0f} tables/s",
        budget=f">= {BULK:,}/s",
        met=rate >= BULK,
    )


def _lists(rounds: list[Round]) -> Figure:
    ratio = _median(rounds, lambda each: each.beside_p99 / each.quiet_p99)
    return Figure(
        what=f"list of ten beside {CLIENTS} writing clients, p99",
        measured=f"{_median(rounds, lambda each: each.beside_p99):.1f} ms",
        yardstick=f"{_median(rounds, lambda each: each.quiet_p99):.1f} ms when quiet",
        ratio=ratio,
        budget=f"<= {LISTS_BESIDE:.0f}",
        met=ratio <= LISTS_BESIDE,
    )
