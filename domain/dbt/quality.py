"""dbt's tests as quality rules and relationships of the Open Data Contract Standard."""

import json
import re
from typing import Any

from domain.contracts.elements import Element, elements, mapping, text

OWNER = "dbt"
"""Custom property of rules and relationships that dbt says; what has none was written by people.

Its value is the unique id of a test, or CONSTRAINT.
"""
CONSTRAINT = "constraint"
_METRICS = {
    "unique": "duplicateValues",
    "not_null": "nullValues",
    "accepted_values": "invalidValues",
}
_COUNTS = {"fail_calc": "count(*)", "error_if": "!= 0"}
"""Configuration with which a test fails for each row that it finds."""
_UNSTABLE = re.compile(r"[^A-Za-z0-9_-]")
"""Characters that an id of the standard may not hold."""
_REFERENCE = re.compile(r"[A-Za-z_]\w*", re.ASCII)
"""A name that the standard takes in the short form of a reference."""
_OWN_ARGUMENTS = ("model", "column_name")


def rule_of(test: Element) -> Element:
    """The quality rule of a test.

    `unique`, `not_null` and `accepted_values` are rules of the standard's library. A test of only
    some rows (`where`, `limit`), or one that lets some fail, promises something else: it is a rule
    of dbt's own, as every other test is.
    """
    rule: Element = {"id": _UNSTABLE.sub("-", test["unique_id"])}
    if name := text(test, "name"):
        rule["name"] = name
    if description := text(test, "description"):
        rule["description"] = description
    metadata = mapping(test, "test_metadata")
    kind, arguments = text(metadata, "name"), _arguments(test)
    metric = _METRICS.get(kind or "")
    if metric and not text(metadata, "namespace") and column_of(test) and _counts_all(test):
        rule |= {"type": "library", "metric": metric, "mustBe": 0}
        if metric == "invalidValues":
            given = arguments.get("values")
            values = given if isinstance(given, list) else []
            rule["arguments"] = {"validValues": [_as_text(each) for each in values]}
    else:
        rule |= {"type": "custom", "engine": "dbt", "implementation": _implementation(test)}
    if str(mapping(test, "config").get("severity")).lower() == "warn":
        rule["severity"] = "warning"
    return {**rule, "customProperties": [{"property": OWNER, "value": test["unique_id"]}]}


def column_of(test: Element) -> str | None:
    """The column that a test is about, if it is about one."""
    given = mapping(mapping(test, "test_metadata"), "kwargs")
    return text(test, "column_name") or text(given, "column_name")


def key_of_test(test: Element, target: str | None) -> Element | None:
    """The relationship that a test of the kind `relationships` promises; None for another test.

    `target` is the name of the table that the column leads to. A test that only warns, or looks at
    some rows, promises none.
    """
    metadata = mapping(test, "test_metadata")
    warns = str(mapping(test, "config").get("severity")).lower() == "warn"
    if text(metadata, "name") != "relationships" or text(metadata, "namespace"):
        return None
    field = text(_arguments(test), "field")
    if warns or not _counts_all(test) or target is None or field is None:
        return None
    return relationship([target], [field], test["unique_id"])


def relationship(
    tables: list[str], columns: list[str], owner: str, own: list[str] | None = None
) -> Element | None:
    """The foreign key that leads to columns of tables; None where the standard cannot say it.

    `own` are the columns that it leads from, each with its table, where it stands beside them.
    """
    names = [*tables, *columns, *(part for each in own or () for part in each.split("."))]
    if not all(map(_REFERENCE.fullmatch, names)):
        return None
    to = [f"{table}.{column}" for table, column in zip(tables, columns, strict=True)]
    made: Element = {"type": "foreignKey"}
    if own is not None:
        made["from"] = own
    made["to"] = to if own is not None else to[0]
    return {**made, "customProperties": [{"property": OWNER, "value": owner}]}


def owner_of(element: Element) -> str | None:
    """The unique id of the test that a rule or relationship is of; None for what people wrote."""
    for each in elements(element, "customProperties"):
        if each.get("property") == OWNER:
            return str(each.get("value"))
    return None


def _counts_all(test: Element) -> bool:
    config = mapping(test, "config")
    some = (config.get(key) is not None for key in ("where", "limit"))
    counted = (config.get(key) in (None, usual) for key, usual in _COUNTS.items())
    return not any(some) and all(counted)


def _arguments(test: Element) -> Element:
    given = mapping(mapping(test, "test_metadata"), "kwargs")
    return {key: each for key, each in given.items() if key not in _OWN_ARGUMENTS}


def _implementation(test: Element) -> str:
    """A test and its arguments as one text, which is the same in each manifest."""
    metadata = mapping(test, "test_metadata")
    names = text(metadata, "namespace"), text(metadata, "name") or text(test, "name")
    said: Element = {"test": ".".join(filter(None, names))}
    if arguments := _arguments(test):
        said["arguments"] = arguments
    config = mapping(test, "config")
    usual = {"where": None, "limit": None, **_COUNTS}
    for key in usual:
        if config.get(key) not in (None, usual[key]):
            said[key] = config[key]
    return json.dumps(said, ensure_ascii=False, sort_keys=True)


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
