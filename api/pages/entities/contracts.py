"""A contract as people read it: its terms, times, tests and rules in words."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from api.callers.permissions import Action, Permission
from api.pages.entities.quality import run
from api.pages.frame.rendering import AnyRequest, words
from api.services import Services
from domain.measurements.reports import RESULT

MOST_SHOWN = 100
"""Rules and tests that a page shows of each sort."""
READ = frozenset(
    ("termsOfUse", "sla", "semantics", "qualityExpectations", "odcsQualityRules", "security")
)
"""Keys of a contract that `reading` makes sentences and tables of."""
_SLA = {
    "refreshFrequency": "Renewed every",
    "maxLatency": "Never older than",
    "availabilityTime": "There at",
    "retention": "Kept for",
    "columnName": "By the column",
}
_AMOUNTS = ("interval", "value", "period")
_MUST = {
    "mustBe": "=",
    "mustNotBe": "≠",
    "mustBeGreaterThan": ">",
    "mustBeGreaterOrEqualTo": "≥",
    "mustBeLessThan": "<",
    "mustBeLessOrEqualTo": "≤",
    "mustBeBetween": "between",
    "mustNotBeBetween": "not between",
}
_RULE_HEAD = frozenset(("id", "name", "description", "column", "rule", "metric", "query", "unit"))

Lines = list[tuple[str, str]]
"""Facts: what is said, and its value, both as people write them."""


def reading(services: Services, request: AnyRequest, contract: Mapping[str, Any]) -> dict[str, Any]:
    """The sections of a contract's page beside its columns; unknown keys are shown as facts.

    Blocks: the latest results of its tests are read.
    """
    terms = _object(contract, "termsOfUse")
    security = _object(contract, "security")
    rules = contract.get("odcsQualityRules") or []
    semantics = contract.get("semantics") or []
    return {
        "terms": str(terms.get("content") or ""),
        "terms_facts": _facts(terms, ("content",)),
        "sla": _sla(_object(contract, "sla")),
        "semantics": [
            {
                "name": each.get("name", ""),
                "description": each.get("description", ""),
                "rule": each.get("rule", ""),
                "off": each.get("enabled") is False,
                "facts": _facts(each, ("name", "description", "rule", "enabled", "jsonTree")),
            }
            for each in semantics[:MOST_SHOWN]
        ],
        "rules": [_rule(each) for each in rules[:MOST_SHOWN]],
        "more": max(0, len(rules) - MOST_SHOWN) + max(0, len(semantics) - MOST_SHOWN),
        "tests": _tests(services, request, contract.get("qualityExpectations") or []),
        "classification": str(security.get("dataClassification") or ""),
        "policies": [
            (str(each.get("accessPolicy") or "Access"), _facts(each, ("accessPolicy",)))
            for each in (security.get("policies") or [])[:MOST_SHOWN]
        ],
        "security_facts": _facts(security, ("dataClassification", "policies")),
    }


def _object(contract: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = contract.get(key)
    return value if isinstance(value, dict) else {}


def _facts(given: Mapping[str, Any], known: Iterable[str]) -> Lines:
    """The keys of an object that no section shows."""
    left = {key: value for key, value in given.items() if key not in frozenset(known)}
    return [
        (words(key).capitalize(), _text(value))
        for key, value in left.items()
        if value not in (None, [], {}, "")
    ]


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list) and all(isinstance(each, str | int | float) for each in value):
        return ", ".join(map(str, value))
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _sla(sla: Mapping[str, Any]) -> Lines:
    """The times that the producer keeps, in words."""
    lines = []
    for key, title in _SLA.items():
        value = sla.get(key)
        if isinstance(value, dict):
            amount = next((value[each] for each in _AMOUNTS if each in value), "")
            unit = value.get("unit", "")
            lines.append((title, f"{amount} {unit}{'' if amount == 1 else 's'}"))
        elif value:
            zone = sla.get("timezone") if key == "availabilityTime" else None
            lines.append((title, f"{value} {zone}" if zone else str(value)))
    shown = {*_SLA, "timezone"} if sla.get("availabilityTime") else {*_SLA}
    return lines + _facts(sla, shown)


def _rule(rule: Mapping[str, Any]) -> dict[str, Any]:
    """A rule about the data, with its bounds as a formula."""
    bounds = [
        f"{sign} {_number(rule[key])}" for key, sign in _MUST.items() if rule.get(key) is not None
    ]
    what = rule.get("metric") or rule.get("rule") or rule.get("query") or ""
    unit = f" {rule['unit']}" if rule.get("unit") and bounds else ""
    return {
        "name": rule.get("name") or rule.get("id") or what,
        "description": rule.get("description", ""),
        "column": rule.get("column", ""),
        "must": f"{what} {', '.join(bounds)}{unit}".strip(),
        "facts": _facts(rule, _RULE_HEAD.union(_MUST)),
    }


def _number(value: Any) -> str:
    if isinstance(value, list):
        return " and ".join(map(_number, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _tests(
    services: Services, request: AnyRequest, references: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """The tests that a contract expects to pass, each with what its last run came to."""
    may_view = request.auth.may(Permission(Action.VIEW, "testCase"))
    tests = []
    for reference in references[:MOST_SHOWN]:
        newest = services.measurements.latest(reference["id"], RESULT) if may_view else None
        tests.append({"reference": reference, "seen": may_view, **run(newest)})
    return tests
