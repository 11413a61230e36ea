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


def compare_objects(found: Findings, path: Path, old: Any, new: Any) -> None:
    """Find the changes of the schema objects, which are matched by name."""
    compare_lists(found, path, (old, new), _name, _compare_object)


def classification(found: Findings, path: Path, before: Any, after: Any) -> None:
    """Grade another classification by the words of `_SENSITIVITY`; other words need review."""
    was, now = (_SENSITIVITY.get(str(each or "public").lower()) for each in (before, after))
    if was is None or now is None:
        found.add("other.changed", path, before, after)
    elif was == now:
        found.add("text.changed", path, before, after)
    else:
        found.add("access.tightened" if now > was else "access.loosened", path, before, after)


def _name(element: Column) -> Any:
    return element.get("name")


def _compare_object(found: Findings, path: Path, old: Column | None, new: Column | None) -> None:
    found = found.within(str((old or new or {}).get("name")))
    if old is None or new is None:
        found.add("object.removed" if new is None else "object.added", path, old, new)
        return
    grades: Grades = {**_OBJECT, "physicalName": _physical_name(old, new)}
    compare_keys(found, path, old, new, grades)


def _compare_columns(found: Findings, path: Path, old: Any, new: Any) -> None:
    """Find the changes of columns, which are matched by name, at last in whatever capitals."""
    before, after = (named(each, _name) for each in (old, new))
    pairs = {name: name for name in before if name in after}
    folded = {name.casefold(): name for name in after if name not in before}
    for name in before:
        if name not in after and (other := folded.pop(name.casefold(), None)) is not None:
            found.add("column.recased", Path(name, path), name, other)
            pairs[name] = other
    is_composite = max(map(_key_size, (before, after))) > 1
    matched = {*pairs.values()}
    for name, column in before.items():
        place, inner = Path(name, path), found.within(name)
        if name not in pairs:
            inner.add("column.removed", place, column)
        elif column != after[pairs[name]]:
            same_name = {**after[pairs[name]], "name": column.get("name")}
            _compare_column(inner, place, column, same_name, is_composite=is_composite)
    for name, column in after.items():
        if name not in matched:
            found.within(name).add("column.added", Path(name, path), None, column)
    if [*pairs.values()] != [name for name in after if name in matched]:
        found.add("column-order.changed", path)
    compare_strays(found, path, old, new)


def _key_size(columns: dict[str, Column]) -> int:
    return sum(column.get("primaryKey") is True for column in columns.values())


def _compare_column(
    found: Findings, path: Path, old: Column, new: Column, *, is_composite: bool = False
) -> None:
    whole = old.get("logicalType") == new.get("logicalType") == "integer"
    grades = _COLUMNS[is_composite, whole]
    if old.get("physicalName") != new.get("physicalName"):
        grades = {**grades, "physicalName": _physical_name(old, new)}
    compare_keys(found, path, old, new, grades)


def _compare_items(found: Findings, path: Path, old: Any, new: Any) -> None:
    if isinstance(old, dict) and isinstance(new, dict):
        _compare_column(found, path, old, new)
    else:
        _PRESENCE(found, path, old, new)


def _compare_map(found: Findings, path: Path, old: Any, new: Any) -> None:
    """Find the changes of a map's keys and values, of which another type is another map."""
    inner = Findings(exact=found.exact, place=found.place)
    if isinstance(old, dict) and isinstance(new, dict):
        compare_keys(inner, path, old, new, {"key": _compare_items, "value": _compare_items})
    else:
        inner.add("shape.changed", path, old, new)
    for change in inner.changes:
        word = change.rule.word
        word = "shape.changed" if word.startswith("type.") else word
        found.add(word, change.at, change.before, change.after)


def _type(found: Findings, path: Path, before: Any, after: Any) -> None:
    if before is None or after is None:
        _PRESENCE(found, path, before, after)
    elif found.exact or not (isinstance(before, str) and isinstance(after, str)):
        found.add("type.changed", path, before, after)
    else:
        found.add(_TYPES[relation(read_type(before), read_type(after))], path, before, after)


def _physical_name(old: Column, new: Column) -> Grade:
    """Grades a physical name, which is the name where it is not given."""

    def grade(found: Findings, path: Path, before: Any, after: Any) -> None:
        was, now = before or old.get("name"), after or new.get("name")
        found.add("restated" if was == now else "physical-name.changed", path, before, after)

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
