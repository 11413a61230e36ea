"""The verdict on a contract: what failed, what passed, and what was promised and not measured."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from domain.aggregate.entity import Entity
from domain.aggregate.lifecycle import format_version
from domain.contracts.exporting import document_of, given_document
from domain.contracts.sla import unread_levels
from domain.contracts.validation import columns, constraints, semantics, sla
from domain.contracts.validation.results import (
    ContractResult,
    QualityValidation,
    Status,
    result_id,
)
from domain.contracts.validation.rules import RulesProcess
from domain.contracts.validation.sla import Recorded
from domain.kinds.registry import KINDS

_WORDS = 300
"""Characters of a reported result's text."""
_NAMED = 100
"""Characters of the name of a service level."""
_SAID = 20
"""Things that the text of a result names of each sort."""


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """The entity of a contract, and the measurements of it."""

    entity: Entity
    entity_json: bytes
    """The entity as it is shown to a caller who may see all of it."""
    tests: Mapping[str, str | None] = {}
    """Id of each expected test case -> the status of its newest result; None without any."""
    recorded: Recorded = Recorded()
    reported: ContractResult | None = None
    """The newest result that somebody has reported."""
    changes_at: int | None = None
    """The first moment of which something is known that does not count yet."""


def judge(
    contract: Entity, evidence: Evidence, now: int, process: RulesProcess, *, strict: bool
) -> ContractResult:
    """Hold a contract against its evidence; `now` is in milliseconds since 1970, and the rules
    are evaluated in `process`.

    Failed is what is missing or does not hold; with `strict` also a column of a wider type. A
    promise that was not measured makes a PartialSuccess, never a Success.
    """
    result = ContractResult(
        timestamp=now,
        contract_execution_status="Success",
        id=result_id(contract.id, now),
        data_contract_fqn=contract.fqn,
        data_contract_version=contract.version / 10,
        by_catalog=True,
    )
    failed: list[str] = []
    unmeasured: list[str] = []
    reported = _vouching(contract, evidence.reported)
    kind = KINDS[evidence.entity.kind]
    if promised := contract.value("schema"):
        if columns.paths_to_columns(kind):
            there = columns.columns_of(kind, evidence.entity)
            held = result.schema_validation = columns.compare(promised, there, strict=strict)
            failed += _numbered(held.failed, "column")
            if reported is None:
                left = constraints.undeclared(contract, evidence.entity, there)
                unmeasured += _numbered(left, "constraint", "schema: ")
        else:
            unmeasured.append(f"schema: a {kind.name} has no columns")
    if rules := contract.value("semantics"):
        rule_results = result.semantics_validation = semantics.validate(
            rules, evidence.entity_json, process
        )
        failed += _numbered(rule_results.failed, "rule")
    if evidence.tests:
        tested = result.quality_validation = _quality(evidence.tests)
        failed += _numbered(tested.failed, "test")
        unmeasured += _numbered(list(evidence.tests.values()).count(None), "test", "quality: ")
    if rules := contract.value("odcsQualityRules"):
        ran = reported.quality_validation if reported else None
        measured = (ran.total or 0) if ran else 0
        unmeasured += _numbered(max(len(rules) - measured, 0), "rule", "quality: ")
        if measured and result.quality_validation is None:
            result.quality_validation = ran
    if reported is not None and reported.contract_execution_status != "Success":
        found_failed = reported.contract_execution_status == "Failed"
        (failed if found_failed else unmeasured).append(f"reported: {_reported(reported)}")
    elif reported is not None and (ran := reported.quality_validation) is not None:
        failed += _numbered(max(ran.failed or 0, 0), "test", "reported: ")
    if promised := contract.value("sla"):
        times, missing = sla.validate(promised, evidence.recorded, now)
        unmeasured += [f"sla: {each}" for each in missing]
        broken = _broken(times)
        failed += broken
        if times != type(times)():
            result.sla_validation = times
    unmeasured += [f"sla: {each[:_NAMED]}" for each in _unread_levels(contract)]
    if not failed and not unmeasured and not _measured(result):
        unmeasured.append("nothing: the contract promises nothing that can be measured")
    status: Status = "Failed" if failed else "PartialSuccess" if unmeasured else "Success"
    result.contract_execution_status = status
    result.result = _text(format_version(contract.version), failed, unmeasured)
    return result


def _unread_levels(contract: Entity) -> list[str]:
    """The service levels that the document of a contract promises, and the contract does not."""
    given = given_document(contract.body)
    if given is None or '"slaProperties"' not in given.text:
        return []
    return unread_levels(document_of(contract))


def _vouching(contract: Entity, reported: ContractResult | None) -> ContractResult | None:
    """A reported result that says something of the contract as it is: another version's does not,
    nor does one of a run that came to no end.
    """
    if reported is None or reported.data_contract_version != contract.version / 10:
        return None
    ended = ("Success", "PartialSuccess", "Failed")
    return reported if reported.contract_execution_status in ended else None


def _reported(result: ContractResult) -> str:
    """A reported result that is no success, in a few words."""
    return (result.result or result.contract_execution_status)[:_WORDS]


def _quality(tests: Mapping[str, str | None]) -> QualityValidation:
    """The validation of tests: of those that ran, all but a success has failed."""
    ran = [status for status in tests.values() if status is not None]
    passed = ran.count("Success")
    return QualityValidation(
        passed=passed,
        failed=len(ran) - passed,
        total=len(tests),
        quality_score=100 * passed / len(ran) if ran else None,
    )


def _broken(times: Any) -> list[str]:
    names = {
        "refresh_frequency_met": "refresh frequency",
        "latency_met": "latency",
        "availability_met": "availability",
    }
    return [f"sla: {name}" for key, name in names.items() if getattr(times, key) is False]


def _measured(result: ContractResult) -> bool:
    held = result.schema_validation, result.semantics_validation
    return any((*held, result.quality_validation, result.sla_validation))


def _numbered(count: int | None, noun: str, before: str = "") -> list[str]:
    return [f"{before}{count} {noun}{'' if count == 1 else 's'}"] if count else []


def _text(version: str, failed: Sequence[str], unmeasured: Sequence[str]) -> str:
    parts = [f"version {version}"]
    for word, named in (("failed", failed), ("not evaluated", unmeasured)):
        if named:
            parts.append(f"{word}: {', '.join(named[:_SAID])}")
    return "; ".join(parts)
