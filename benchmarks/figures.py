"""Results of a benchmark: figures beside their yardsticks, printed as a table."""

import statistics
import time
from collections.abc import Callable, Iterable

import msgspec
from rich.console import Console
from rich.table import Table


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """One thing measured, what it was held against, and whether that is good enough."""

    what: str
    measured: str
    yardstick: str = "-"
    ratio: float | None = None
    """Measured over yardstick, rounds interleaved, median of the rounds."""
    budget: str = "-"
    met: bool | None = None
    """None when there is no budget."""


def show(title: str, figures: Iterable[Figure]) -> None:
    """Print figures as a table."""
    table = Table(title=title, title_justify="left")
    for heading in ("figure", "measured", "yardstick", "ratio", "budget", "met"):
        table.add_column(heading)
    for figure in figures:
        table.add_row(
            figure.what,
            figure.measured,
            figure.yardstick,
            "-" if figure.ratio is None else f"{figure.ratio:.2f}",
            figure.budget,
            {None: "-", True: "yes", False: "NO"}[figure.met],
        )
    Console(width=None if Console().is_terminal else 150).print(table)


def seconds(work: Callable[[], object]) -> float:
    """Seconds that an action takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def rates(
    count: int,
    work: Callable[[], object],
    yardstick: Callable[[], object],
    *,
    rounds: int,
) -> tuple[float, float, float]:
    """Medians, over rounds A B A B, of both rates (`count` a second) and of their ratio."""
    measured, held_against = [], []
    for _ in range(rounds):
        measured.append(count / seconds(work))
        held_against.append(count / seconds(yardstick))
    ratios = [a / b for a, b in zip(measured, held_against, strict=True)]
    return (
        statistics.median(measured),
        statistics.median(held_against),
        statistics.median(ratios),
    )
