"""The figures of facets come out at a small size, and both count the same."""

from pathlib import Path

from benchmarks import facets
from benchmarks.workspace import Workspace


def test_figures_come_out(tmp_path: Path) -> None:
    figures = facets.figures_of(Workspace(tmp_path), 200, rounds=1)
    assert [figure.what.split(":")[0] for figure in figures[:2]] == ["search 200"] * 2
    assert len(figures) == 2 + 13 + 2
    assert {figure.met for figure in figures} == {None}
    assert all(" 0 buckets" not in each.what for each in figures if "entityType" in each.what)
