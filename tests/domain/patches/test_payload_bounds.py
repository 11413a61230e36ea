"""Bounds of a payload: its number of different keys, and its depth."""

from typing import Any

import msgspec
import pytest
from msgspec import Raw

from domain.errors import InvalidInput
from domain.patches.payload_bounds import MAX_MARKS, MAX_PATHS, check_bounds, check_marks

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
    check_bounds(recorded(**values))


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
    with pytest.raises(InvalidInput) as caught:
        check_bounds({**recorded(**values), "name": "t"})
    assert caught.value.message == TOO_MANY


def test_paths_of_recorded_and_new_values_are_counted_together() -> None:
    half = keys(MAX_PATHS // 2)
    check_bounds({**recorded(a=half), "b": keys(MAX_PATHS // 2 - 2)})
    with pytest.raises(InvalidInput) as caught:
        check_bounds({**recorded(a=half), "b": half})
    assert caught.value.message == TOO_MANY


def test_depth_is_bounded() -> None:
    value: dict[str, Any] = {}
    for _ in range(63):
        value = {"a": value}
    check_bounds(value)
    with pytest.raises(InvalidInput, match=r"^values are nested more than 64 levels deep$"):
        check_bounds({"a": value})


def labels(count: int, start: int = 0) -> list[dict[str, str]]:
    return [{"tagFQN": f"Made.t{number}", "source": "Classification"} for number in range(count)][
        start:
    ]


def recorded(**values: Any) -> dict[str, Raw]:
    return {key: Raw(msgspec.json.encode(value)) for key, value in values.items()}


def people(count: int) -> list[dict[str, str]]:
    return [{"id": f"{number:036}", "type": "user", "name": "n"} for number in range(count)]


@pytest.mark.parametrize(
    "values",
    [
        {"tags": labels(MAX_MARKS)},
        {"columns": [{"name": "c", "tags": labels(3)}] * MAX_MARKS},
        {"tags": labels(MAX_MARKS), "columns": [{"tags": labels(MAX_MARKS)}]},
        {"extension": {"tags": labels(MAX_MARKS + 1)}},
        {"description": '"tagFQN":"x",' * (MAX_MARKS + 1), "tags": labels(MAX_MARKS)},
        {"tags": [{"tagFQN": 'A."b""c"'}, *labels(MAX_MARKS - 1)]},
        {"owners": people(MAX_MARKS), "domains": people(MAX_MARKS)},
    ],
)
def test_as_many_tags_and_owners_as_there_may_be(values: dict[str, Any]) -> None:
    check_marks(recorded(**values))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"tags": labels(MAX_MARKS + 1)}, "an entity may have 5000 different tags"),
        (
            {"tags": labels(3_000), "columns": [{"children": [{"tags": labels(6_000, 2_999)}]}]},
            "those of its parts included, got 6000",
        ),
        (
            {"tags": [{"tagFQN": f'Made."t.{n}\\"'} for n in range(MAX_MARKS + 1)]},
            "those of its parts included, got 5001",
        ),
        ({"owners": people(MAX_MARKS + 1)}, "an entity may have 5000 owners, got 5001"),
        ({"domains": people(MAX_MARKS + 1)}, "an entity may have 5000 domains, got 5001"),
    ],
)
def test_more_tags_and_owners_are_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        check_marks(recorded(**values))


def test_what_has_more_tags_than_there_may_be_gets_no_more_of_them() -> None:
    before = recorded(tags=labels(MAX_MARKS + 2), description="x" * 1_000_000)

    check_marks(recorded(tags=labels(MAX_MARKS + 2), description="y"), before)
    check_marks(recorded(tags=labels(MAX_MARKS + 1)), before)
    # The whole is smaller than before.
    with pytest.raises(InvalidInput, match="an entity may have 5000 different tags"):
        check_marks(recorded(tags=labels(MAX_MARKS + 3)), before)
    with pytest.raises(InvalidInput, match="an entity may have 5000 owners"):
        check_marks(recorded(tags=labels(MAX_MARKS), owners=people(MAX_MARKS + 1)), before)
