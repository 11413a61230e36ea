"""Limits compared by the numbers that they let through, held to trying the numbers."""

import operator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.contracts.changes.limits import is_upper, number, relation_of_limits
from domain.contracts.data_types import Relation

OPERATORS = {
    "mustBe": operator.eq,
    "mustNotBe": operator.ne,
    "mustBeGreaterThan": operator.gt,
    "mustBeGreaterOrEqualTo": operator.ge,
    "mustBeLessThan": operator.lt,
    "mustBeLessOrEqualTo": operator.le,
}
TRIED = [step / 4 for step in range(-40, 41)]
_numbers = st.integers(-5, 5) | st.sampled_from([-1.5, 0.5, 2.5])
_limits = st.dictionaries(st.sampled_from([*OPERATORS]), _numbers, max_size=2)


def passed(limits: dict[str, Any], tried: list[float]) -> set[float]:
    return {
        value
        for value in tried
        if all(OPERATORS[key](value, limit) for key, limit in limits.items())
    }


@given(_limits, _limits, st.booleans())
def test_the_relation_is_that_of_the_numbers(
    old: dict[str, Any], new: dict[str, Any], whole: bool
) -> None:
    tried = [value for value in TRIED if value.is_integer() or not whole]
    was, now = passed(old, tried), passed(new, tried)
    expected = Relation.UNRELATED
    if was == now:
        expected = Relation.SAME
    elif was < now:
        expected = Relation.WIDER
    elif now < was:
        expected = Relation.NARROWER

    assert relation_of_limits(old, new, whole=whole) is expected


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({"mustBe": 0}, True),
        ({"mustBeLessThan": 5}, True),
        ({"mustBeBetween": [0, 3]}, True),
        ({"mustBeGreaterThan": 5}, False),
        ({"mustBeBetween": [2, 3]}, None),
        ({"mustBe": 2}, None),
        ({"mustBeLessThan": -1}, None),
        ({"mustBeLessThan": "few"}, None),
        ({"mustBeGreaterThan": 0, "mustBeLessThan": 5}, None),
        ({}, None),
    ],
)
def test_limits_that_small_counts_pass_are_upper(limits: dict[str, Any], expected: Any) -> None:
    assert is_upper(limits) is expected


def test_values_that_are_no_finite_number_are_not_compared() -> None:
    for value in ("nan", float("inf"), True, None, "x", [1, 2], 10**400):
        assert number(value) is None
        assert relation_of_limits({"mustBe": value}, {"mustBe": 1}, whole=False) is None
    assert number("1970-01-02") == 86_400
    assert number("1970-01-01T00:00:01Z") == 1


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ({"mustBe": 2**53}, {"mustBe": 2**53 + 1}, Relation.UNRELATED),
        ({"mustBeBetween": [0, 2**60]}, {"mustBeBetween": [0, 2**60 + 1]}, Relation.WIDER),
        ({"mustBeGreaterThan": 1e17}, {"mustBeLessThan": 1e17}, Relation.UNRELATED),
        ({"mustBeLessThan": 1.1e308}, {"mustBeLessOrEqualTo": 1.7e308}, Relation.WIDER),
        ({"mustNotBeBetween": [1e308, 1.7e308]}, {"mustBe": 1.5e308}, Relation.UNRELATED),
    ],
)
def test_large_limits_are_exact(
    old: dict[str, Any], new: dict[str, Any], expected: Relation
) -> None:
    assert relation_of_limits(old, new, whole=False) is expected
    assert relation_of_limits(old, new, whole=True) is expected
