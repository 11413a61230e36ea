"""The comparison of two versions of a contract of 3,000 columns, each of which has changed."""

import json
import statistics
from functools import partial
from typing import Any

from benchmarks.figures import Figure, seconds
from benchmarks.waiting_loops import wait_figure
from benchmarks.workspace import Workspace
from domain.contracts.changes.comparing import Terms, compare

COLUMNS = 3_000
BUDGET_MS = 100.0
"""Milliseconds that the comparison may take."""
_ROUNDS = 15


def measure(workspace: Workspace, large: bool) -> list[Figure]:
    """The comparison, and how long the event loop waits beside it."""
    return figures_of(COLUMNS, _ROUNDS)


def figures_of(columns: int, rounds: int) -> list[Figure]:
    """The figures for contracts of so many columns."""
    old, new = _contract(columns, "a", 10), _contract(columns, "b", 20)
    texts = [json.dumps(each.document) for each in (old, new)]
    assert len(compare(old, new)) == 4 * columns
    work = partial(compare, old, new)
    median = statistics.median(seconds(work) for _ in range(rounds))
    read = statistics.median(seconds(lambda: [*map(json.loads, texts)]) for _ in range(rounds))
    return [
        Figure(
            what=f"compare two versions of {columns:,} columns, four changes in each",
            measured=f"{median * 1_000:.1f} ms",
            yardstick=f"{read * 1_000:.1f} ms (json reads both)",
            ratio=median / read,
            budget=f"<= {BUDGET_MS:.0f} ms",
            met=median * 1_000 <= BUDGET_MS,
        ),
        wait_figure(work, median, rounds, "it"),
    ]


def _contract(columns: int, text: str, length: int) -> Terms:
    made: list[dict[str, Any]] = [
        {
            "name": f"column_{number}",
            "logicalType": "string",
            "physicalType": f"varchar({length + number})",
            "description": text,
            "required": length > 10,
            "logicalTypeOptions": {"maxLength": length + number},
        }
        for number in range(columns)
    ]
    return Terms({"schema": [{"name": "wide", "properties": made}]})
