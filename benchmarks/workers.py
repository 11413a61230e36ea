"""Reads of a server with two workers, beside one that serves and projects in one process.

The ratio of the rates says what two workers give only where two processors are free for them and
others for the client. Processor time does not depend on that: what all processes of the server take
for a request tells what sharing the work costs, and together with what the client takes, which
ratio of the rates these processors allow at all.
"""

import json
import os
import resource
import shutil
import statistics
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from urllib.request import Request, urlopen

import msgspec

from benchmarks.figures import Figure
from benchmarks.load import CONNECTIONS, load
from benchmarks.running import Server, running
from benchmarks.workspace import Workspace

BUDGET, BUDGET_WORK = 1.7, 1.18
_CONTRACTS = 1_000
_PATHS = ["/v1/dataContracts?limit=10"]
_ROUNDS, _SECONDS = 7, 2
_CLIENTS = 2
"""Processes of the client of our own, where wrk is not installed."""
_PATIENCE = 120.0


class Run(msgspec.Struct, frozen=True):
    """Work that a server did under load."""

    rate: float
    """Requests a second."""
    work: float
    """Microseconds of processor time that the server took for each request."""
    client: float
    """Microseconds that the client took for each."""


def measure(workspace: Workspace, large: bool) -> list[Figure]:
    """Rates and processor time of two workers against one, rounds interleaved."""
    with ExitStack() as stack:
        one, two = (stack.enter_context(_server(workspace, workers)) for workers in (1, 2))
        for server in (one, two):
            _await_projections(server)
            _run(server)
        rounds = [(_run(two), _run(one)) for _ in range(_ROUNDS)]
    return figures(rounds, os.cpu_count() or 1)


def figures(rounds: list[tuple[Run, Run]], processors: int) -> list[Figure]:
    """The figures of rounds of two workers and one, on so many processors."""

    def medians(of: Callable[[Run], float]) -> tuple[float, float, float]:
        twos, ones = [of(two) for two, _ in rounds], [of(one) for _, one in rounds]
        ratios = [two / one for two, one in zip(twos, ones, strict=True)]
        return statistics.median(twos), statistics.median(ones), statistics.median(ratios)

    rate, rate_one, ratio = medians(lambda run: run.rate)
    work, work_one, dearer = medians(lambda run: run.work)
    client = statistics.median(two.client for two, _ in rounds)
    most = min(2.0, processors * work_one / (work + client))
    return [
        Figure(
            what=f"list of 10, {CONNECTIONS} connections, 2 workers against 1",
            measured=f"{rate:,.0f}/s",
            yardstick=f"{rate_one:,.0f}/s",
            ratio=ratio,
            budget=f">= {BUDGET}",
            met=ratio >= BUDGET,
        ),
        Figure(
            what=f"the most that {processors} processors allow beside the client",
            measured=f"{most:.2f}x",
            yardstick=f"client: {client:.0f} us for each request",
        ),
        Figure(
            what="processor time of all processes of the server for each request",
            measured=f"{work:.0f} us",
            yardstick=f"{work_one:.0f} us",
            ratio=dearer,
            budget=f"<= {BUDGET_WORK}",
            met=dearer <= BUDGET_WORK,
        ),
    ]


def _server(workspace: Workspace, workers: int) -> AbstractContextManager[Server]:
    """A server with a copy of the same contracts for itself."""
    directory = workspace.fresh() / "data"
    shutil.copytree(workspace.contracts(_CONTRACTS), directory)
    command = [sys.executable, "-m", "api.commands", "serve", "--port=0"]
    command += [f"--data={directory}", f"--workers={workers}"]
    return running(directory, command, role="admin")


def _await_projections(server: Server) -> None:
    """Wait until the search index is built, which the workspace leaves out."""
    request = Request(f"http://{server.host}:{server.port}/v1/system/projections")
    request.add_header("Authorization", f"Bearer {server.token}")
    deadline = time.monotonic() + _PATIENCE
    while True:
        with urlopen(request, timeout=_PATIENCE) as response:
            reports = json.load(response)["projections"]
        if all((each["state"], each["lag"]) == ("running", 0) for each in reports):
            return
        assert time.monotonic() < deadline, reports
        time.sleep(0.1)


def _run(server: Server) -> Run:
    work, client = _work(server), _work_of_clients()
    rate = _rate(server)
    requests = rate * _SECONDS
    return Run(
        rate,
        (_work(server) - work) / requests * 1e6,
        (_work_of_clients() - client) / requests * 1e6,
    )


def _rate(server: Server) -> float:
    """Requests a second of a client whose processes have all ended."""
    if shutil.which("wrk"):
        return load(server, _PATHS, _SECONDS).rate
    with ProcessPoolExecutor(_CLIENTS) as pool:
        loads = [pool.submit(load, server, _PATHS, _SECONDS) for _ in range(_CLIENTS)]
        return sum(each.result().rate for each in loads)


def _work(server: Server) -> float:
    """CPU seconds of the server's processes so far."""
    children = Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()
    processes = [server, *(msgspec.structs.replace(server, pid=int(child)) for child in children)]
    return sum(each.work() for each in processes)


def _work_of_clients() -> float:
    """CPU seconds of processes that were started here and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
