"""Hostile load ends without a 500, and everything is still there."""

from pathlib import Path

import pytest

from benchmarks.hostile import figures_of
from benchmarks.workspace import Workspace


@pytest.mark.deep
def test_hostile_load_meets_no_500_and_verify_is_clean(tmp_path: Path) -> None:
    figures = figures_of(Workspace(tmp_path), 2, 200)
    assert [figure.met for figure in figures if figure.met is not None] == [True, True]
