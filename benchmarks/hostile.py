"""Lists while clients misbehave: bad tokens, endless queries, slow heads, cut connections, floods.

The load is bounded: so many clients of each sort, one request at a time each. Told are the latency
of lists beside the quiet one, the server's memory before and after, and whether `verify` finds that
everything is still there.
"""

import asyncio
import itertools
import json
import random
import subprocess
import sys
import time
from collections import Counter, deque
from collections.abc import Callable
from urllib.parse import quote

from benchmarks.figures import Figure
from benchmarks.generate import lines
from benchmarks.load import client, load
from benchmarks.running import Server, running
from benchmarks.workspace import Workspace, catch_up
from benchmarks.workspace import load as load_lines
from projections.wiring.stores import open_stores

_ENTITIES = 20_000
_QUIET_SECONDS, _PARTS = 5, 4
_LIST = "/v1/tables?limit=10"
_IDLE = 2_000
"""Connections that are kept open for nothing, more than the server allows."""
_PATIENCE = 10.0
"""Seconds that a hostile client waits for an answer."""


def measure(workspace: Workspace, large: bool) -> list[Figure]:
    """A minute of it, or ten."""
    return figures_of(workspace, 600 if large else 60, _ENTITIES)


def figures_of(workspace: Workspace, duration: int, count: int) -> list[Figure]:
    """All figures, with so many seconds of hostile load on a catalog of this size."""
    directory = workspace.fresh()
    stores = open_stores(directory)
    load_lines(stores.log, lines(count))
    catch_up(stores)
    stores.close()
    command = [sys.executable, "-m", "api.commands", "serve", "--port=0", f"--data={directory}"]
    with running(directory, command, role="admin") as server:
        quiet = load(server, [_LIST], _QUIET_SECONDS)
        answers: Counter[int] = Counter()
        taken: list[float] = []
        memory: list[float] = []
        for _ in range(_PARTS):
            answered, seconds = asyncio.run(_hostile(server, duration / _PARTS))
            answers += answered
            taken += seconds
            memory.append(server.memory("RssAnon"))
    verified = subprocess.run(
        [sys.executable, "-m", "replay_tool.commands", "verify", f"--data={directory}"],
        capture_output=True,
        check=False,
    )
    taken.sort()
    p50, p99 = (taken[int(share * (len(taken) - 1))] * 1e3 for share in (0.5, 0.99))
    failures = sum(number for status, number in answers.items() if status >= 500)
    told = ", ".join(f"{number:,} x {status}" for status, number in sorted(answers.items()))
    return [
        Figure(
            what=f"list of ten beside {duration} s of hostile load",
            measured=f"p50 {p50:.1f}, p99 {p99:.1f} ms",
            yardstick=f"quiet, 16 clients: p50 {quiet.p50:.1f}, p99 {quiet.p99:.1f} ms",
            ratio=p99 / quiet.p99,
        ),
        Figure(
            what=f"answers to it: {told}",
            measured=f"{failures} failures of the server",
            budget="0",
            met=not failures,
        ),
        Figure(
            what="memory of the server after each quarter of it",
            measured=", ".join(f"{each:.0f}" for each in memory) + " MB",
            ratio=memory[-1] / memory[0],
        ),
        Figure(
            what="verify afterwards",
            measured=f"exit code {verified.returncode}",
            budget="0",
            met=verified.returncode == 0,
        ),
    ]


async def _hostile(server: Server, duration: float) -> tuple[Counter[int], list[float]]:
    """Statuses of the hostile requests (0: no answer), and seconds of each list beside them."""
    until = time.perf_counter() + duration
    answers: Counter[int] = Counter()
    attackers = [
        _asking(server, until, sort, answers, random.Random(number))
        for number, sort in enumerate((_bad_token, _query, _filter, _malformed, _write) * 2)
    ]
    attackers += [_leaving(server, until, answers), _slow(server, until), _slow(server, until)]
    attackers += [_flooding(server, until), _idling(server, until)]
    lists = [client(server, itertools.repeat(_LIST), until) for _ in range(2)]
    *_, one, other = await asyncio.gather(*attackers, *lists)
    return answers, [*one, *other]


def _bad_token(server: Server, chance: random.Random) -> bytes:
    token = chance.choice(
        (
            "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0.",
            server.token[:-4] + "AAAA",
            "a.b.c" * chance.randrange(1, 1_000),
            f"{server.token}.{server.token}",
        )
    )
    return _get(server, _LIST, token)


def _query(server: Server, chance: random.Random) -> bytes:
    letters = "abcdefghijklmnopqrstuvwxyz"
    text = chance.choice(
        (
            f"*{chance.choice(letters)}*{chance.choice(letters)}*",
            " OR ".join(f"{letter}*" for letter in letters),
            "(" * chance.randrange(1, 200),
            f"/({chance.choice(letters)}+)+z/",
            f"{''.join(chance.sample(letters, 7))}~2",
            '"a b"~100',
            f"updatedAt:[* TO {chance.randrange(10**13)}]",
        )
    )
    return _get(server, f"/v1/search/query?size=1000&q={quote(text)}", server.token)


def _filter(server: Server, chance: random.Random) -> bytes:
    depth = chance.randrange(1, 100)
    nested = json.loads('{"bool": {"must": [' * depth + '{"match_all": {}}' + "]}}" * depth)
    text = chance.choice(
        (
            json.dumps(nested),
            '{"script": {}}',
            '{"terms": {"name": ["' + "a" * 4_000 + '"]}}',
            "{" * 2_000,
            '{"regexp": {"name": ".*' + "a?" * 60 + '"}}',
        )
    )
    return _get(server, f"/v1/search/query?q=*&queryFilter={quote(text)}", server.token)


def _malformed(server: Server, chance: random.Random) -> bytes:
    paths = (
        "/v1/tables?limit=99999",
        "/v1/tables?after=" + "A" * chance.randrange(8_000),
        "/v1/tables?fields=" + "owners," * 1_000,
        "/v1/search/query?from=2147483648",
        f"/v1/tables/{chance.randbytes(8).hex()}",
        "/v1/tables/%00%ff",
        "/" + "a" * 20_000,
    )
    return _get(server, chance.choice(paths), server.token)


def _write(server: Server, chance: random.Random) -> bytes:
    body = chance.choice(
        (b"[" * 5_000, b"{}", b'{"name": "\xff"}', b'{"name": "' + b"a" * 100_000 + b'"}')
    )
    return _request(server, "POST", "/v1/tables", server.token, body)


def _get(server: Server, path: str, token: str) -> bytes:
    return _request(server, "GET", path, token, b"")


def _request(server: Server, method: str, path: str, token: str, body: bytes) -> bytes:
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: {server.host}\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        "Connection: close\r\n\r\n"
    )
    return head.encode() + body


async def _asking(
    server: Server,
    until: float,
    sort: Callable[[Server, random.Random], bytes],
    answers: Counter[int],
    chance: random.Random,
) -> list[float]:
    """One hostile request after another, each on a connection of its own."""
    while time.perf_counter() < until:
        reader, writer = await asyncio.open_connection(server.host, server.port)
        try:
            writer.write(sort(server, chance))
            answer = await asyncio.wait_for(reader.read(), _PATIENCE)
            answers[int(answer[9:12] or 0)] += 1
        except (OSError, TimeoutError):
            answers[0] += 1
        finally:
            writer.close()
    return []


async def _leaving(server: Server, until: float, answers: Counter[int]) -> list[float]:
    """Ask for much and go before it comes."""
    while time.perf_counter() < until:
        _, writer = await asyncio.open_connection(server.host, server.port)
        writer.write(_get(server, "/v1/dataContracts?limit=1000000&fields=*", server.token))
        await asyncio.sleep(0.05)
        writer.close()
        answers[0] += 1
    return []


async def _slow(server: Server, until: float) -> list[float]:
    """Heads that never end, a few bytes at a time, on ten connections."""
    while time.perf_counter() < until:
        opened = [await asyncio.open_connection(server.host, server.port) for _ in range(10)]
        for piece in (b"GET / HTTP/1.1\r\n", b"X-A: ", b"b", b"b", b"b", b"b"):
            for _, writer in opened:
                writer.write(piece)
            await asyncio.sleep(0.5)
            if time.perf_counter() >= until:
                break
        for _, writer in opened:
            writer.close()
    return []


async def _flooding(server: Server, until: float) -> list[float]:
    """Thousands of requests at once on one connection, and no answer read."""
    while time.perf_counter() < until:
        _, writer = await asyncio.open_connection(server.host, server.port)
        writer.write(b"GET /healthz HTTP/1.1\r\n\r\n" * 5_000)
        await asyncio.sleep(0.1)
        writer.close()
    return []


async def _idling(server: Server, until: float) -> list[float]:
    """Bodies that are announced and do not come, on as many connections as there may be."""
    opened: deque[asyncio.StreamWriter] = deque()
    while time.perf_counter() < until:
        _, writer = await asyncio.open_connection(server.host, server.port)
        writer.write(b"POST /v1/tables HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n")
        opened.append(writer)
        if len(opened) > _IDLE:
            opened.popleft().close()
        await asyncio.sleep(0.01)
    for writer in opened:
        writer.close()
    return []
