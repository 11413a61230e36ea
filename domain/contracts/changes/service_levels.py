"""Changes of service levels."""

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from domain.contracts.changes.findings import (
    Findings,
    Grades,
    compare_keys,
    compare_lists,
    moves,
    presence,
)
from domain.contracts.changes.limits import number
from domain.contracts.changes.rules import Path
from domain.contracts.data_types import Relation, of_numbers
from domain.contracts.elements import elements
from domain.contracts.sla import UNITS

_MOVES = moves("sla.weaker", "sla.stronger", "sla.changed")
_LESS_IS_BETTER = (
    *("freshness", "fr", "latency", "ly", "maxlatency", "frequency", "fy"),
    *("refreshfrequency", "timetodetect", "td", "timetonotify", "tn", "timetorepair", "tr"),
    *("errorrate", "er"),
)
_MORE_IS_BETTER = ("retention", "re", "availability", "av", "throughput", "th")
"""Names of properties in small letters, or the codes that the standard has for them."""
_SECONDS = {"minute": 60, "hour": 3_600, "day": 86_400, "week": 604_800}
_MONTHS = {"month": 1, "year": 12}
_DURATION = re.compile(r"P(?:(\d{1,9})D)?(?:T(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,9})S)?)?")
_TEXTS = ("id", "description", "scheduler", "schedule", "driver", "customProperties")
_GRADES: Grades = {
    **dict.fromkeys((*_TEXTS, "authoritativeDefinitions"), "text.changed"),
    "element": presence("sla.weaker", "sla.stronger", "sla.changed"),
}


def compare_service_levels(findings: Findings, path: Path, old: Any, new: Any) -> None:
    """Find the changes of `slaProperties`.

    Service levels are matched by their property, and also by their element where several have the
    same property.
    """
    several = {
        name
        for each in (old, new)
        for name, count in Counter(map(_property, elements({"levels": each}, "levels"))).items()
        if count > 1
    }

    def name_of(level: dict[str, Any]) -> Any:
        name, element = _property(level), level.get("element")
        return f"{name}.{element}" if name in several and element else name

    compare_lists(findings, path, (old, new), name_of, _compare_one)


def _property(level: dict[str, Any]) -> str:
    return str(level.get("property"))


def _compare_one(
    findings: Findings, path: Path, old: dict[str, Any] | None, new: dict[str, Any] | None
) -> None:
    if old is None or new is None:
        findings.add("sla.weaker" if new is None else "sla.stronger", path, old, new)
        return
    elements = [each.get("element") for each in (old, new)]
    if all(elements) and elements[0] != elements[1]:
        # The level is now of other data: one promise was dropped, and another one is made.
        findings.add("sla.weaker", path, old)
        findings.add("sla.stronger", path, None, new)
        return
    amounts = [{key: each.get(key) for key in ("value", "unit")} for each in (old, new)]
    if amounts[0] != amounts[1]:
        key = "value" if amounts[0]["value"] != amounts[1]["value"] else "unit"
        word = _moved(_property(new).lower(), *map(_amount, amounts))
        findings.add(word, Path(key, path), old.get(key), new.get(key))
    left = [{key: each[key] for key in each if key not in ("value", "unit")} for each in (old, new)]
    compare_keys(findings, path, left[0], left[1], _GRADES, "sla.changed")


def _moved(property_: str, old: tuple[str, float] | None, new: tuple[str, float] | None) -> str:
    if old is None or new is None or old[0] != new[0]:
        return "sla.changed"
    relation = of_numbers(old[1], new[1])
    if relation is not Relation.SAME and property_ in _MORE_IS_BETTER:
        relation = of_numbers(new[1], old[1])
    elif relation is not Relation.SAME and property_ not in _LESS_IS_BETTER:
        return "sla.changed"
    return _MOVES[relation]


def _amount(given: Mapping[str, Any]) -> tuple[str, float] | None:
    """The unit and the number of an amount; None for a value that is no amount.

    Months and years are counted apart, as they are no certain number of days.
    """
    value, unit = given["value"], given["unit"]
    duration = _DURATION.fullmatch(value) if isinstance(value, str) else None
    if duration and any(duration.groups()):
        days, hours, minutes, seconds = (int(each or 0) for each in duration.groups())
        return "seconds", days * 86_400 + hours * 3_600 + minutes * 60 + seconds
    if (amount := number(value)) is None:
        return None
    word = UNITS.get(str(unit).lower(), "")
    if word in _SECONDS:
        return "seconds", amount * _SECONDS[word]
    if word in _MONTHS:
        return "months", amount * _MONTHS[word]
    return str(unit).lower(), amount
