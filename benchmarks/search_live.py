"""Search while the catalog changes: from a write to finding it, and many clients beside writes."""

import asyncio
import itertools
import json
import math
import random
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from urllib.parse import quote

from benchmarks.beside import repeated, writing
from benchmarks.figures import Figure, seconds
from benchmarks.generate import lines
from benchmarks.load import client, load
from benchmarks.running import Server, answers, running
from benchmarks.search import documents
from benchmarks.search_questions import Sample
from benchmarks.workspace import Workspace, catch_up
from benchmarks.workspace import load as load_lines
from domain.judging.judge import Judge
from domain.measurements.bounds import Bounds
from domain.measurements.opening import measurements_at
from projections.search.engine import EngineQuery
from projections.search.index.engine import WhooshEngine
from projections.search.language import text
from projections.wiring.stores import Stores, open_stores

BUDGET_MS = 10.0
_ENTITIES, _WRITES = 100_000, 100
_CLIENTS, _SECONDS, _WRITES_PER_SECOND = 100, 10, 20
_SLOW_CLIENTS = 4
_INDEX = "search-1"
"""The search index of a data directory made here."""
_PATIENCE = 600.0
_LIST = "/v1/tables?limit=10"
_SEARCH = "/v1/search/query?size=10&q="


def measure(workspace: Workspace, large: bool) -> list[Figure]:
    """One write at a time, then a server with clients, over 100,000 entities."""
    return figures_of(workspace, _ENTITIES, _WRITES, _SECONDS)


def figures_of(workspace: Workspace, count: int, writes: int, duration: int) -> list[Figure]:
    """All figures on a catalog of this size."""
    directory = workspace.fresh()
    paths = _prepare(directory, count)
    _settle(directory)
    searchable = _searchable(directory, writes)
    command = [sys.executable, "-m", "api.commands", "serve", "--port", "0"]
    with running(directory, [*command, "--data", str(directory)], role="admin") as server:
        deadline = time.monotonic() + _PATIENCE
        while not answers(f"http://{server.host}:{server.port}/readyz"):
            assert time.monotonic() < deadline, "the server does not become ready"
            time.sleep(0.05)
        quiet = load(server, [_LIST], duration)
        with _slow_searches(server):
            beside = load(server, [_LIST], duration)
        with writing(server, _WRITES_PER_SECOND) as written:
            times = asyncio.run(_clients(server, paths, duration))
    return [
        *searchable,
        Figure(
            what=f"{_CLIENTS} clients searching, {len(written) / duration:.0f} writes/s beside",
            measured=f"{len(times) / duration:,.0f}/s, p50 {_at(times, 0.5):.1f},"
            f" p95 {_at(times, 0.95):.1f}, p99 {_at(times, 0.99):.1f} ms",
        ),
        Figure(
            what=f"list of ten, beside {_SLOW_CLIENTS} clients searching *a*b*",
            measured=f"{beside.rate:,.0f}/s, p50 {beside.p50:.1f}, p99 {beside.p99:.1f} ms",
            yardstick=f"quiet: {quiet.rate:,.0f}/s, p50 {quiet.p50:.1f}, p99 {quiet.p99:.1f} ms",
            ratio=beside.p99 / quiet.p99,
        ),
    ]


def _prepare(directory: Path, count: int) -> list[str]:
    """Fill a data directory; returns paths of searches that find something there."""
    stores = open_stores(directory)
    try:
        load_lines(stores.log, lines(count))
        shapes = Sample(islice(documents(stores.log), 0, None, max(1, count // 10_000))).shapes(40)
        _judge(directory, stores)
        catch_up(stores)
        usual = ("common term", "AND of two", "OR of three", "phrase", "prefix cust*")
        asked = [q for s in shapes if s.name in usual or "plain" in s.name for q in s.questions]
        return [_SEARCH + quote(question.text) for question in asked]
    finally:
        stores.close()


def _settle(directory: Path) -> None:
    """Do the merges that are due: another process sums their files before it shows new commits."""
    engine = WhooshEngine.open(directory / _INDEX)
    engine.merges.wake()
    engine.merges.wait()
    engine.close()


def _judge(directory: Path, stores: Stores) -> None:
    """Judge all contracts, which a server would go on with beside the first searches."""
    bounds = Bounds(days=1, most_bytes=1_000_000)
    with closing(measurements_at(directory, None, bounds)) as measurements:
        judge = Judge(stores.log, measurements)
        while judge.step():
            pass


def _finds(reader: Stores, sought: EngineQuery) -> bool:
    with reader.engine.use() as engine:
        return engine.search(sought).total == 1


def _searchable(directory: Path, writes: int) -> list[Figure]:
    """Change one entity at a time; the index is read as another process would."""
    writer, reader = open_stores(directory), open_stores(directory, writable=False)
    commits, refreshes = [], []
    try:
        supervisor = next(k for k in writer.supervisors if k.name == "search")
        for number in range(writes):
            word = f"unheardof{number}word"
            line = {"entityType": "team", "name": "Written", "fullyQualifiedName": "Written"}
            line |= {"teamType": "Group", "description": f"Says {word}."}
            load_lines(writer.log, [json.dumps(line).encode() + b"\n"])
            commits.append(seconds(supervisor.step) * 1000)
            sought = EngineQuery(tree=text.parsed(f"+{word}").node)
            start = time.perf_counter()
            while not _finds(reader, sought):
                assert time.perf_counter() - start < 5.0, "what was written is not found"
            refreshes.append((time.perf_counter() - start) * 1000)
    finally:
        reader.close()
        writer.close()
    work = statistics.median(map(sum, zip(commits, refreshes, strict=True)))
    return [
        Figure(
            what="one write to searchable: index commit and reader's first answer",
            measured=f"p50 {work:.1f} ms: commit p50 {_at(commits, 0.5):.1f},"
            f" p99 {_at(commits, 0.99):.1f}; reader p50 {_at(refreshes, 0.5):.1f},"
            f" p99 {_at(refreshes, 0.99):.1f}",
            budget=f"< {BUDGET_MS:g} ms",
            met=work < BUDGET_MS,
        )
    ]


async def _clients(server: Server, paths: Sequence[str], duration: int) -> list[float]:
    """Milliseconds of each request."""
    until = time.perf_counter() + duration
    shuffled = [random.Random(number).sample(paths, len(paths)) for number in range(_CLIENTS)]
    done = await asyncio.gather(
        *(client(server, itertools.cycle(mine), until) for mine in shuffled)
    )
    return [taken * 1000 for each in done for taken in each]


@contextmanager
def _slow_searches(server: Server) -> Iterator[None]:
    """Clients that ask for patterns which begin with nothing, each pattern once."""
    letters = [a + b for a in "etaoinshrdl" for b in "cumwfgypbvk"]
    patterns = (f"{_SEARCH}*{a}*{b}*" for a in letters for b in letters)
    with repeated(lambda: server.ask(next(patterns)), _SLOW_CLIENTS):
        yield


def _at(times: Sequence[float], share: float) -> float:
    return sorted(times)[math.ceil(share * len(times)) - 1]
