"""Types of custom properties: their configurations, and the values that each takes."""

from typing import Any

import msgspec
import pytest

from domain.errors import InvalidInput
from domain.kinds.bodies.custom_properties import CustomProperty, PropertyConfig, Type
from domain.kinds.bodies.date_formats import DateFormat, Moment
from domain.kinds.bodies.property_types import PROPERTY_TYPES, TYPE_IDS

ID = "01890000-0000-7000-8000-000000000000"
TABLE = {"id": ID, "type": "table"}
ENUM = {"values": ["gold", "silver"], "multiSelect": False}
VALUES: list[tuple[str, Any, list[Any], list[Any]]] = [
    ("string", None, ["", "a"], [1, None, ["a"]]),
    ("markdown", None, ["# a"], [1]),
    ("sqlQuery", None, ["select 1"], [{}]),
    ("email", None, ["ann@example.com"], ["ann", "a b@example.com", 1]),
    ("integer", None, [0, -5], [1.5, "1", True]),
    ("timestamp", None, [1_700_000_000_000], ["2026-01-01", 1.5]),
    ("number", None, [1, 1.5], ["1", True]),
    ("duration", None, ["P23DT23H", "PT1.5S", "P2W"], ["P", "PT", "P1DT", "23 days", 1]),
    ("timeInterval", None, [{"start": 1, "end": 2}, {}], [{"start": "1"}, {"from": 1}, [1, 2]]),
    ("hyperlink-cp", None, [{"url": "https://a.de"}], [{"url": "a b"}, {"displayText": "a"}, "a"]),
    ("date-cp", "yyyy-MM-dd", ["2024-02-29"], ["2023-02-29", "2024-2-29", "29.02.2024", 20240229]),
    ("dateTime-cp", "dd MMM yyyy HH:mm", ["01 Feb 2024 23:59"], ["01 Feb 2024 24:00"]),
    ("time-cp", "hh:mm a", ["01:30 PM"], ["13:30 PM", "01:30"]),
    ("enum", ENUM, [["gold"], []], ["gold", ["bronze"], ["gold", "silver"], [1], [["gold"]]]),
    (
        "enum",
        {**ENUM, "multiSelect": True},
        [["gold", "silver"]],
        [["gold", "gold"], ["gold", "bronze"]],
    ),
    (
        "table-cp",
        {"columns": ["a", "b"]},
        [{"columns": ["a", "b"], "rows": [{"a": "1", "b": "2"}]}, {"rows": []}],
        [{"rows": [{"c": "1"}]}, {"rows": [{"a": 1}]}, {"columns": ["c"]}, [["1"]]],
    ),
    ("entityReference", None, [TABLE], [ID, {"id": ID}, {"id": "x", "type": "table"}, [TABLE]]),
    ("entityReference", ["user", "team"], [{"id": ID, "type": "user"}], [TABLE]),
    ("entityReferenceList", ["table"], [[TABLE, TABLE], []], [TABLE, [{"id": ID, "type": "a"}]]),
]


def defined(type_name: str, config: Any = None, name: str = "rank") -> CustomProperty:
    given = PropertyConfig(config=config)
    return CustomProperty(name=name, property_type=type_name, custom_property_config=given)


@pytest.mark.parametrize(("type_name", "config", "good", "bad"), VALUES)
def test_values_are_those_of_the_type(
    type_name: str, config: Any, good: list[Any], bad: list[Any]
) -> None:
    check = defined(type_name, config).value_check()
    assert [value for value in good if not check.fits(value)] == []
    assert [value for value in bad if check.fits(value)] == []
    assert check.allowed.startswith("a")


def test_each_type_is_tried() -> None:
    assert {type_name for type_name, *_ in VALUES} == {*PROPERTY_TYPES}


@pytest.mark.parametrize(
    ("type_name", "config", "says"),
    [
        ("string", {"values": []}, "takes no config"),
        ("enum", None, "needs an object with `values` as config"),
        ("enum", {"values": []}, "length >= 1"),
        ("enum", {"values": ["a", "a"]}, "a value twice"),
        ("enum", {"values": ["a"], "x": 1}, "unknown field `x`"),
        ("table-cp", {"columns": ["a", "b", "c", "d"]}, "length <= 3"),
        ("table-cp", {"columns": ["a", "a"]}, "a column twice"),
        ("table-cp", ["a"], "needs an object with `columns`"),
        ("date-cp", None, "needs the format of a date as config"),
        ("date-cp", "yyyy-MM-dd HH:mm", "no format of a date"),
        ("date-cp", "yyyy-xx", "no format of a date; known are yyyy"),
        ("date-cp", "yyyy yyyy", "names each of its parts once"),
        ("date-cp", "'today'", "names each of its parts once"),
        ("date-cp", "yyyy-MM-dd'", "no format of a date"),
        ("time-cp", "x" * 101, "needs the format of a time"),
        ("entityReference", "table", "must be a list of the kinds"),
        ("entityReferenceList", [], "must be a list of the kinds"),
    ],
)
def test_configuration_that_does_not_fit_is_refused(type_name: str, config: Any, says: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        defined(type_name, config)
    assert refused.value.message.startswith(f"customPropertyConfig of 'rank', {type_name}: ")
    assert says in refused.value.message


@pytest.mark.parametrize(
    ("text", "moment", "value"),
    [
        ("yyyy-MM-dd'T'HH:mm:ss.SSSXXX", "dateTime", "2024-02-29T10:00:00.123+02:00"),
        ("MMM dd HH:mm:ss yyyy", "dateTime", "Feb 29 10:00:00 2024"),
        ("yyyy-MM-dd HH:mm:ss.SSSSSS", "dateTime", "2024-02-29 10:00:00.000001"),
        ("EEEE, d MMMM yyyy", "date", "Thursday, 29 February 2024"),
        ("yyyyDDD", "date", "2024366"),
        ("dd/MM/yy", "date", "29/02/24"),
        ("h 'o''clock' a", "time", "3 o'clock AM"),
        ("''HH''", "time", "'10'"),
    ],
)
def test_formats_are_those_of_openmetadata(text: str, moment: Moment, value: str) -> None:
    written = DateFormat(text, moment)
    assert written.has(value)
    assert not any(map(written.has, (f"{value} ", f" {value}", value.lower() + "x", "")))


def test_type_is_named_in_any_way_and_recorded_by_all_its_names() -> None:
    recorded = defined("integer").property_type
    for given in (TYPE_IDS["integer"], {"id": TYPE_IDS["integer"], "type": "type"}):
        named = {"name": "rank", "propertyType": given}
        assert defined_by(named).property_type == recorded
    by_name = {"name": "rank", "propertyType": {"name": "integer"}}
    assert defined_by(by_name).property_type == recorded
    for unknown in ("int", {"id": ID, "type": "type"}, {}):
        with pytest.raises(
            InvalidInput, match="propertyType of 'rank' must be one of string, mark"
        ):
            defined_by({"name": "rank", "propertyType": unknown})


def defined_by(values: dict[str, Any]) -> CustomProperty:
    return msgspec.convert(values, CustomProperty)


def test_properties_are_kept_by_name_and_once() -> None:
    body = Type(name="table", custom_properties=[defined("string"), defined("string", name="a")])
    body.check()
    body.complete("table")
    assert [each.name for each in body.custom_properties] == ["a", "rank"]
    twice = Type(name="table", custom_properties=[defined("string"), defined("integer")])
    with pytest.raises(InvalidInput, match="'rank' is there twice"):
        twice.check()
