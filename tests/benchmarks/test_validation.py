"""The figures of a validation come out at a small size."""

from benchmarks import validation


def test_figures_come_out() -> None:
    figures = validation.figures_of(20, rounds=1)

    assert len(figures) == 2
    assert all(figure.measured.endswith(" ms") for figure in figures)
