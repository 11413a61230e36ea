"""The figures of verdicts come out at a small size."""

from pathlib import Path

from benchmarks import verdicts
from benchmarks.workspace import Workspace


def test_figures_of_verdicts_come_out(tmp_path: Path) -> None:
    figures = verdicts.figures_of(Workspace(tmp_path), 300)
    assert len(figures) == 3
