"""The figures of searches as of a position come out at a small size, and both answer alike."""

from pathlib import Path

from benchmarks import search_past
from benchmarks.workspace import Workspace


def test_figures_come_out(tmp_path: Path) -> None:
    figures = search_past.figures_of(Workspace(tmp_path), 150, questions=2, batches=(1, 50))
    assert all(figure.ratio is not None and figure.ratio > 0 for figure in figures)
    assert [figure.what for figure in figures[-2:]] == [
        "changes in commits of 1, each",
        "changes in commits of 50, each",
    ]
