"""A contract as people read it, and how it agrees with the columns of what it is about."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from api.pages.rendering import AnyRequest, words
from api.permissions import Action, Permission
from api.routes.entity_reads import read_entity
from api.services import Services
from domain.errors import NotFound
from domain.kinds import EntityKind
from domain.measurements.reports import RESULT
from domain.registry import KINDS
from projections.entities.port import Include

MOST_SHOWN = 100
"""Rules, tests and differences that a page shows of each sort."""
_MOST_DEPTH = 40
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


class Difference(msgspec.Struct, frozen=True):
    """A promised column that is not there as it is promised."""

    path: str
    promised: str
    there: str | None
    """Its type; None where there is no such column."""


class Agreement(msgspec.Struct, frozen=True):
    """How the columns that a contract promises stand to those that there are."""

    promised: int
    differences: tuple[Difference, ...]
    unpromised: int
    """Columns that there are beside those that are promised."""

    @property
    def agreeing(self) -> int:
        """Promised columns that are there, with their type."""
        return self.promised - len(self.differences)


def compare(promised: Iterable[Any], there: Iterable[Any]) -> Agreement:
    """Compare columns by their names and types, nested ones by their paths.

    A type that is not shown to the caller, on either side, is not compared.
    """
    wanted, found = dict(_types(promised)), dict(_types(there))
    differences = [
        Difference(path, wanted[path], found.get(path))
        for path in wanted
        if path not in found
        or (wanted[path] and found[path] and wanted[path].upper() != found[path].upper())
    ]
    return Agreement(len(wanted), tuple(differences), len(found.keys() - wanted.keys()))


def _types(columns: Iterable[Any], above: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    for column in columns:
        path = f"{above}.{column['name']}" if above else str(column["name"])
        inner = column.get("arrayDataType")
        type_ = str(column.get("dataType") or "")
        yield path, f"{type_}<{inner}>" if inner else type_
        if depth < _MOST_DEPTH:
            yield from _types(column.get("children") or (), path, depth + 1)


def agreement_with_entity(
    services: Services, request: AnyRequest, kind: EntityKind, contract: Mapping[str, Any]
) -> Agreement | None:
    """How a contract agrees with what it is about; None where there is nothing to compare.

    `contract` is what the caller sees of an entity of a kind that describes columns. Blocks.
    """
    about = contract.get(kind.attached_by or "")
    promised = contract.get(kind.describes or "")
    if not about or not promised or about["type"] not in KINDS:
        return None
    other = KINDS[about["type"]]
    there = _shown(services, request, other, about["id"])
    if there is None or not there.get(other.columns or ""):
        return None
    return compare(promised, there[other.columns or ""])


def agreement_with_contract(
    services: Services,
    request: AnyRequest,
    kind: EntityKind,
    entity: Mapping[str, Any],
    attached: Mapping[str, Any],
) -> Agreement | None:
    """How an entity agrees with what is attached to it, one item of a list of `relations`.

    None where there is nothing to compare. Blocks.
    """
    other = KINDS[attached["kind"]]
    if other.describes is None or not entity.get(kind.columns or ""):
        return None
    contract = _shown(services, request, other, attached["items"][0]["id"])
    if contract is None or not contract.get(other.describes):
        return None
    return compare(contract[other.describes], entity[kind.columns or ""])


def _shown(
    services: Services, request: AnyRequest, kind: EntityKind, entity_id: str
) -> dict[str, Any] | None:
    """An entity as the caller may see it; None where there is none, or the caller sees none."""
    if not request.auth.may(Permission(Action.VIEW, kind.name)):
        return None
    given = {"fields": None, "include": Include.ALL}
    try:
        body, _ = read_entity(services, kind, request.auth, given, None, entity_id=entity_id)
    except NotFound:
        return None
    shown: dict[str, Any] = msgspec.json.decode(body)
    return shown


def reading(services: Services, request: AnyRequest, contract: Mapping[str, Any]) -> dict[str, Any]:
    """What a page shows of a contract beside its columns; what is not known is shown as facts.

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
    """What an object says beside the keys that are shown elsewhere."""
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
        newest = services.measurements.newest(reference["id"], RESULT) if may_view else {}
        last = msgspec.json.decode(newest[""]) if "" in newest else {}
        tests.append(
            {
                "reference": reference,
                "status": last.get("testCaseStatus", ""),
                "at": last.get("timestamp"),
                "result": last.get("result") or "",
            }
        )
    return tests
