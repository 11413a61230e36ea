"""The small patches that events store: what differs of two values, and no more."""

from copy import deepcopy
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from domain.patches import json_diff, json_patch
from tests.domain.json_values import values

named = st.lists(
    st.fixed_dictionaries({"name": st.sampled_from("abcdef")}, optional={"x": values}), max_size=6
)


@given(values, values)
def test_applying_the_difference_gives_the_other_value(old: Any, new: Any) -> None:
    patch = json_diff.diff(old, new)
    assert {operation["op"] for operation in patch} <= {"add", "remove", "replace"}
    assert json_patch.same(json_patch.apply(deepcopy(old), deepcopy(patch)), new)
    assert (patch == []) == json_patch.same(old, new)


@given(named | st.lists(values), named | st.lists(values))
def test_what_differs_of_two_arrays_gives_the_difference_of_the_whole(old: Any, new: Any) -> None:
    part = json_diff.differing(*(Raw(msgspec.json.encode(each)) for each in (old, new)))
    assert part is not None
    before, after, start = part
    kept = len(old) - start - len(before)
    assert json_patch.same(old[:start] + after + old[len(old) - kept :], new)
    patch = json_diff.diff_named(before, after, "", start)
    if patch is not None:
        assert json_patch.same(json_patch.apply(deepcopy(old), patch), new)


def test_what_differs_is_told_of_arrays_only() -> None:
    for old, new in ((b"{}", b"[]"), (b"[]", b"1"), (b'"["', b'"]"')):
        assert json_diff.differing(Raw(old), Raw(new)) is None


def test_true_and_one_are_different_values() -> None:
    assert json_diff.diff({"a": 1, "b": False}, {"a": True, "b": 0}) == [
        {"op": "replace", "path": "/a", "value": True},
        {"op": "replace", "path": "/b", "value": 0},
    ]


def columns(count: int) -> list[dict[str, Any]]:
    return [
        {"name": f"c{i}", "dataType": "INT", "description": f"column {i}"} for i in range(count)
    ]


def test_one_changed_description_among_13_000_columns_is_one_operation() -> None:
    old, new = {"columns": columns(13_000)}, {"columns": columns(13_000)}
    new["columns"][6_500]["description"] = "changed"
    assert json_diff.diff(old, new) == [
        {"op": "replace", "path": "/columns/6500/description", "value": "changed"}
    ]


def test_inserted_column_is_one_addition() -> None:
    old, new = columns(100), columns(100)
    new.insert(40, {"name": "new", "dataType": "INT"})
    assert json_diff.diff(old, new, "/columns") == [
        {"op": "add", "path": "/columns/40", "value": {"name": "new", "dataType": "INT"}}
    ]


def test_removed_column_is_one_removal() -> None:
    old, new = columns(100), columns(100)
    del new[40]
    assert json_diff.diff(old, new, "/columns") == [{"op": "remove", "path": "/columns/40"}]


def test_reordered_columns_are_replaced_as_a_whole() -> None:
    old, new = columns(3), columns(3)[::-1]
    assert json_diff.diff(old, new, "/columns") == [
        {"op": "replace", "path": "/columns", "value": new}
    ]


def test_arrays_without_unique_names_are_replaced_as_a_whole() -> None:
    twins = [{"name": "a", "x": 1}, {"name": "a", "x": 2}]
    assert json_diff.diff(twins, twins[:1]) == [{"op": "replace", "path": "", "value": twins[:1]}]
    assert json_diff.diff(["a", "b"], ["a"]) == [{"op": "replace", "path": "", "value": ["a"]}]
