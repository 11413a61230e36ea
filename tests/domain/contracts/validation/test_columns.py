"""Promised columns beside those of an entity."""

from typing import Any

import pytest

from domain.contracts.validation.columns import agreement, compare


def columns(*given: tuple[str, str]) -> list[dict[str, Any]]:
    return [{"name": name, "dataType": data_type} for name, data_type in given]


def differing(promised: Any, there: Any) -> list[tuple[str, str, str | None]]:
    """Path, promised type and type there of each difference."""
    return [
        (each.path, str(each.promised), None if each.there is None else str(each.there))
        for each in agreement(promised, there).differences
    ]


def array(item: str | None = None) -> list[dict[str, Any]]:
    return [{"name": "a", "dataType": "ARRAY", "arrayDataType": item}]


def sized(length: int) -> list[dict[str, Any]]:
    return [{"name": "a", "dataType": "VARCHAR", "dataLength": length}]


@pytest.mark.parametrize(
    ("promised", "there", "differences"),
    [
        (array("INT"), array("INT"), []),
        (array("INT"), array("TEXT"), [("a", "ARRAY<INT>", "ARRAY<TEXT>")]),
        # Of what is promised without the type of its items, any will do.
        (array(), array("RECORD"), []),
        (array("INT"), array(), [("a", "ARRAY<INT>", "ARRAY")]),
        (sized(20), sized(20), []),
        (sized(20), sized(10), []),
        (sized(20), sized(30), [("a", "VARCHAR(20)", "VARCHAR(30)")]),
        (columns(("A", "INT")), columns(("a", "INT")), [("A", "INT", None)]),
        (columns(("a", "UNKNOWN")), columns(("a", "INT")), []),
        (columns(("a", "UNKNOWN")), [], [("a", "UNKNOWN", None)]),
    ],
)
def test_a_type_agrees_where_it_is_no_wider(promised: Any, there: Any, differences: Any) -> None:
    assert differing(promised, there) == differences


def test_columns_are_compared_at_all_depths() -> None:
    promised = [
        {"name": "a", "dataType": "STRUCT", "children": columns(("b", "INT"), ("c", "INT"))}
    ]
    there = [
        {"name": "a", "dataType": "STRUCT", "children": columns(("b", "TEXT"), ("d", "INT"))},
        *columns(("e", "INT")),
    ]
    found = agreement(promised, there)

    assert differing(promised, there) == [("a.b", "INT", "TEXT"), ("a.c", "INT", None)]
    assert (found.promised, found.agreeing, found.unpromised) == (3, 1, 2)


def test_a_column_that_is_promised_twice_does_not_agree() -> None:
    found = agreement(columns(("a", "INT"), ("a", "INT"), ("b", "INT")), columns(("a", "INT")))

    assert found.twice == ("a",)
    assert (found.promised, found.agreeing, found.unpromised) == (2, 0, 0)


@pytest.mark.parametrize(("strict", "failed"), [(False, 2), (True, 3)])
def test_validation_fails_other_types_where_it_is_strict(strict: bool, failed: int) -> None:
    promised = columns(("a", "INT"), ("b", "INT"), ("c", "INT"), ("c", "INT"), ("d", "INT"))
    there = columns(("b", "TEXT"), ("c", "INT"), ("d", "INT"))
    found = compare(promised, there, strict=strict)

    assert (found.passed, found.failed, found.total) == (4 - failed, failed, 4)
    assert found.failed_fields == ["a"]
    assert found.duplicate_fields == ["c"]
    assert found.type_mismatch_fields == ["b: expected INT, got TEXT"]
