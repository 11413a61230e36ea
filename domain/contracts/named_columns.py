"""Places of a contract that name a column: what breaks there when the column goes, or may break."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from domain.contracts.elements import elements, mapping, text


def places_of(contract: Mapping[str, Any], column: Sequence[str]) -> list[str]:
    """The places of a contract's body that name a column by its path, as words for people.

    They are its schema, filters of rows, and rules of quality about the column.
    """
    held = dict(contract)
    name, places = column[-1], list[str]()
    inner = elements(held, "schema")
    for part in column:
        found = next((each for each in inner if each.get("name") == part), None)
        inner = elements(found, "children") if found is not None else []
        if found is None:
            break
    else:
        places.append("schema")
    for policy in elements(mapping(held, "security"), "policies"):
        if any(text(each, "columnName") == name for each in elements(policy, "rowFilters")):
            places.append(f"row filter of {text(policy, 'accessPolicy') or 'a policy'}")
    for rule in elements(held, "odcsQualityRules"):
        if text(rule, "column") == name:
            places.append(f"quality rule {text(rule, 'name') or text(rule, 'id') or ''}".strip())
    return places


def mentions_of(contract: Mapping[str, Any], column: Sequence[str]) -> list[str]:
    """The rules of a contract in whose text the name of a column stands as a word."""
    held, name = dict(contract), re.escape(column[-1])
    is_in = re.compile(rf"(?<!\w){name}(?!\w)").search
    return [
        f"{what} {text(rule, 'name') or ''}".strip()
        for key, what, texts in (
            ("semantics", "semantic rule", ("rule",)),
            ("odcsQualityRules", "quality rule", ("query", "rule", "implementation")),
        )
        for rule in elements(held, key)
        if text(rule, "column") != column[-1]
        and any(is_in(text(rule, each) or "") for each in texts)
    ]
