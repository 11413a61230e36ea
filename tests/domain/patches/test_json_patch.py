"""RFC 6902 patches: the standard's own examples, and what they may not do."""

from contextlib import suppress
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.errors import InvalidInput
from domain.patches import json_patch
from tests.domain.json_values import keys, values

APPENDIX_A = {
    "A.1 adding a member": (
        {"foo": "bar"},
        [{"op": "add", "path": "/baz", "value": "qux"}],
        {"baz": "qux", "foo": "bar"},
    ),
    "A.2 adding an element": (
        {"foo": ["bar", "baz"]},
        [{"op": "add", "path": "/foo/1", "value": "qux"}],
        {"foo": ["bar", "qux", "baz"]},
    ),
    "A.3 removing a member": (
        {"baz": "qux", "foo": "bar"},
        [{"op": "remove", "path": "/baz"}],
        {"foo": "bar"},
    ),
    "A.4 removing an element": (
        {"foo": ["bar", "qux", "baz"]},
        [{"op": "remove", "path": "/foo/1"}],
        {"foo": ["bar", "baz"]},
    ),
    "A.5 replacing a value": (
        {"baz": "qux", "foo": "bar"},
        [{"op": "replace", "path": "/baz", "value": "boo"}],
        {"baz": "boo", "foo": "bar"},
    ),
    "A.6 moving a value": (
        {"foo": {"bar": "baz", "waldo": "fred"}, "qux": {"corge": "grault"}},
        [{"op": "move", "from": "/foo/waldo", "path": "/qux/thud"}],
        {"foo": {"bar": "baz"}, "qux": {"corge": "grault", "thud": "fred"}},
    ),
    "A.7 moving an element": (
        {"foo": ["all", "grass", "cows", "eat"]},
        [{"op": "move", "from": "/foo/1", "path": "/foo/3"}],
        {"foo": ["all", "cows", "eat", "grass"]},
    ),
    "A.8 testing a value": (
        {"baz": "qux", "foo": ["a", 2, "c"]},
        [
            {"op": "test", "path": "/baz", "value": "qux"},
            {"op": "test", "path": "/foo/1", "value": 2},
        ],
        {"baz": "qux", "foo": ["a", 2, "c"]},
    ),
    "A.10 adding a nested member": (
        {"foo": "bar"},
        [{"op": "add", "path": "/child", "value": {"grandchild": {}}}],
        {"foo": "bar", "child": {"grandchild": {}}},
    ),
    "A.11 ignoring unrecognised members": (
        {"foo": "bar"},
        [{"op": "add", "path": "/baz", "value": "qux", "xyz": 123}],
        {"foo": "bar", "baz": "qux"},
    ),
    "A.14 escaping order": (
        {"/": 9, "~1": 10},
        [{"op": "test", "path": "/~01", "value": 10}],
        {"/": 9, "~1": 10},
    ),
    "A.16 adding an array value": (
        {"foo": ["bar"]},
        [{"op": "add", "path": "/foo/-", "value": ["abc", "def"]}],
        {"foo": ["bar", ["abc", "def"]]},
    ),
    "copying leaves the copies independent": (
        {"a": {"x": 1}},
        [
            {"op": "copy", "from": "/a", "path": "/b"},
            {"op": "replace", "path": "/b/x", "value": 2},
        ],
        {"a": {"x": 1}, "b": {"x": 2}},
    ),
    "adding replaces an existing member": (
        {"a": 1},
        [{"op": "add", "path": "/a", "value": 2}],
        {"a": 2},
    ),
    "replacing the whole document": ({"a": 1}, [{"op": "replace", "path": "", "value": []}], []),
}


@pytest.mark.parametrize(("document", "patch", "expected"), APPENDIX_A.values(), ids=APPENDIX_A)
def test_apply_follows_the_standard(document: Any, patch: Any, expected: Any) -> None:
    assert json_patch.apply(document, patch) == expected


@pytest.mark.parametrize(
    ("operation", "why"),
    [
        ({"op": "add", "path": "/baz/bat", "value": 1}, "there is no 'baz'"),  # A.12
        ({"op": "test", "path": "/foo/1", "value": "2"}, "the value at '/foo/1' is not the one"),
        ({"op": "test", "path": "/one", "value": True}, "the value at '/one' is not the one"),
        ({"op": "add", "path": "/foo/3", "value": 1}, "'3' is no place in an array of 2"),
        ({"op": "add", "path": "/foo/01", "value": 1}, "'01' is no place in an array of 2"),
        ({"op": "add", "path": "/foo/-1", "value": 1}, "'-1' is no place in an array of 2"),
        ({"op": "add", "path": "/foo/\u0660", "value": 1}, "'\u0660' is no place in an array of 2"),
        ({"op": "replace", "path": "/foo/2", "value": 1}, "'2' is no place in an array of 2"),
        ({"op": "remove", "path": "/foo/-"}, "'-' is no place in an array of 2"),
        ({"op": "remove", "path": "/nothing"}, "there is no 'nothing'"),
        ({"op": "remove", "path": ""}, "the whole document cannot be removed"),
        ({"op": "remove", "path": "/one/x"}, "'x' looks into a value that holds nothing"),
        ({"op": "add", "path": "/one/x", "value": 1}, "'x' cannot be added to a value that holds"),
        ({"op": "move", "from": "/foo", "path": "/foo/0"}, "a value cannot be moved into itself"),
        ({"op": "copy", "from": "/nothing", "path": "/a"}, "there is no 'nothing'"),
        ({"op": "add", "path": "foo", "value": 1}, "a path is empty or starts with '/', got 'foo'"),
        ({"op": "add", "path": 7, "value": 1}, "a path is empty or starts with '/', got 7"),
        ({"op": "add", "path": "/~2", "value": 1}, "'~' is written ~0 and '/' ~1 in a path"),
        ({"op": "add", "path": "/a"}, "'add' needs a 'value'"),
        ({"op": "move", "path": "/a"}, "'move' needs a 'from'"),
        ({"op": "remove"}, "'remove' needs a 'path'"),
        ({"op": "spam", "path": ""}, "'op' must be one of add, remove, replace, move, copy, test"),
        ({"op": ["add"], "path": ""}, "'op' must be one of add, remove, replace, move, copy, test"),
        ({"path": "/a"}, "'op' must be one of add, remove, replace, move, copy, test, got None"),
        ("add", "an operation is an object"),
    ],
)
def test_apply_names_the_operation_that_fails(operation: Any, why: str) -> None:
    document = {"foo": ["a", 2], "one": 1}
    with pytest.raises(InvalidInput) as caught:
        json_patch.apply(document, [{"op": "test", "path": "/one", "value": 1}, operation])
    assert caught.value.message[: len(why) + 24] == f"JSON Patch operation 1: {why}"


@pytest.mark.parametrize(
    ("text", "tokens", "value"),
    [
        ("/foo", ["foo"], ["bar", "baz"]),
        ("/foo/0", ["foo", "0"], "bar"),
        ("/", [""], 0),
        ("/a~1b", ["a/b"], 1),
        ("/c%d", ["c%d"], 2),
        ("/i\\j", ["i\\j"], 5),
        ('/k"l', ['k"l'], 6),
        ("/ ", [" "], 7),
        ("/m~0n", ["m~n"], 8),
    ],
)
def test_pointer_follows_rfc_6901(text: str, tokens: list[str], value: Any) -> None:
    document = {"foo": ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "i\\j": 5, 'k"l': 6}
    document |= {" ": 7, "m~n": 8}
    assert json_patch.pointer(text) == tokens
    assert json_patch.pointer("/" + "/".join(map(json_patch.escape, tokens))) == tokens
    assert json_patch.apply(document, [{"op": "test", "path": text, "value": value}]) is document


@pytest.mark.parametrize(
    ("patch", "changed"),
    [
        ([{"op": "test", "path": "/a", "value": 1}], set()),
        ([{"op": "add", "path": "/b/0/c", "value": 1}, {"op": "remove", "path": "/a"}], {"a", "b"}),
        ([{"op": "move", "from": "/a", "path": "/c"}], {"a", "c"}),
        ([{"op": "copy", "from": "/a", "path": "/c"}], {"c"}),
        ([{"op": "add", "path": "/x~1y", "value": 1, "from": 7}], {"x/y"}),
        ([{"op": "replace", "path": "", "value": {}}], {"every", "key"}),
    ],
)
def test_changed_keys_are_those_that_a_patch_may_change(patch: Any, changed: set[str]) -> None:
    assert json_patch.changed_keys(patch, {"every", "key"}) == changed


@pytest.mark.parametrize(
    ("patch", "touched"),
    [
        ([{"op": "test", "path": "/a", "value": 1}], {"a"}),
        ([{"op": "add", "path": "/b/0/c", "value": 1}, {"op": "remove", "path": "/a"}], {"a", "b"}),
        ([{"op": "copy", "from": "/a~0/1", "path": "/c"}], {"a~", "c"}),
        ([{"op": "test", "path": "", "value": {}}], {"every", "key"}),
        ([{"op": "move", "from": "", "path": "/c"}], {"every", "key"}),
        (["no operation", {"op": "add", "path": 7}, {"op": "remove", "path": "/a"}], {"a"}),
        ([{"op": "remove", "path": "/a~2"}], {"every", "key"}),
    ],
)
def test_touched_keys_are_those_that_a_patch_looks_at(patch: Any, touched: set[str]) -> None:
    assert json_patch.touched_keys(patch, {"every", "key"}) == touched


def test_apply_leaves_the_patch_as_it_is() -> None:
    patch = [
        {"op": "add", "path": "/a", "value": {"b": []}},
        {"op": "add", "path": "/a/b/-", "value": 1},
        {"op": "replace", "path": "/c", "value": [0]},
        {"op": "remove", "path": "/c/0"},
    ]
    before = deepcopy(patch)
    assert json_patch.apply({"c": 1}, patch) == {"a": {"b": [1]}, "c": []}
    assert patch == before


names = st.sampled_from(["add", "remove", "replace", "move", "copy", "test"])
paths = st.lists(keys | st.sampled_from(["1", "-"]), max_size=3).map(
    lambda tokens: "".join("/" + json_patch.escape(token) for token in tokens)
)
operations = st.fixed_dictionaries(
    {"op": names | values, "path": paths | values},
    optional={"from": paths | values, "value": values},
)


@given(values, st.lists(operations | values, max_size=6))
def test_apply_of_anything_gives_a_value_or_invalid_input(document: Any, patch: Any) -> None:
    with suppress(InvalidInput):
        json_patch.apply(document, patch)


def test_copies_cannot_double_a_value_for_ever() -> None:
    patch = [{"op": "copy", "from": "/a", "path": f"/a/{number}"} for number in range(40)]
    with pytest.raises(InvalidInput) as caught:
        json_patch.apply({"a": {"x": 1}}, patch)
    assert caught.value.message == (
        "JSON Patch operation 19: the patch copies more than 10000000 bytes of JSON"
    )


def test_copies_are_counted_in_bytes() -> None:
    text = "x" * 999_998
    patch = [{"op": "copy", "from": "/a", "path": f"/b{number}"} for number in range(11)]
    assert len(json_patch.apply({"a": text}, patch[:10])) == 11
    with pytest.raises(InvalidInput) as caught:
        json_patch.apply({"a": text}, patch)
    assert caught.value.message == (
        "JSON Patch operation 10: the patch copies more than 10000000 bytes of JSON"
    )


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels - 1):
        value = [value]
    return value


@pytest.mark.parametrize("levels", [65, 100_000])
def test_copies_and_patches_are_bounded_in_depth(levels: int) -> None:
    copy = {"op": "copy", "from": "/a", "path": "/b"}
    assert json_patch.apply({"a": nested(65)}, [copy]) == {"a": nested(65), "b": nested(65)}
    with pytest.raises(InvalidInput) as caught:
        json_patch.apply({"a": nested(levels + 1)}, [copy])
    assert caught.value.message == (
        "JSON Patch operation 0: values are nested more than 64 levels deep"
    )
    with pytest.raises(InvalidInput) as caught:
        json_patch.check_size([{"op": "add", "path": "/a", "value": nested(levels)}])
    assert caught.value.message == "values are nested more than 64 levels deep"


def test_check_size_bounds_the_operations() -> None:
    operation = {"op": "test", "path": "/a", "value": 1}
    json_patch.check_size([operation] * json_patch.MAX_OPERATIONS)
    with pytest.raises(InvalidInput) as caught:
        json_patch.check_size([operation] * (json_patch.MAX_OPERATIONS + 1))
    assert caught.value.message == "a JSON Patch may have 10000 operations, this has 10001"


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "x" * 1_000, "path": ""},
        {"op": ["x" * 1_000], "path": ""},
        {"op": "test", "path": "x" * 1_000, "value": 1},
        {"op": "test", "path": "/~" + "x" * 1_000, "value": 1},
        {"op": "test", "path": "/" + "x" * 1_000, "value": 1},
        {"op": "test", "path": "/l/" + "x" * 1_000, "value": 1},
        {"op": "test", "path": "/s/" + "x" * 1_000, "value": 1},
        {"op": "add", "path": "/s/" + "x" * 1_000, "value": 1},
        {"op": "test", "path": "/" + "k" * 1_000, "value": 1},
    ],
)
def test_messages_repeat_the_beginning_of_long_input_only(operation: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput) as caught:
        json_patch.apply({"l": [], "s": "", "k" * 1_000: 2}, [operation])
    assert len(caught.value.message) < 200


def test_same_of_keys_in_another_order_is_strict_at_every_depth() -> None:
    assert json_patch.same({"a": {"b": 1, "c": [1]}}, {"a": {"c": [1], "b": 1}})
    assert not json_patch.same({"a": {"b": 1, "c": [1]}}, {"a": {"c": [True], "b": 1}})
    assert json_patch.same([1, {"a": 0}], [1.0, {"a": 0}])
    assert not json_patch.same([1, {"a": 0}], [1, {"a": False}])
