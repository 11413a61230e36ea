"""Rules about the metadata of an entity, in JSON logic (https://jsonlogic.com).

Of the operators that OpenMetadata adds (`LogicOps.java`), only those that look at the entity alone
are known. A rule holds if its value is true; one that cannot be evaluated has failed.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from domain.contracts.validation.results import MOST_NAMED, FailedRule, SemanticsValidation
from domain.contracts.validation.rules import RulesProcess


def validate(
    rules: Sequence[Mapping[str, Any]], entity_json: bytes, process: RulesProcess
) -> SemanticsValidation:
    """The validation of the enabled rules against an entity's JSON.

    Disabled rules are neither passed nor counted.
    """
    enabled = [rule for rule in rules if rule.get("enabled", True)]
    texts = [rule["rule"] for rule in enabled]
    reasons = process.evaluate(texts, entity_json) if enabled else []
    failed = [
        FailedRule(rule_name=rule["name"], reason=reason)
        for rule, reason in zip(enabled, reasons, strict=True)
        if reason is not None
    ]
    return SemanticsValidation(
        passed=len(enabled) - len(failed),
        failed=len(failed),
        total=len(enabled),
        failed_rules=failed[:MOST_NAMED] or None,
    )
