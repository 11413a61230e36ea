"""Lists of ten contracts, beside a bare ASGI application that gives the bytes of a page."""

import sqlite3
import statistics
from collections import deque
from pathlib import Path

from benchmarks.awake import awake
from benchmarks.bare import bare
from benchmarks.beside import writing
from benchmarks.figures import Figure
from benchmarks.load import Load, load
from benchmarks.running import Server, running
from benchmarks.workspace import ENTITIES, Workspace
from domain.kinds.registry import KINDS
from projections.entities.cursors import Place, encode
from projections.entities.list_port import ListRequest

AGAIN, ONCE, FLAT = 0.7, 0.3, 1.2
_ROUNDS, _SECONDS = 5, 2
_PAGES = 5_000
"""Different pages that are walked: several times as many bytes as remembered answers may have."""
_FIRST, _LAST, _WALK = "first page again and again", "last page again and again", "every page once"
_BESIDE, _WRITES = "every page once, beside writes", 50
"""Changes of an entity of another kind in a second."""
_LIST = "/v1/dataContracts?limit=10"


def measure(workspace: Workspace, large: bool) -> list[Figure]:
    """Each page against the constant, and how much dearer large lists and last pages are."""
    sizes = (1_000, 100_000, *((1_000_000,) if large else ()))
    figures = []
    costs: dict[str, list[float]] = {}
    for size in sizes:
        # Of a small list the answers to all pages are remembered.
        measured = _interleaved(workspace, workspace.contracts(size), walks=size > sizes[0])
        for page, loads in measured.items():
            least = ONCE if page in (_WALK, _BESIDE) else AGAIN
            figure = against_bare(f"list, {size:,} contracts, {page}", page, loads, least)
            # Costs are in constants, so that they compare across servers.
            costs.setdefault(page, []).append(1 / (figure.ratio or 1))
            figures.append(figure)
    cheapest = costs[_FIRST][0]
    flat = {
        f"dearest of first and last pages, in first pages of {sizes[0]:,}": max(
            *costs[_FIRST], *costs[_LAST]
        )
        / cheapest
    }
    if large:
        flat["dearest walk, in the cheapest"] = max(costs[_WALK]) / min(costs[_WALK])
    for what, dearest in flat.items():
        budget = f"<= {FLAT}x"
        figures.append(
            Figure(what=what, measured=f"{dearest:.2f}x", budget=budget, met=dearest <= FLAT)
        )
    return figures


def _interleaved(
    workspace: Workspace, directory: Path, *, walks: bool
) -> dict[str, list[dict[str, Load]]]:
    """Rounds with the first page and the last page; the constant is asked for in each round.

    With `walks` also a walk through many pages, and rounds with such a walk beside writes.
    """
    cursors = _cursors(directory)
    paths = {_FIRST: [_LIST], _LAST: [f"{_LIST}&after={cursors[-1]}"]}
    walk = [f"{_LIST}&after={cursor}" for cursor in cursors[:-1]]
    if walks:
        paths[_WALK] = walk
    with running(directory, role="admin") as server:
        page = server.ask(_LIST)
        with bare(workspace.fresh(), {"page": page}, server.token) as yardstick:
            loads = dict.fromkeys(paths, rounds(server, paths, yardstick, "/page"))
            if walks:
                with writing(server, _WRITES):
                    loads[_BESIDE] = rounds(server, {_BESIDE: walk}, yardstick, "/page")
    return loads


def rounds(
    server: Server, paths: dict[str, list[str]], yardstick: Server, constant: str
) -> list[dict[str, Load]]:
    """Loads by name of the paths, with the constant's under "constant", round after round.

    Each load goes on behind the path that the one before it has ended at: the answers to paths that
    were asked for a moment ago and are asked for again are remembered.
    """
    loads = list[dict[str, Load]]()
    asked = {name: deque(given) for name, given in paths.items()}

    def walk(name: str, seconds: int) -> Load:
        walked = load(server, asked[name], seconds)
        asked[name].rotate(-round(walked.rate * seconds))
        return walked

    for name in paths:
        walk(name, 1)
    with awake():
        for _ in range(_ROUNDS):
            constants = {"constant": load(yardstick, [constant], _SECONDS)}
            loads.append(constants | {name: walk(name, _SECONDS) for name in paths})
    return loads


def against_bare(what: str, name: str, loads: list[dict[str, Load]], budget: float) -> Figure:
    """A figure of the loads under a name against the constant's of the same rounds."""
    ratio = statistics.median(each[name].rate / each["constant"].rate for each in loads)
    return Figure(
        what=what,
        measured=_told([each[name] for each in loads]),
        yardstick=_told([each["constant"] for each in loads]),
        ratio=ratio,
        budget=f">= {budget}",
        met=ratio >= budget,
    )


def _told(loads: list[Load]) -> str:
    rate, p50, p99 = (
        statistics.median(getattr(each, key) for each in loads) for key in ("rate", "p50", "p99")
    )
    return f"{rate:,.0f}/s, p50 {p50:.2f} ms, p99 {p99:.2f} ms"


def _cursors(directory: Path) -> list[str]:
    """Cursors of places all over the list; only ten contracts come after the last one."""
    identity = ListRequest(kind=KINDS["dataContract"], limit=10).identity
    return [encode(place, identity, backward=False).decode() for place in places(directory, _PAGES)]


def places(directory: Path, count: int) -> list[Place]:
    """So many places all over the list; only ten contracts come after the last one."""
    kind = KINDS["dataContract"]
    connection = sqlite3.connect(directory / ENTITIES)
    try:
        found = connection.execute(
            "SELECT name, id FROM entities WHERE kind = ? AND deleted = 0 ORDER BY name, id",
            (kind.name,),
        ).fetchall()
    finally:
        connection.close()
    chosen = [*found[: -11 : max(1, len(found) // count)], found[-11]]
    return [Place(*each) for each in chosen]
