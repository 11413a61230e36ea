"""`make test` and the quarters of a deep run try every test, the same ones in every run."""

import hypothesis
import pytest

from tests import depth

IDS = [f"tests/test_some.py::test_{number}" for number in range(200)]


def test_quick_run_tries_all_tests_but_deep_ones() -> None:
    tried = {
        (is_deep, is_drawn): depth.is_chosen(IDS[0], is_deep=is_deep, is_drawn=is_drawn, depth=None)
        for is_deep in (False, True)
        for is_drawn in (False, True)
    }

    assert tried == {(False, False): True, (False, True): True, (True, False): False} | {
        (True, True): False
    }


@pytest.mark.parametrize(
    ("is_deep", "is_drawn", "times"), [(False, False, 0), (True, False, 1), (False, True, 1)]
)
def test_quarters_try_deep_and_drawn_tests_once(is_deep: bool, is_drawn: bool, times: int) -> None:
    quarters = [str(number) for number in range(depth.QUARTERS)]

    for node_id in IDS:
        tried = [
            depth.is_chosen(node_id, is_deep=is_deep, is_drawn=is_drawn, depth=quarter)
            for quarter in quarters
        ]
        assert sum(tried) == times
        assert depth.is_chosen(node_id, is_deep=is_deep, is_drawn=is_drawn, depth="all") == any(
            tried
        )


def test_quarter_of_a_test_is_the_same_in_every_process() -> None:
    assert [depth.quarter_of(node_id) for node_id in IDS[:6]] == [3, 3, 1, 0, 3, 0]


def test_quarters_are_about_as_large() -> None:
    sizes = [[*map(depth.quarter_of, IDS)].count(quarter) for quarter in range(depth.QUARTERS)]

    assert sum(sizes) == len(IDS)
    assert min(sizes) > len(IDS) / (2 * depth.QUARTERS)


def test_drawn_examples_follow_the_profile() -> None:
    is_deep = hypothesis.settings().max_examples == 100

    assert depth.examples(400) == (400 if is_deep else depth.EXAMPLES)
    assert depth.examples(10) == 10
