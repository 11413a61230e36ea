"""Plots as SVG: shapes stretched to the width of the page, with all text beside them in HTML."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

WIDTH, HEIGHT = 1000, 100
"""The units that shapes are placed in."""
COLOURS = 6
"""Number of series with a colour of their own in the style sheet; the last is for all others."""
REST = "others"


def stacked_bars(
    places: Sequence[str], counts: Sequence[Mapping[str, int]], order: Sequence[str] = ()
) -> dict[str, Any]:
    """A bar for each place, made of a part for each of the most frequent series.

    `counts` are series -> number at each place. The series are stacked in an order, or else with
    the most frequent one at the bottom. Each part is (series, x, y, width, height).
    """
    totals: Counter[str] = Counter()
    for each in counts:
        totals.update(each)
    series = [name for name in order or dict(totals.most_common()) if totals[name]]
    rows = [[each.get(name, 0) for name in series] for each in counts]
    if len(series) > COLOURS:
        series = [*series[: COLOURS - 1], REST]
        rows = [[*row[: COLOURS - 1], sum(row[COLOURS - 1 :])] for row in rows]
    most = max((sum(row) for row in rows), default=0)
    width = WIDTH / max(len(places), 1)
    parts = []
    for at, row in enumerate(rows):
        below = 0.0
        for number, value in enumerate(row):
            if value:
                height = HEIGHT * value / most
                parts.append(
                    (number, at * width, HEIGHT - below - height, max(width * 0.85, 0.6), height)
                )
                below += height
    return {
        "series": series,
        "totals": [sum(row[number] for row in rows) for number in range(len(series))],
        "parts": [tuple(round(each, 2) for each in part) for part in parts],
        "rows": [(place, row) for place, row in zip(places, rows, strict=True) if any(row)],
        "most": most,
        "first": places[0] if places else "",
        "last": places[-1] if places else "",
    }


def line(values: Sequence[float]) -> dict[str, Any]:
    """A line through values at equal distances: its points, and the least and most of them."""
    most = max(values, default=0)
    step = WIDTH / max(len(values) - 1, 1)
    points = [
        f"{at * step:.1f},{HEIGHT - (HEIGHT * 0.96 * value / most if most else 0):.1f}"
        for at, value in enumerate(values)
    ]
    return {"points": " ".join(points), "most": most, "last": values[-1] if values else 0}
