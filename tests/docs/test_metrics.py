"""The page of the metrics lists what is served, and nothing else."""

import re
from pathlib import Path

import pytest

from tests.api.served_metrics import families, measured

PAGE = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text()
_ROW = re.compile(r"^\| `(catalog_\w+)` \| (\w+) \|([^|]*)\| [^|]+ \|$", re.MULTILINE)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[str, set[str]]]:
    """Name of each metric -> its type and its labels."""
    with measured(tmp_path_factory.mktemp("measured")) as client:
        found = families(client)
    return {
        each.name + "_total" * (each.type == "counter"): (
            each.type,
            set(each.samples[0].labels) - {"le"} if each.samples else set(),
        )
        for each in found
    }


def test_page_lists_each_metric_that_is_served_with_its_type_and_labels(
    served: dict[str, tuple[str, set[str]]],
) -> None:
    listed = {
        name: (sort, set(re.findall(r"`(\w+)`", labels)))
        for name, sort, labels in _ROW.findall(PAGE)
    }

    assert listed == served


def test_names_are_as_prometheus_wants_them(served: dict[str, tuple[str, set[str]]]) -> None:
    for name, (sort, _) in served.items():
        assert name.startswith("catalog_")
        assert name.endswith("_total") == (sort == "counter"), name
        assert not re.search(r"_(ms|kb|mb|percent|minutes|hours)\b", name)


def test_metrics_that_other_pages_name_are_listed() -> None:
    listed = {name for name, _, _ in _ROW.findall(PAGE)}
    for page in (Path(__file__).parents[2] / "docs").glob("*.md"):
        named = set(re.findall(r"`(catalog_(?!data|read_models|entities)\w+)`", page.read_text()))
        assert named <= listed, page.name
