"""Changes of what the values of a column may be."""

import json
from typing import Any

from domain.contracts.changes.findings import (
    Findings,
    Grade,
    Grades,
    compare_keys,
    compare_strays,
    differing,
    flag,
    moves,
    named,
    presence,
)
from domain.contracts.changes.limits import relation_of_limits
from domain.contracts.changes.rules import Path

_BOUNDS = moves("bound.loosened", "bound.tightened", "bound.changed")
_GROUPS = (
    ("minimum", "exclusiveMinimum"),
    ("maximum", "exclusiveMaximum"),
    *(("minLength",), ("minItems",), ("minProperties",)),
    *(("maxLength",), ("maxItems",), ("maxProperties",)),
)
"""Keys of options that bound the same together."""
_IS_MINIMUM = frozenset(("minLength", "minItems", "minProperties"))
_GROUP_OF = {key: group for group in _GROUPS for key in group}
_PATTERN = presence("pattern.removed", "pattern.added", "pattern.changed")
_NO_FIELD = "float32"
"""Type of a vector's elements where none is given, by the standard."""


def compare_options(*, whole: bool) -> Grade:
    """A Grade for `logicalTypeOptions` of a column, of `whole` numbers or of other values."""

    def grade(findings: Findings, path: Path, old: Any, new: Any) -> None:
        before, after = (each if isinstance(each, dict) else {} for each in (old, new))
        changed = [key for key, *_ in differing(before, after)]
        for group in dict.fromkeys(_GROUP_OF[key] for key in changed if key in _GROUP_OF):
            _compare_bounds(findings, path, group, before, after, whole=whole)
        left = [
            {key: each.get(key) for key in changed if key not in _GROUP_OF}
            for each in (before, after)
        ]
        compare_keys(findings, path, left[0], left[1], _OPTIONS)
        if not all(each is None or isinstance(each, dict) for each in (old, new)):
            findings.add("other.changed", path, old, new)

    return grade


def compare_enum(findings: Findings, path: Path, old: Any, new: Any) -> None:
    """Find the changes of allowed values; without a list, all values are allowed."""
    if any(not isinstance(each, list | None) for each in (old, new)):
        findings.add("other.changed", path, old, new)
        return
    was, now = (None if each is None else {_value(one) for one in each} for each in (old, new))
    if was == now:
        findings.add("enum.reworded", path, old, new)
    elif now is None or (was is not None and was < now):
        findings.add("enum.loosened", path, old, new)
    elif was is None or now < was:
        findings.add("enum.tightened", path, old, new)
    else:
        findings.add("enum.changed", path, old, new)


def compare_relationships(findings: Findings, path: Path, old: Any, new: Any) -> None:
    """Find the changes of foreign keys, which are matched by id or by their ends.

    Where exactly one key is left on each side, the two count as one key that leads elsewhere now.
    """
    before, after = (_named_keys(each) for each in (old, new))
    gone = [name for name in before if name not in after]
    come = [name for name in after if name not in before]
    if len(gone) == len(come) == 1 and _is_key(before[gone[0]]) and _is_key(after[come[0]]):
        findings.add("foreign-key.changed", Path(gone[0], path), before[gone[0]], after[come[0]])
        gone, come = [], []
    for name in gone:
        word = "foreign-key.removed" if _is_key(before[name]) else "text.changed"
        findings.add(word, Path(name, path), before[name])
    for name in come:
        word = "foreign-key.added" if _is_key(after[name]) else "text.changed"
        findings.add(word, Path(name, path), None, after[name])
    for name, one in before.items():
        if name in after and one != after[name]:
            _compare_key(findings, Path(name, path), one, after[name])
    compare_strays(findings, path, old, new)


def _compare_bounds(
    findings: Findings,
    path: Path,
    group: tuple[str, ...],
    old: dict[str, Any],
    new: dict[str, Any],
    *,
    whole: bool,
) -> None:
    was, now = (
        {key: each[key] for key in group if each.get(key) is not None} for each in (old, new)
    )
    if was == now:
        return
    key = next(each for each in (*now, *was) if was.get(each) != now.get(each))
    as_limits = [
        {_LIMIT.get(name, name): value for name, value in each.items()} for each in (was, now)
    ]
    relation = relation_of_limits(as_limits[0], as_limits[1], whole=whole or len(group) == 1)
    word = "bound.changed" if relation is None else _BOUNDS[relation]
    findings.add(word, Path(key, path), was.get(key), now.get(key))


_LIMIT = {
    group[0]: "minimum" if group[0] in _IS_MINIMUM else "maximum"
    for group in _GROUPS
    if len(group) == 1
}


def _element_type(findings: Findings, path: Path, before: Any, after: Any) -> None:
    is_same = (before or _NO_FIELD) == (after or _NO_FIELD)
    findings.add("restated" if is_same else "shape.changed", path, before, after)


_OPTIONS: Grades = {
    **dict.fromkeys(("pattern", "format", "multipleOf", "timezone", "defaultTimezone"), _PATTERN),
    "uniqueItems": flag("unique.removed", "unique.added"),
    "dimensions": "shape.changed",
    "elementType": _element_type,
}


def _value(allowed: Any) -> str:
    """An allowed value as JSON; it may stand alone, or with texts about it."""
    value = allowed.get("value") if isinstance(allowed, dict) else allowed
    return json.dumps(value, sort_keys=True)


def _named_keys(relationships: Any) -> dict[str, dict[str, Any]]:
    def name_of(one: dict[str, Any]) -> Any:
        ends = [str(one[end]) for end in ("from", "to") if one.get(end)]
        return one.get("id") or ":".join(ends)

    return named(relationships, name_of)


def _is_key(relationship: dict[str, Any]) -> bool:
    return (relationship.get("type") or "foreignKey") == "foreignKey"


def _compare_key(findings: Findings, path: Path, old: dict[str, Any], new: dict[str, Any]) -> None:
    if _is_key(old) != _is_key(new):
        word = "foreign-key.added" if _is_key(new) else "foreign-key.removed"
        findings.add(word, Path("type", path), old.get("type"), new.get("type"))
    elif not _is_key(new):
        findings.add("text.changed", path, old, new)
    else:
        leads = {"from": "foreign-key.changed", "to": "foreign-key.changed", "type": "restated"}
        compare_keys(findings, path, old, new, leads, "text.changed")
