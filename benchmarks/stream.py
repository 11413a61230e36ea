"""One list of everything: how fast it flows, and what memory it takes."""

import multiprocessing
import socket
import sqlite3
import statistics
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.figures import Figure, seconds
from benchmarks.running import Server, running
from benchmarks.workspace import ENTITIES, Workspace

BUDGET, GROWTH = 200, 64
_PATH = "/v1/dataContracts?limit=1000000"
_CHUNK = 256 * 1024
_ROUNDS = 5


def measure(workspace: Workspace, large: bool) -> list[Figure]:
    """MB/s over loopback, beside a bare process that sends the same rows from the same file."""
    count = 1_000_000 if large else 100_000
    directory = workspace.contracts(count)
    ours, plain = [], []
    with running(directory) as server:
        size = _served(server)
        before, before_anonymous = server.memory(), server.memory("RssAnon")
        for _ in range(_ROUNDS):
            ours.append(size / 1e6 / seconds(lambda: _served(server)))
            plain.append(size / 1e6 / seconds(lambda: _sent_plainly(directory)))
        grown = server.memory("VmHWM") - before
        anonymous = server.memory("RssAnon") - before_anonymous
        whole = _work_of(server, lambda: _served(server))
        left = _work_of(server, lambda: _leave(server))
    rate = statistics.median(ours)
    return [
        Figure(
            what=f"list of all {count:,} contracts, {size / 1e6:,.0f} MB",
            measured=f"{rate:,.0f} MB/s",
            yardstick=f"{statistics.median(plain):,.0f} MB/s",
            ratio=statistics.median(a / b for a, b in zip(ours, plain, strict=True)),
            budget=f">= {BUDGET} MB/s",
            met=rate >= BUDGET,
        ),
        Figure(
            what="growth of the server's memory from the second such list on",
            measured=f"{grown:,.0f} MB at its peak, {anonymous:,.0f} MB not of files",
            budget=f"< {GROWTH} MB",
            met=grown < GROWTH,
        ),
        Figure(
            what="work for a client that leaves after the first of it",
            measured=f"{left * 1e3:.0f} ms of CPU",
            yardstick=f"for all of it {whole * 1e3:.0f} ms",
            ratio=left / whole,
        ),
    ]


def _served(server: Server) -> int:
    with socket.create_connection((server.host, server.port)) as client:
        client.sendall(server.request(_PATH, keep=False))
        return _discard(client)


def _leave(server: Server) -> None:
    with socket.create_connection((server.host, server.port)) as client:
        client.sendall(server.request(_PATH, keep=False))
        client.recv(_CHUNK)


def _work_of(server: Server, ask: Callable[[], object]) -> float:
    """CPU seconds that a request costs the server, until a second after the client has gone."""
    before = server.work()
    ask()
    time.sleep(1.0)
    return server.work() - before


def _sent_plainly(directory: Path) -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        sender = multiprocessing.Process(target=_send, args=(listener, directory / ENTITIES))
        sender.start()
        with socket.create_connection(listener.getsockname()) as client:
            size = _discard(client)
        sender.join()
    return size


def _send(listener: socket.socket, path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA mmap_size=1073741824")
    rows = connection.execute(
        "SELECT core FROM entities WHERE kind = 'dataContract' AND deleted = 0 ORDER BY name, id"
    )
    client, _ = listener.accept()
    with client:
        size, chunk = 0, []
        for (core,) in rows:
            chunk.append(core)
            size += len(core)
            if size >= _CHUNK:
                client.sendall(b",".join(chunk))
                size, chunk = 0, []
        client.sendall(b",".join(chunk))


def _discard(client: socket.socket) -> int:
    """Read to the end; returns the number of bytes."""
    buffer = bytearray(1 << 20)
    total = 0
    while got := client.recv_into(buffer):
        total += got
    return total
