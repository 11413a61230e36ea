"""The status machine of contracts, and which changes of columns break readers."""

from typing import Any

import pytest

from domain.aggregate.lifecycle import MAJOR, MINOR, check_transition, format_version, version_step
from domain.errors import InvalidTransition


def column(data_type: str = "INT", name: str = "a", **values: Any) -> dict[str, Any]:
    return {"name": name, "dataType": data_type, **values}


ALLOWED = {
    ("Draft", "Active"),
    ("Draft", "Deprecated"),
    ("Active", "Deprecated"),
    ("Deprecated", "Active"),
}
STATUSES = ("Draft", "Active", "Deprecated")


@pytest.mark.parametrize("current", STATUSES)
@pytest.mark.parametrize("target", STATUSES)
def test_transitions_of_all_pairs(current: str, target: str) -> None:
    if (current, target) in ALLOWED:
        check_transition(current, target)
        return
    with pytest.raises(InvalidTransition):
        check_transition(current, target)


@pytest.mark.parametrize(
    ("current", "target", "message"),
    [
        (
            "Active",
            "Draft",
            "a contract cannot go from Active to Draft; from Active it may go to Deprecated",
        ),
        (
            "Draft",
            "Draft",
            "a contract cannot go from Draft to Draft;"
            " from Draft it may go to Active or Deprecated",
        ),
    ],
)
def test_forbidden_transition_names_the_allowed_targets(
    current: str, target: str, message: str
) -> None:
    with pytest.raises(InvalidTransition) as caught:
        check_transition(current, target)
    assert caught.value.message == message


@pytest.mark.parametrize(
    ("tenths", "text"),
    [(1, "0.1"), (9, "0.9"), (10, "1.0"), (11, "1.1"), (20, "2.0"), (123, "12.3")],
)
def test_version_is_shown_as_a_decimal(tenths: int, text: str) -> None:
    assert format_version(tenths) == text


COMPATIBLE = {
    "no columns": ([], []),
    "first columns": ([], [column()]),
    "same": ([column()], [column()]),
    "added": ([column()], [column(), column(name="b")]),
    "reordered": ([column(), column(name="b")], [column(name="b"), column()]),
    "described": ([column()], [column(description="text")]),
    "wider integer": ([column("INT")], [column("BIGINT")]),
    "integer to numeric": ([column("TINYINT")], [column("NUMERIC")]),
    "wider float": ([column("FLOAT")], [column("DOUBLE")]),
    "char to text": ([column("CHAR", dataLength=3)], [column("TEXT")]),
    "string to text": ([column("STRING")], [column("TEXT")]),
    "date to timestamp": ([column("DATE")], [column("TIMESTAMP")]),
    "longer": ([column("VARCHAR", dataLength=10)], [column("VARCHAR", dataLength=11)]),
    "limit lifted": ([column("VARCHAR", dataLength=10)], [column("VARCHAR")]),
    "more precise": (
        [column("DECIMAL", precision=10, scale=2)],
        [column("DECIMAL", precision=12, scale=2)],
    ),
    "child added": (
        [column("STRUCT", children=[column()])],
        [column("STRUCT", children=[column(), column(name="b")])],
    ),
    "first children": ([column("STRUCT")], [column("STRUCT", children=[column()])]),
    "child widened": (
        [column("STRUCT", children=[column("INT")])],
        [column("STRUCT", children=[column("BIGINT")])],
    ),
}
BREAKING = {
    "removed": ([column(), column(name="b")], [column()]),
    "all removed": ([column()], []),
    "renamed": ([column()], [column(name="b")]),
    "narrower integer": ([column("BIGINT")], [column("INT")]),
    "other type": ([column("INT")], [column("STRING")]),
    "numeric to integer": ([column("NUMERIC")], [column("BIGINT")]),
    "text to char": ([column("TEXT")], [column("CHAR")]),
    "timestamp to date": ([column("TIMESTAMP")], [column("DATE")]),
    "shorter": ([column("VARCHAR", dataLength=10)], [column("VARCHAR", dataLength=9)]),
    "limit set": ([column("VARCHAR")], [column("VARCHAR", dataLength=255)]),
    "wider type, shorter": (
        [column("CHAR", dataLength=10)],
        [column("VARCHAR", dataLength=9)],
    ),
    "less precise": ([column("DECIMAL", precision=10)], [column("DECIMAL", precision=9)]),
    "smaller scale": (
        [column("DECIMAL", precision=10, scale=2)],
        [column("DECIMAL", precision=10, scale=1)],
    ),
    "child removed": (
        [column("STRUCT", children=[column(), column(name="b")])],
        [column("STRUCT", children=[column()])],
    ),
    "children removed": ([column("STRUCT", children=[column()])], [column("STRUCT")]),
    "grandchild narrowed": (
        [column("STRUCT", children=[column("STRUCT", children=[column("BIGINT")])])],
        [column("STRUCT", children=[column("STRUCT", children=[column("INT")])])],
    ),
    "one of several": (
        [column(), column("BIGINT", "b"), column(name="c")],
        [column("BIGINT"), column("INT", "b"), column(name="c"), column(name="d")],
    ),
}


@pytest.mark.parametrize(("old", "new"), COMPATIBLE.values(), ids=COMPATIBLE)
def test_compatible_columns_are_a_minor_step(old: Any, new: Any) -> None:
    assert version_step(old, new) == MINOR


@pytest.mark.parametrize(("old", "new"), BREAKING.values(), ids=BREAKING)
def test_breaking_columns_are_a_major_step(old: Any, new: Any) -> None:
    assert version_step(old, new) == MAJOR
