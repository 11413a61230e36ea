"""The figures of the comparison come out at a small size."""

from benchmarks import changes


def test_figures_come_out() -> None:
    figures = changes.figures_of(20, rounds=1)

    assert len(figures) == 2
    assert all(figure.measured.endswith(" ms") for figure in figures)
