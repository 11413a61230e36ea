"""Rules about the metadata of an entity, in JSON logic (https://jsonlogic.com).

Of the operators that OpenMetadata adds those are known that ask for the entity alone
(`LogicOps.java`). A rule holds if its value is true; one that cannot be evaluated has failed.
"""

import json
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any

from domain.contracts.validation.results import MOST_NAMED, FailedRule, SemanticsValidation
from domain.machine.modules import command_of, environment

WAITS = 5.0
"""Seconds for which the process of the rules is waited for, which has less of the processor."""
_PROCESS = "domain.contracts.validation.rules_process"
_BEYOND = "the rules of the contract take too much time or memory"


def validate(rules: Sequence[Mapping[str, Any]], entity_json: bytes) -> SemanticsValidation:
    """The validation of the enabled rules against an entity's JSON, in a process of its own.

    Disabled rules are neither passed nor counted.
    """
    enabled = [rule for rule in rules if rule.get("enabled", True)]
    reasons = _evaluated([rule["rule"] for rule in enabled], entity_json) if enabled else []
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


def _evaluated(rules: Sequence[str], entity_json: bytes) -> list[str | None]:
    """Why each rule has failed, None for those that hold.

    A rule that takes the process beyond its bounds fails, and all after it.
    """
    with subprocess.Popen(
        command_of(_PROCESS),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment(),
    ) as process:
        try:
            told, _ = process.communicate(
                json.dumps([rules, entity_json.decode()]).encode(), timeout=WAITS
            )
        except subprocess.TimeoutExpired:
            process.kill()
            told, _ = process.communicate()
    reasons: list[str | None] = [json.loads(line) for line in told.splitlines()]
    return [*reasons, *[_BEYOND] * (len(rules) - len(reasons))]
