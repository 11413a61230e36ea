"""Changes of schema objects and their columns."""

from collections.abc import Mapping
from typing import Any

from domain.contracts.changes.constraints import (
    compare_enum,
    compare_options,
    compare_relationships,
)
from domain.contracts.changes.findings import (
    Findings,
    Grade,
    Grades,
    compare_keys,
    compare_lists,
    compare_strays,
    flag,
    moves,
    named,
    presence,
)
from domain.contracts.changes.quality import compare_quality
from domain.contracts.changes.rules import Path
from domain.contracts.data_types import read_type, relation

Column = dict[str, Any]

_TYPES = moves("type.widened", "type.narrowed", "type.changed")
_PRESENCE = presence("type.removed", "type.added", "other.changed")
_SENSITIVITY = {"public": 0, "internal": 1, "confidential": 2, "restricted": 3, "secret": 4}
"""Common classifications, lower ones first."""
_SHARED_TEXTS = (
    *("id", "businessName", "description", "tags", "synonyms", "context", "semanticType"),
    *("authoritativeDefinitions", "customProperties"),
)
_COLUMN_TEXTS = (
    *("examples", "encryptedName", "criticalDataElement", "transformSourceObjects"),
    *("transformLogic", "transformDescription"),
)


def compare_objects(findings: Findings, path: Path, old: Any, new: Any) -> None:
    """Find the changes of the schema objects, which are matched by name."""
    compare_lists(findings, path, (old, new), _name, _compare_object)


def classification(findings: Findings, path: Path, before: Any, after: Any) -> None:
    """Grade another classification by the words of `_SENSITIVITY`; other words need review."""
    was, now = (_SENSITIVITY.get(str(each or "public").lower()) for each in (before, after))
    if was is None or now is None:
        findings.add("other.changed", path, before, after)
    elif was == now:
        findings.add("text.changed", path, before, after)
    else:
        findings.add("access.tightened" if now > was else "access.loosened", path, before, after)


def _name(element: Column) -> Any:
    return element.get("name")


def _compare_object(findings: Findings, path: Path, old: Column | None, new: Column | None) -> None:
    findings = findings.within(str((old or new or {}).get("name")))
    if old is None or new is None:
        findings.add("object.removed" if new is None else "object.added", path, old, new)
        return
    grades: Grades = {**_OBJECT, "physicalName": _physical_name(old, new)}
    compare_keys(findings, path, old, new, grades)


def _compare_columns(findings: Findings, path: Path, old: Any, new: Any) -> None:
    """Find the changes of columns, matched by name, or else by the name in any case."""
    before, after = (named(each, _name) for each in (old, new))
    pairs = {name: name for name in before if name in after}
    folded = {name.casefold(): name for name in after if name not in before}
    for name in before:
        if name not in after and (other := folded.pop(name.casefold(), None)) is not None:
            findings.add("column.recased", Path(name, path), name, other)
            pairs[name] = other
    is_composite = max(map(_key_size, (before, after))) > 1
    matched = {*pairs.values()}
    for name, column in before.items():
        place, inner = Path(name, path), findings.within(name)
        if name not in pairs:
            inner.add("column.removed", place, column)
        elif column != after[pairs[name]]:
            same_name = {**after[pairs[name]], "name": column.get("name")}
            _compare_column(inner, place, column, same_name, is_composite=is_composite)
    for name, column in after.items():
        if name not in matched:
            findings.within(name).add("column.added", Path(name, path), None, column)
    if [*pairs.values()] != [name for name in after if name in matched]:
        findings.add("column-order.changed", path)
    compare_strays(findings, path, old, new)


def _key_size(columns: dict[str, Column]) -> int:
    return sum(column.get("primaryKey") is True for column in columns.values())


def _compare_column(
    findings: Findings, path: Path, old: Column, new: Column, *, is_composite: bool = False
) -> None:
    whole = old.get("logicalType") == new.get("logicalType") == "integer"
    grades = _COLUMNS[is_composite, whole]
    if old.get("physicalName") != new.get("physicalName"):
        grades = {**grades, "physicalName": _physical_name(old, new)}
    compare_keys(findings, path, old, new, grades)


def _compare_items(findings: Findings, path: Path, old: Any, new: Any) -> None:
    if isinstance(old, dict) and isinstance(new, dict):
        _compare_column(findings, path, old, new)
    else:
        _PRESENCE(findings, path, old, new)


def _compare_map(findings: Findings, path: Path, old: Any, new: Any) -> None:
    """Find the changes of a map's keys and values; another type of either is a change of shape."""
    inner = Findings(exact=findings.exact, place=findings.place)
    if isinstance(old, dict) and isinstance(new, dict):
        compare_keys(inner, path, old, new, {"key": _compare_items, "value": _compare_items})
    else:
        inner.add("shape.changed", path, old, new)
    for change in inner.changes:
        word = change.rule.word
        word = "shape.changed" if word.startswith("type.") else word
        findings.add(word, change.at, change.before, change.after)


def _type(findings: Findings, path: Path, before: Any, after: Any) -> None:
    if before is None or after is None:
        _PRESENCE(findings, path, before, after)
    elif findings.exact or not (isinstance(before, str) and isinstance(after, str)):
        findings.add("type.changed", path, before, after)
    else:
        findings.add(_TYPES[relation(read_type(before), read_type(after))], path, before, after)


def _physical_name(old: Column, new: Column) -> Grade:
    """Grades a physical name, which is the name where it is not given."""

    def grade(findings: Findings, path: Path, before: Any, after: Any) -> None:
        was, now = before or old.get("name"), after or new.get("name")
        findings.add("restated" if was == now else "physical-name.changed", path, before, after)

    return grade


_SHARED: Grades = {
    **dict.fromkeys(_SHARED_TEXTS, "text.changed"),
    "deprecated": flag("deprecated.withdrawn", "deprecated.set"),
    "quality": compare_quality,
    "relationships": compare_relationships,
    "properties": _compare_columns,
}
_OBJECT: Grades = {
    **_SHARED,
    "name": "restated",
    "logicalType": "restated",
    "dataGranularityDescription": "text.changed",
}
_SINGLE = flag("key.removed", "key.added")
_COMPOSITE = flag("composite-key.changed", "composite-key.changed")
_COLUMN: Grades = {
    **_SHARED,
    **dict.fromkeys(_COLUMN_TEXTS, "text.changed"),
    "name": "restated",
    "logicalType": _type,
    "physicalType": _type,
    "required": flag("required.removed", "required.added"),
    "unique": flag("unique.removed", "unique.added"),
    "primaryKeyPosition": "key-order.changed",
    "partitioned": flag("partitioning.changed", "partitioning.changed"),
    "partitionKeyPosition": "partitioning.changed",
    "classification": classification,
    "enum": compare_enum,
    "items": _compare_items,
    "map": _compare_map,
}
_COLUMNS: Mapping[tuple[bool, bool], Grades] = {
    (is_composite, whole): {
        **_COLUMN,
        "primaryKey": _COMPOSITE if is_composite else _SINGLE,
        "logicalTypeOptions": compare_options(whole=whole),
    }
    for is_composite in (False, True)
    for whole in (False, True)
}
"""True for a composite key, true for a column of whole numbers -> the grades of its keys."""
