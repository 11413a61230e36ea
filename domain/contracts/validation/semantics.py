"""Rules about the metadata of an entity, in JSON logic (https://jsonlogic.com).

Of the operators that OpenMetadata adds those are known that ask for the entity alone
(`LogicOps.java`). A rule holds if its value is true; one that cannot be evaluated has failed.
"""

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from datalogic_py import DataLogicError, Engine

from domain.contracts.validation.results import MOST_NAMED, FailedRule, SemanticsValidation

OPERATIONS = 1_000_000
"""Work of the rules of one contract, in the units of the engine; values it makes count too."""
MOST_BYTES = 64_000_000
"""Bytes of JSON that the rules of one contract are given, each the whole entity."""
_LONGEST_REASON = 300
_FAULT = 10_000
"""Operations that a rule is counted for which could not be evaluated."""


class _Left(threading.local):
    """The bytes that the operators of this module may still be given, in this thread."""

    bytes = 0


_left = _Left()


def validate(rules: Sequence[Mapping[str, Any]], entity_json: bytes) -> SemanticsValidation:
    """The validation of the enabled rules against an entity's JSON.

    Disabled rules are neither passed nor counted.
    """
    enabled = [rule for rule in rules if rule.get("enabled", True)]
    entity = entity_json.decode()
    failed: list[FailedRule] = []
    operations, size = OPERATIONS, MOST_BYTES
    _left.bytes = MOST_BYTES
    for rule in enabled:
        size -= len(entity_json)
        reason: str | None = "the rules of the contract take too much work"
        if operations > 0 and size >= 0:
            reason, used = _evaluated(rule["rule"], entity, operations)
            operations -= used
        if reason is not None:
            failed.append(FailedRule(rule_name=rule["name"], reason=reason[:_LONGEST_REASON]))
    return SemanticsValidation(
        passed=len(enabled) - len(failed),
        failed=len(failed),
        total=len(enabled),
        failed_rules=failed[:MOST_NAMED] or None,
    )


def _evaluated(rule: str, entity: str, operations: int) -> tuple[str | None, int]:
    """Why a rule has failed, None where it holds, and the operations that it took."""
    try:
        json.loads(rule)
    except (ValueError, RecursionError):
        return "the rule is no JSON", 1
    if unknown := next(iter(_unknown(rule)), None):
        return unknown, 1
    try:
        value, used = _ENGINE.eval_metered(rule, entity, operations)
    except DataLogicError as error:
        # Without the message, which may hold values of the entity.
        where = f" in {error.operator}" if error.operator else ""
        beyond = error.error_type == "BudgetExceeded"
        return f"not evaluated: {error.error_type}{where}", operations if beyond else _FAULT
    return None if value == "true" else "its value is not true", used


def _unknown(rule: str) -> list[str]:
    """The faults of a rule that are known before it is evaluated."""
    return [each["message"] for each in _ENGINE.check(rule) if each["severity"] == "error"]


def _operator(work: Callable[..., Any]) -> Callable[[str], str]:
    """The operator as the engine calls it: with JSON of its arguments, for JSON of a value."""

    def called(given: str) -> str:
        _left.bytes -= len(given)
        if _left.bytes < 0:
            raise ValueError("too much work")
        arguments = json.loads(given)
        return json.dumps(work(*(arguments if isinstance(arguments, list) else [arguments])))

    return called


def _owned_well(owners: Any, *_: Any) -> bool:
    """Several users, or one team alone."""
    if not isinstance(owners, list):
        return True
    teams = sum(each.get("type") == "team" for each in owners if isinstance(each, dict))
    return teams == 0 or len(owners) == 1


def _having(key: str) -> Callable[..., list[Any]]:
    def having(elements: Any = None, value: Any = None, *_: Any) -> list[Any]:
        held = elements if isinstance(elements, list) else []
        return [each for each in held if isinstance(each, dict) and each.get(key) == value]

    return having


_ENGINE = Engine(
    strict_operator_names=True,
    custom_operators={
        "multipleUsersOrSingleTeamOwnership": _operator(_owned_well),
        "filterReferenceByType": _operator(_having("type")),
        "filterTagsBySource": _operator(_having("source")),
    },
)
