"""Choice of tests: those of `make test`, and those that `make test-deep` alone tries.

A test is marked `deep` where it tries more of what another test tries a little of. A deep run is of
these and of all tests that hypothesis draws examples for, of which it draws more.
"""

from hashlib import blake2b
from typing import Any

import hypothesis
import pytest

QUICK, DEEP = "quick", "deep"
"""The profiles of hypothesis."""
EXAMPLES = 25
"""Examples that `make test` draws for a test at most."""
QUARTERS = 4


def examples(deep: int, quick: int = EXAMPLES) -> int:
    """Return how many examples a test draws that draws `deep` examples in a deep run.

    `make test` draws `quick` at most: fewer where an example takes half a second. The profile of
    the run, which is loaded before any module of tests, says which run it is.
    """
    is_deep = hypothesis.settings().max_examples > EXAMPLES
    return deep if is_deep else min(deep, quick)


def first_alone(*values: Any) -> list[Any]:
    """Return values for `parametrize`, of which `make test` tries the first one alone."""
    return [values[0], *(pytest.param(each, marks=pytest.mark.deep) for each in values[1:])]


def quarter_of(node_id: str) -> int:
    """Return in which quarter of a deep run a test is, the same one in every run."""
    return blake2b(node_id.encode(), digest_size=1).digest()[0] % QUARTERS


def is_chosen(node_id: str, *, is_deep: bool, is_drawn: bool, depth: str | None) -> bool:
    """Return True if a run tries a test that is marked `deep`, or drawn by hypothesis, or neither.

    `depth` is None in `make test`, "all" in a deep run, or the number of one of its quarters.
    """
    if depth is None:
        return not is_deep
    return (is_deep or is_drawn) and (depth == "all" or int(depth) == quarter_of(node_id))


def choose(items: list[pytest.Item], depth: str | None) -> list[pytest.Item]:
    """Leave only the tests that a run tries in a list of tests, and return the others."""
    chosen, others = [], []
    for item in items:
        is_deep = item.get_closest_marker(DEEP) is not None
        is_drawn = isinstance(item, pytest.Function) and hasattr(item.obj, "is_hypothesis_test")
        is_tried = is_chosen(item.nodeid, is_deep=is_deep, is_drawn=is_drawn, depth=depth)
        (chosen if is_tried else others).append(item)
    items[:] = chosen
    return others
