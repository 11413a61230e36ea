"""The figures of documents of ODCS come out at a small size."""

from pathlib import Path

from benchmarks import odcs
from benchmarks.workspace import Workspace
from domain.contracts.judging import faults
from domain.contracts.yaml_input import read_yaml


def test_figures_come_out(tmp_path: Path) -> None:
    figures = odcs.figures_of(Workspace(tmp_path), 10_000, rounds=1)
    assert len(figures) == 6
    assert all(figure.measured.endswith(" ms") for figure in figures)


def test_document_is_as_large_as_asked_for_and_valid() -> None:
    text = odcs.made_document(odcs.BYTES)
    assert 0.95 * odcs.BYTES < len(text) < 1.05 * odcs.BYTES
    assert faults(read_yaml(text)) == []
