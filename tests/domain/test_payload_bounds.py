"""How many different keys a payload may have, and how deep it may be."""

from typing import Any

import pytest

from domain.errors import InvalidInput
from domain.payload_bounds import MAX_PATHS, check_bounds

TOO_MANY = (
    "an entity may have 1000 different dotted paths of keys,"
    " those of `extension` and its like included"
)


def keys(count: int) -> dict[str, Any]:
    return {f"k{number}": number for number in range(count)}


@pytest.mark.parametrize(
    "values",
    [
        {"extension": keys(MAX_PATHS - 1)},
        {"extension": {"a": keys(MAX_PATHS - 2)}},
        {"extension": [keys(MAX_PATHS - 1)] * 3},
        {"columns": [{"name": f"c{number}", "dataType": "INT"} for number in range(5_000)]},
        {"columns": {"children": {"children": keys(MAX_PATHS - 1)}}},
    ],
)
def test_as_many_paths_as_there_may_be(values: dict[str, Any]) -> None:
    check_bounds(values)


@pytest.mark.parametrize(
    "values",
    [
        {"extension": keys(MAX_PATHS)},
        {"extension": {"a": keys(MAX_PATHS - 1)}},
        {"columns": [{"extension": {f"k{number}": 1}} for number in range(MAX_PATHS)]},
        {"extension": {"a": keys(MAX_PATHS // 2), "b": keys(MAX_PATHS // 2)}},
    ],
)
def test_more_paths_are_refused(values: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput) as caught:
        check_bounds(values)
    assert caught.value.message == TOO_MANY


def test_depth_is_bounded() -> None:
    value: dict[str, Any] = {}
    for _ in range(63):
        value = {"a": value}
    check_bounds(value)
    with pytest.raises(InvalidInput, match=r"^values are nested more than 64 levels deep$"):
        check_bounds({"a": value})
