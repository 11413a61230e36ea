"""Starting the product with a real catalog, and what it takes when nobody asks."""

import statistics
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.running import answers, running
from benchmarks.workspace import Workspace

BUDGET_SECONDS, BUDGET_MEMORY = 1.0, 150
CATALOG = Path(__file__).parents[2] / "shared" / "data" / "mozilla.jsonl.gz"
_ROUNDS = 5
_IDLE_SECONDS = 2.0
_PATIENCE = 300.0
_YARDSTICK = "import litestar, uvicorn, msgspec, eventsourcing, whoosh.index, numpy"


def measure(workspace: Workspace, large: bool) -> list[Figure]:
    """Seconds until `/readyz` says yes, beside importing the libraries; memory once idle."""
    if not CATALOG.exists():
        print(f"process: skipped, there is no {CATALOG.name} in the shared data")
        return []
    directory = workspace.fresh()
    command = [sys.executable, "-m", "api.commands"]
    subprocess.run(
        [*command, "import", "--data", str(directory), str(CATALOG)],
        check=True,
        capture_output=True,
    )
    serve = [*command, "serve", "--port", "0", "--data", str(directory)]
    _start(directory, serve)  # Builds the read models, which later starts find.
    starts, plain, memory = [], [], 0.0
    for _ in range(_ROUNDS):
        start, memory = _start(directory, serve)
        starts.append(start)
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", _YARDSTICK], check=True)
        plain.append(time.perf_counter() - began)
    seconds = statistics.median(starts)
    return [
        Figure(
            what="start until ready, 4,307 entities",
            measured=f"{seconds:.2f} s",
            yardstick=f"{statistics.median(plain):.2f} s",
            ratio=statistics.median(a / b for a, b in zip(starts, plain, strict=True)),
            budget=f"< {BUDGET_SECONDS} s",
            met=seconds < BUDGET_SECONDS,
        ),
        Figure(
            what="memory when idle, 4,307 entities",
            measured=f"{memory:,.0f} MB",
            budget=f"< {BUDGET_MEMORY} MB",
            met=memory < BUDGET_MEMORY,
        ),
    ]


def _start(directory: Path, serve: list[str]) -> tuple[float, float]:
    """Seconds from the start to the first 200 of `/readyz`, and MB in use a little later."""
    began = time.perf_counter()
    with running(directory, serve) as server:
        while not answers(f"http://{server.host}:{server.port}/readyz"):
            assert time.perf_counter() - began < _PATIENCE, "the server does not become ready"
            time.sleep(0.005)
        ready = time.perf_counter() - began
        while not _idle(server.pid):
            pass
        return ready, server.memory()


def _idle(pid: int) -> bool:
    """True if a process takes less than a fifth of a processor; waits to see."""
    before = _ticks(pid)
    time.sleep(_IDLE_SECONDS)
    return _ticks(pid) - before < 100 * _IDLE_SECONDS / 5


def _ticks(pid: int) -> int:
    """Hundredths of a second of processor time."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return int(fields[11]) + int(fields[12])
