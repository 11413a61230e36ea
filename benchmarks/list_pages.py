"""Lists of ten contracts, beside a constant of the same bytes from the same server."""

import sqlite3
import statistics
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.load import Load, load
from benchmarks.running import CONSTANT, running
from benchmarks.workspace import ENTITIES, Workspace
from domain.registry import KINDS
from projections.entities.cursors import Place, encode
from projections.entities.port import ListRequest

BUDGET, FLAT = 0.6, 1.2
_ROUNDS, _SECONDS = 5, 2
_FIRST, _LAST = "first page", "last page"


def measure(workspace: Workspace, large: bool) -> list[Figure]:
    """Each page against the constant, and how much dearer large lists and last pages are."""
    sizes = (1_000, 100_000, *((1_000_000,) if large else ()))
    figures = []
    costs: dict[tuple[int, str], float] = {}
    for size in sizes:
        loads = _interleaved(workspace.contracts(size))
        for page in (_FIRST, _LAST):
            figure = _against_constant(size, page, loads)
            # Costs are in constants of the same server, so that they compare across servers.
            costs[size, page] = 1 / (figure.ratio or 1)
            figures.append(figure)
    cheapest = costs[sizes[0], _FIRST]
    dearest = max(costs.values()) / cheapest
    figures.append(
        Figure(
            what=f"dearest page of all, in first pages of {sizes[0]:,} contracts",
            measured=f"{dearest:.2f}x",
            budget=f"<= {FLAT}x",
            met=dearest <= FLAT,
        )
    )
    return figures


def _interleaved(directory: Path) -> list[dict[str, Load]]:
    """Rounds of: the constant, the first page, the last page."""
    paths = {
        "constant": CONSTANT,
        _FIRST: "/v1/dataContracts?limit=10",
        _LAST: f"/v1/dataContracts?limit=10&after={_cursor(directory)}",
    }
    with running(directory) as server:
        for path in paths.values():
            load(server, path, 1)
        return [
            {name: load(server, path, _SECONDS) for name, path in paths.items()}
            for _ in range(_ROUNDS)
        ]


def _against_constant(size: int, page: str, loads: list[dict[str, Load]]) -> Figure:
    ratio = statistics.median(each[page].rate / each["constant"].rate for each in loads)
    return Figure(
        what=f"list, {size:,} contracts, {page}",
        measured=_told([each[page] for each in loads]),
        yardstick=_told([each["constant"] for each in loads]),
        ratio=ratio,
        budget=f">= {BUDGET}",
        met=ratio >= BUDGET,
    )


def _told(loads: list[Load]) -> str:
    rate, p50, p99 = (
        statistics.median(getattr(each, key) for each in loads) for key in ("rate", "p50", "p99")
    )
    return f"{rate:,.0f}/s, p50 {p50:.1f} ms, p99 {p99:.1f} ms"


def _cursor(directory: Path) -> str:
    """The cursor that the last ten contracts come after."""
    kind = KINDS["dataContract"]
    connection = sqlite3.connect(directory / ENTITIES)
    try:
        name, entity_id = connection.execute(
            "SELECT name, id FROM entities WHERE kind = ? AND deleted = 0"
            " ORDER BY name DESC, id DESC LIMIT 1 OFFSET 10",
            (kind.name,),
        ).fetchone()
    finally:
        connection.close()
    return encode(
        Place(name, entity_id), ListRequest(kind=kind, limit=10).identity, backward=False
    ).decode()
