"""The figures of OpenLineage's door come out at a small size."""

from pathlib import Path

from benchmarks import openlineage
from benchmarks.workspace import Workspace


def test_figures_of_the_door_come_out(tmp_path: Path) -> None:
    figures = openlineage.figures_of(Workspace(tmp_path), 1_000, 1, 0.1)
    assert len(figures) == 5
