"""Quality rules of a schema object and its properties, and those of a contract."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, get_type_hints

import msgspec

from domain.contracts.columns import properties_by_path
from domain.contracts.elements import Element, append, elements, put
from domain.contracts.judging import is_quality_rule
from domain.kinds.bodies.contracts import QualityRule

Rule = dict[str, Any]
"""A quality rule as JSON has it."""

_COLUMN = "column"
_WHOLE = "qualityRule"
"""Name of the custom property that holds a rule which the standard cannot say."""
_TYPES = get_type_hints(QualityRule, include_extras=True)
_FIELDS = {
    field.encode_name: _TYPES[field.name]
    for field in msgspec.structs.fields(QualityRule)
    if field.name not in (_COLUMN, "custom_properties")
}
"""Key -> type; the standard has a list of custom properties, and a place instead of a column."""


def read_rules(holder: Element) -> list[Rule]:
    """The rules of an object, then those of its properties, with what a contract's rule holds."""
    return [
        {**_read(each), **({_COLUMN: column} if column else {})}
        for column, place in _places(holder)
        for each in elements(place, "quality")
    ]


def write_rules(holder: Element, old: list[Rule], new: list[Rule]) -> None:
    """Change the rules to be `new` where they were `old`; those that are the same stay."""
    before, after = _by_column(old), _by_column(new)
    places = dict(_places(holder))
    for column in dict.fromkeys((*before, *after)):
        if before[column] == after[column]:
            continue
        if column not in places:
            places[column] = {"name": column}
            append(holder, "properties", places[column])
        place = places[column]
        given = elements(place, "quality")
        others = [each for each in place.get("quality") or () if not isinstance(each, dict)]
        made = [_written(each, before[column], given) for each in after[column]]
        put(place, "quality", [*others, *made])


def comparable(rules: list[Rule]) -> list[Rule]:
    """Rules reduced to the keys that `read_rules` gives."""
    known = {*_FIELDS, _COLUMN}
    return [{key: value for key, value in rule.items() if key in known} for rule in rules]


def _places(holder: Element) -> Iterator[tuple[str, Element]]:
    yield "", holder
    yield from properties_by_path(holder)


def _read(each: Element) -> Rule:
    """The keys of a rule whose values are of the type that a contract's rule has."""
    rule: Rule = {}
    for held in elements(each, "customProperties"):
        if held.get("property") == _WHOLE and isinstance(held.get("value"), dict):
            each = held["value"]
            break
    for key, expected in _FIELDS.items():
        if each.get(key) is not None:
            try:
                value = msgspec.convert(each[key], expected)
            except msgspec.ValidationError:
                continue
            rule[key] = msgspec.to_builtins(value)
    return rule


def _by_column(rules: list[Rule]) -> defaultdict[str, list[Rule]]:
    by_column: defaultdict[str, list[Rule]] = defaultdict(list)
    for rule in rules:
        own = {key: value for key, value in rule.items() if key != _COLUMN}
        by_column[rule.get(_COLUMN) or ""].append(own)
    return by_column


def _written(rule: Rule, old: list[Rule], given: list[Element]) -> Element:
    """The rule as the document has it, with what has changed; a new one where there is none."""
    for before, element in zip(old, given, strict=False):
        if before == rule:
            return element
    for before, element in zip(old, given, strict=False):
        key = "id" if before.get("id") else "name"
        if before.get(key) and before.get(key) == rule.get(key):
            changed = dict(element)
            for each in before.keys() | rule.keys():
                if before.get(each) != rule.get(each):
                    put(changed, each, rule.get(each))
            return changed
    return _made(rule)


def _made(rule: Rule) -> Element:
    """A valid rule of the standard: of type `text`, with the rule beside it, for all others."""
    if is_quality_rule(rule):
        return dict(rule)
    said = rule.get("description") or rule.get("name") or "A rule of the catalog."
    whole = {"property": _WHOLE, "value": rule}
    return {"type": "text", "description": said, "customProperties": [whole]}
