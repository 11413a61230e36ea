"""Fields that are withheld: cut from JSON, refused in bodies, patches and queries."""

from typing import Any

import msgspec
import pytest

from projections.visibility.field_paths import field_paths, path_tree
from projections.visibility.withholding import FieldWithheld, Withheld, in_both, simplest

TABLE: dict[str, Any] = {
    "id": "i",
    "owners": [{"id": "o"}],
    "tags": [{"tagFQN": "t"}],
    "columns": [
        {"name": "a", "tags": [{"tagFQN": "c"}], "children": [{"name": "b", "tags": []}]},
        {"name": "d"},
    ],
    "version": 0.1,
}


def withheld(*paths: str) -> Withheld:
    return Withheld("table", frozenset(paths))


def cut(*paths: str) -> Any:
    return msgspec.json.decode(withheld(*paths).cut(msgspec.json.encode(TABLE)))


def test_cut_removes_a_field() -> None:
    assert cut("owners", "extension") == {k: v for k, v in TABLE.items() if k != "owners"}


def test_cut_removes_a_field_at_every_depth_of_columns() -> None:
    columns = [{"name": "a", "children": [{"name": "b"}]}, {"name": "d"}]

    assert cut("columns.tags") == {**TABLE, "columns": columns}


def test_cut_leaves_numbers_and_order_as_they_are() -> None:
    raw = b'{"b":1.10,"owners":1,"a":123456789012345678901234567890}'

    assert withheld("owners").cut(raw) == b'{"b":1.10,"a":123456789012345678901234567890}'


@pytest.mark.parametrize(
    ("pointer", "refused"),
    [
        ("/owners", True),
        ("/owners/0/name", True),
        ("/columns/0/tags/-", True),
        ("/columns/0/children/1/tags", True),
        ("/columns/0", True),
        ("/columns", True),
        ("", True),
        ("/columns/0/description", False),
        ("/tags/0", False),
        ("/description", False),
    ],
)
def test_patch_of_a_withheld_field_is_refused(pointer: str, refused: bool) -> None:
    hidden = withheld("owners", "columns.tags")
    for operation in ({"op": "test", "path": pointer, "value": 1}, {"path": "/x", "from": pointer}):
        if refused:
            with pytest.raises(FieldWithheld):
                hidden.refuse_patching([operation])
        else:
            hidden.refuse_patching([operation])


@pytest.mark.parametrize(
    ("values", "creating", "replacing"),
    [
        ({"owners": []}, True, True),
        ({"owner": "ann"}, True, True),
        ({"columns": [{"name": "a"}]}, False, True),
        ({"columns": [{"name": "a", "tags": []}]}, True, True),
        ({"columns": [{"name": "a", "children": [{"tags": []}]}]}, True, True),
        ({"tags": [], "description": "x"}, False, False),
    ],
)
def test_body_with_a_withheld_field_is_refused(
    values: dict[str, Any], creating: bool, replacing: bool
) -> None:
    hidden = withheld("owners", "columns.tags")
    for over, refused in ((False, creating), (True, replacing)):
        if refused:
            with pytest.raises(FieldWithheld):
                hidden.refuse_writing(values, replacing=over)
        else:
            hidden.refuse_writing(values, replacing=over)


@pytest.mark.parametrize(
    ("paths", "field", "touched"),
    [
        (["owners"], "owners.name.keyword", True),
        (["owners"], "ownerName", True),
        (["owners"], "name", False),
        (["columns.tags"], "tags.tagFQN", True),
        (["columns.tags"], "tier.tagFQN", True),
        (["columns.tags"], "columns.children.tags.tagFQN", True),
        (["columns.tags"], "columns.name", False),
        (["columns.tags"], "columns", True),
        (["columns"], "tags.tagFQN", True),
        (["columns"], "columnNames", True),
        (["tags"], "columns.tags.tagFQN", False),
        (["columns.tags.description"], "tags.description", True),
        (["columns.tags.description"], "tags.tagFQN", False),
        (["votes"], "totalVotes", True),
        (["extension"], "tags.tagFQN", False),
        (["extension"], "extension.cost", True),
    ],
)
def test_query_of_a_withheld_field_is_noticed(paths: list[str], field: str, touched: bool) -> None:
    assert withheld(*paths).touches_indexed(field) == touched


def test_paths_are_simplified_and_intersected() -> None:
    assert simplest(["a", "a.b", "a.b.c", "d.e"]) == {"a", "d.e"}
    assert in_both(frozenset({"a", "d.e"}), frozenset({"a.b", "d", "f"})) == {"a.b", "d.e"}


def test_field_paths_know_columns_at_every_depth_once() -> None:
    paths = field_paths("table")

    assert {"owners", "columns.tags.tagFQN", "extension"} <= paths.keys()
    assert not any("children" in path.split(".") for path in paths)
    assert paths["columns.name"].needed
    assert not paths["columns.tags"].needed
    assert paths["extension"].open


@pytest.mark.parametrize("paths", [("a.b", "a.b.c", "d"), ("a.b.c", "a.b", "d")])
def test_path_tree_leaves_out_what_lies_below_another_path(paths: tuple[str, ...]) -> None:
    assert path_tree(paths) == {"a": {"b": None}, "d": None}
